/**
 * Create subscription at its edges: short months, long intervals, zones, the largest amounts,
 * accounts, and a key after its day.
 */
import { describe, expect } from "vitest";
import { perFile } from "../support/file-fixture.ts";
import { until } from "../support/system.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { creationTest } from "./creation-fixture.ts";
import { addLike } from "./row-builder.ts";

const test = creationTest.extend("shared", perFile, async ({ system, sandbox }) => {
  const shared = await sandbox();
  const months = { 2: "two-months", 3: "quarter", 12: "year" };
  for (const [interval_count, code] of Object.entries(months)) {
    const changes = { code, interval_count: Number(interval_count) };
    await addLike(system.pool, "plans", shared.organisationId, "site", changes);
  }
  return shared;
});

describe("periods are counted from the anchor", () => {
  test.for([
    ["from the 31st to the end of February", "site", { start_date: "2027-01-31" }, "2027-02-28"],
    ["from the 31st to a leap day", "site", { start_date: "2028-01-31" }, "2028-02-29"],
    ["from the 30th to the end of February", "site", { start_date: "2027-01-30" }, "2027-02-28"],
    [
      "from a clamped day back to its billing day",
      "site",
      { start_date: "2027-02-28", billing_day: 31 },
      "2027-03-31",
    ],
    [
      "from a clamped day without one to the same day",
      "site",
      { start_date: "2027-02-28" },
      "2027-03-28",
    ],
    ["over a year's end", "site", { start_date: "2026-12-15" }, "2027-01-15"],
    ["two months on", "two-months", { start_date: "2026-12-31" }, "2027-02-28"],
    ["a quarter on", "quarter", { start_date: "2026-11-30" }, "2027-02-28"],
    ["a year on", "year", {}, "2027-01-31"],
    ["a year from a leap day", "year", { start_date: "2028-02-29" }, "2029-02-28"],
  ] as const)("%s", async ([_, plan, members, renewal], { created }) => {
    const answer = await created({ plan_code: plan, ...members });
    expect(answer.renewal_date).toBe(renewal);
    expect(answer.invoice.period).toEqual({ start: answer.start_date, end: renewal });
  });

  test.for([
    ["site", { start_date: "2027-01-31", end_after_cycles: 2 }, "2027-03-31"],
    ["site", { start_date: "2027-02-28", billing_day: 31, end_after_cycles: 3 }, "2027-05-31"],
    ["year", { start_date: "2028-02-29", end_after_cycles: 4 }, "2032-02-29"],
    ["site", { start_date: "2026-01-31", end_after_cycles: 1200 }, "2126-01-31"],
  ] as const)("and so is the end of a limited number of them: %s %o", async ([plan, members, end], {
    created,
  }) => {
    expect((await created({ plan_code: plan, ...members })).end_date).toBe(end);
  });
});

describe("today is a day of the subscription's zone", () => {
  test.for([
    ["Pacific/Auckland", "2026-01-31", "active", "2026-01-31"],
    ["America/Los_Angeles", "2026-01-31", "pending", "2026-01-31"],
    ["America/Los_Angeles", "2026-01-15", "active", "2026-01-30"],
    ["Pacific/Kiritimati", "2026-01-31", "active", "2026-01-31"],
    ["Etc/GMT+12", "2026-01-30", "active", "2026-01-30"],
  ] as const)("in %s: from %s it is %s, invoiced on %s", async ([
    timezone,
    start_date,
    status,
    issueDate,
  ], { created }) => {
    const answer = await created({ plan_code: "site", timezone, start_date });
    expect([answer.status, answer.invoice.issue_date]).toEqual([status, issueDate]);
  });

  test("from which five years ahead are counted too", async ({ create, created }) => {
    const late = { plan_code: "site", start_date: "2031-01-31" };
    expect((await created(late)).status).toBe("pending");
    const answer = await create({ ...late, timezone: "America/Los_Angeles" });
    expect(refusalOf(answer)).toEqual(refused(422, "invalid_parameter", "start_date"));
  });
});

describe("the largest amounts", () => {
  const price = "999999999.9999";

  test("are exact, in the answer and in the ledger", async ({ system, created, sandbox }) => {
    const own = await sandbox();
    const charges = Array.from({ length: 20 }, () => ({
      charge_code: "onboarding",
      quantity: 999,
      price,
    }));
    // 980,000 × 999,999,999.9999, and 20 times 999 × it, 998,999,999,999.9001 rounded to
    // 998,999,999,999.90.
    const { invoice } = await created({ plan_code: "team", units: 980_000, price, charges }, own);
    expect(invoice.lines[0].amount).toBe("979999999999902.0000");
    expect(invoice.lines[1].amount).toBe("998999999999.9000");
    expect(invoice).toMatchObject({
      subtotal: "999979999999900.0000",
      total: "1199975999999880.0000",
      ledger: { sync_status: "synced" },
    });
    const text = "SELECT sub_total, total FROM demo_ledger.invoices WHERE tenant_id = $1";
    const { rows } = await system.pool.query(text, [own.tenantId]);
    expect(rows).toEqual([{ sub_total: "999979999999900.00", total: "1199975999999880.00" }]);
  });

  test("are bounded: an amount that no invoice can hold is refused", async ({
    create,
    created,
  }) => {
    const answer = await create({ plan_code: "team", units: 1_000_001, price });
    expect(refusalOf(answer)).toEqual(refused(422, "invalid_parameter", "units"));
    // 999,999,999,999,900.00 for the units, and 100.00 more.
    const charges = [{ charge_code: "onboarding", quantity: 1, price: "100" }];
    const both = await create({ plan_code: "team", units: 1_000_000, price, charges });
    expect(refusalOf(both)).toEqual(refused(422, "invalid_parameter", "charges"));
    expect((await created({ plan_code: "growth", units: 1_000_000_000 })).invoice.subtotal).toBe(
      "6000000007.5000",
    );
  });
});

describe("a first invoice in the ledger", () => {
  test("has the account and tax of each plan or charge, else the organisation's", async ({
    system,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    const changes = { code: "taxed", revenue_account: "201", tax_type: "RROUTPUT" };
    await addLike(system.pool, "plans", own.organisationId, "site", changes);
    const charges = [{ charge_code: "hardware-key" }];
    const { invoice } = await created(
      { plan_code: "taxed", charges, invoice_reference: "PO-3" },
      own,
    );
    // 49.00 at 5 % and 39.90 at 20 %.
    expect(invoice).toMatchObject({ subtotal: "88.9000", total: "99.3300", amount_due: "99.3300" });
    const text = `SELECT number, reference, currency, issue_date, due_date, lines
      FROM demo_ledger.invoices WHERE tenant_id = $1`;
    const { rows } = await system.pool.query(text, [own.tenantId]);
    expect(rows).toEqual([
      {
        number: invoice.number,
        reference: "PO-3",
        currency: "NZD",
        issue_date: "2026-01-31",
        due_date: "2026-02-14",
        lines: [
          expect.objectContaining({ accountCode: "201", taxType: "RROUTPUT" }),
          expect.objectContaining({ accountCode: "200", taxType: "OUTPUT2" }),
        ],
      },
    ]);
  });

  test("is not issued for a line without an account, and the subscription stays", async ({
    system,
    ask,
    created,
    sandbox,
  }) => {
    const own = await sandbox({ revenue_account: null });
    const { id, invoice } = await created({ plan_code: "site" }, own);
    expect(invoice).toMatchObject({
      status: "not_in_external",
      ledger: { sync_status: "failed", invoice_id: null },
    });
    expect(invoice.ledger.sync_error).toMatch(/account/i);
    expect((await ask("GET", `/v1/subscriptions/${id}`, { key: own.apiKey })).json.status).toBe(
      "active",
    );
    expect(await system.ledgerInvoices(own.tenantId)).toEqual([]);
  });

  test("is paid at once if it is approved and its total is zero", async ({ created, sandbox }) => {
    const own = await sandbox({ first_invoice_status: "approved" });
    const { invoice } = await created({ plan_code: "site", discount_percent: "100" }, own);
    expect(invoice).toMatchObject({ status: "paid", total: "0.0000", amount_due: "0.0000" });
  });

  test("is refused by the ledger if the ledger lacks its currency", async ({
    system,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    await addLike(system.pool, "plans", own.organisationId, "site", {
      code: "dinar",
      currency: "KWD",
      price: "1.23",
    });
    const answer = await created({ plan_code: "dinar" }, own);
    expect(answer.invoice).toMatchObject({ subtotal: "1.2300", status: "not_in_external" });
    expect(answer.invoice.ledger.sync_error).toContain("KWD");
  });

  test("is never sent with an amount of three places, which the ledger would change", async ({
    system,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    const plan = { code: "fils", currency: "KWD", price: "1.2345" };
    await addLike(system.pool, "plans", own.organisationId, "site", plan);
    const answer = await created({ plan_code: "fils" }, own);
    expect(answer).toMatchObject({ currency: "KWD", renewal_value: "1.2350" });
    expect(answer.invoice).toMatchObject({ subtotal: "1.2350", status: "not_in_external" });
    expect(answer.invoice.ledger.sync_error).toContain("two decimal places");
  });

  test("never takes over a number that another document has", async ({
    system,
    ask,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    const other = await created({ plan_code: "site" }, own);
    await system.pool.query(
      "UPDATE demo_ledger.invoices SET number = 'INV-0002' WHERE tenant_id = $1",
      [own.tenantId],
    );
    const { invoice } = await created({ plan_code: "team", units: 5 }, own);
    expect(invoice).toMatchObject({
      number: "INV-0002",
      status: "not_in_external",
      ledger: { invoice_id: null },
    });
    expect(invoice.ledger.sync_error).toContain("INV-0002");
    expect(await system.ledgerInvoices(own.tenantId)).toEqual([
      { number: "INV-0002", status: "DRAFT" },
    ]);
    expect(
      (await ask("GET", `/v1/invoices/${other.invoice.id}`, { key: own.apiKey })).json.number,
    ).toBe("INV-0001");
  });
});

describe("with the ledger down", () => {
  test("a subscription exists, and its invoice is scheduled and posted afterwards", async ({
    system,
    ask,
    shared,
    create,
  }) => {
    await system.stopLedger();
    const answer = await create({ plan_code: "site" }, shared, "away").finally(() =>
      system.startLedger(),
    );
    expect(answer.status, answer.text).toBe(201);
    expect(answer.json).toMatchObject({
      status: "active",
      invoice: {
        status: "scheduled",
        total: "49.0000",
        ledger: {
          sync_status: "failed",
          sync_error: "The ledger could not be reached; it is retried",
        },
      },
    });
    const { id } = answer.json.invoice;
    const posted = await until("the invoice is in the ledger", async () => {
      const { json } = await ask("GET", `/v1/invoices/${id}`, { key: shared.apiKey });
      return json.ledger.sync_status === "synced" && json;
    });
    expect(posted).toMatchObject({
      status: "draft",
      total: "58.8000",
      number: answer.json.invoice.number,
    });
    const again = await create({ plan_code: "site" }, shared, "away");
    expect([again.text, again.headers.get("Idempotent-Replayed")]).toEqual([answer.text, "true"]);
  });
});

test("a key reused after 24 hours finds its subscription and refuses another body", async ({
  system,
  ask,
  shared,
  create,
}) => {
  const body = { plan_code: "team", units: 4, label: "kept" };
  const first = await create(body, shared, "old");
  await system.pool.query("UPDATE idempotency_keys SET expires_at = now() WHERE key = 'old'");
  const conflict = await create({ ...body, units: 5 }, shared, "old");
  expect(refusalOf(conflict).code).toBe("idempotency_conflict");
  const again = await create(body, shared, "old");
  expect(again.status, again.text).toBe(201);
  expect(again.json).toEqual(first.json);
  const { json } = await ask("GET", "/v1/subscriptions?limit=100", { key: shared.apiKey });
  expect(json.data.filter(({ label }: { label: string }) => label === "kept")).toHaveLength(1);
});
