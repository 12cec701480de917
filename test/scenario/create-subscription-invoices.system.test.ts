/**
 * The invoices of new subscriptions: Setup Mode, the invoice window, refusals of the ledger,
 * numbers and due dates. CREATE-6, CREATE-7, SETUP-1.
 */
import { describe, expect } from "vitest";
import { setOrganisation } from "../support/rows.ts";
import { until } from "../support/system.ts";
import { creationTest as test } from "./creation-fixture.ts";

describe("a creation in Setup Mode", () => {
  test("issues nothing, also once it is off and the request is repeated", async ({
    system,
    ask,
    create,
    sandbox,
  }) => {
    const own = await sandbox({ setup_mode: true, invoice_create_days: 25 });
    const body = { plan_code: "team", units: 3, start_date: "2026-01-10" };
    const first = await create(body, own, "setup-mode");
    expect(first.status, first.text).toBe(201);
    expect(first.json).toMatchObject({
      invoice: null,
      status: "active",
      renewal_date: "2026-02-10",
    });
    await setOrganisation(system.pool, own.organisationId, { setupMode: false });
    expect((await create(body, own, "setup-mode")).text).toBe(first.text);
    expect((await ask("GET", "/v1/invoices", { key: own.apiKey })).json.data).toEqual([]);
    expect(await system.ledgerInvoices(own.tenantId)).toEqual([]);
  });
});

describe("a creation inside its invoice window", () => {
  test("issues the renewal invoice at once, without the one-off charges", async ({
    system,
    ask,
    created,
    sandbox,
  }) => {
    const own = await sandbox({ invoice_create_days: 25 });
    const charges = [{ charge_code: "hardware-key" }];
    const body = {
      plan_code: "team",
      units: 4,
      start_date: "2026-01-10",
      invoice_reference: "PO-7",
      charges,
    };
    const { id, invoice } = await created(body, own);
    expect(invoice).toMatchObject({ type: "first", number: "INV-0001", subtotal: "89.9000" });
    const renewal = await until("the renewal invoice is in the ledger", async () => {
      const { json } = await ask("GET", `/v1/invoices?subscription=${id}`, { key: own.apiKey });
      expect(json.data).toHaveLength(2);
      return json.data[0].ledger.sync_status === "synced" && json.data[0];
    });
    expect(renewal).toMatchObject({
      type: "renewal",
      number: "INV-0002",
      reference: "PO-7",
      subtotal: "50.0000",
      issue_date: "2026-01-31",
      period: { start: "2026-02-10", end: "2026-03-10" },
      lines: [{ kind: "plan", units: 4, period: { start: "2026-02-10", end: "2026-03-10" } }],
    });
    expect(await system.ledgerInvoices(own.tenantId)).toHaveLength(2);
  });
});

describe("an invoice that the ledger refuses", () => {
  test("is a 201 with failed and its reason, and a repeat has the same bytes", async ({
    system,
    ask,
    create,
    sandbox,
  }) => {
    // Account 205 of the demo ledger is archived.
    const own = await sandbox({ revenue_account: "205" });
    const first = await create({ plan_code: "site" }, own, "refused");
    expect(first.status, first.text).toBe(201);
    expect(first.json.invoice).toMatchObject({
      status: "not_in_external",
      subtotal: "49.0000",
      total: "49.0000",
      ledger: {
        sync_status: "failed",
        invoice_id: null,
        sync_error: expect.stringContaining("205"),
      },
    });
    expect(await system.ledgerInvoices(own.tenantId)).toEqual([]);
    await setOrganisation(system.pool, own.organisationId, { revenueAccount: "200" });
    const again = await create({ plan_code: "site" }, own, "refused");
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    const { json } = await ask("GET", "/v1/subscriptions", { key: own.apiKey });
    expect(json.data).toHaveLength(1);
    expect(json.data[0]).toMatchObject({ id: first.json.id, status: "active" });
  });

  test("because of one of several lines has a reason, and delays no other", async ({
    system,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    await system.fault({
      match: "/Invoices",
      kind: "refuse",
      tenantId: own.tenantId,
      messages: ["Nope.", "Never."],
    });
    expect((await created({ plan_code: "site" }, own)).invoice.ledger.sync_error).toBe(
      "Nope. Never.",
    );
    expect((await created({ plan_code: "site" }, own)).invoice.ledger.sync_status).toBe("synced");
  });
});

test("invoice numbers rise without a gap, also for concurrent creations", async ({
  system,
  ask,
  created,
  sandbox,
}) => {
  const own = await sandbox();
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => created({ plan_code: "site" }, own)),
  );
  const numbers = answers.map(({ invoice }) => invoice.number).sort();
  expect(numbers).toEqual(
    Array.from({ length: 12 }, (_, index) => `INV-${String(index + 1).padStart(4, "0")}`),
  );
  const { json } = await ask("GET", "/v1/invoices", { key: own.apiKey });
  const listed = json.data.map(({ number }: { number: string }) => number);
  expect(listed).toEqual([...numbers].reverse());
  // An answer need not have waited for the ledger.
  const booked = () => system.ledgerInvoices(own.tenantId);
  await until(
    "all of them are in the ledger",
    async () => (await booked()).length >= numbers.length,
  );
  expect((await booked()).map(({ number }) => number)).toEqual(numbers);
});

test("an invoice is due the organisation's days after its date, and has its prefix", async ({
  created,
  sandbox,
}) => {
  const own = await sandbox({ due_days: 0, number_prefix: "NW/" });
  expect((await created({ plan_code: "site" }, own)).invoice).toMatchObject({
    number: "NW/0001",
    issue_date: "2026-01-31",
    due_date: "2026-01-31",
  });
});
