/**
 * Changes in the ledger between our read of an invoice and our write to it: the demo ledger holds
 * the write until someone has changed the document. LEDGER-3, UNITS-8.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { checkedAsk, refusalOf, refused } from "../scenario/checked-ask.ts";
import { aloneTest } from "../scenario/fixtures.ts";
import type { LifeBuilder } from "../scenario/life-builder.ts";
import type { Json } from "../scenario/units-builder.ts";
import { perFile } from "../support/file-fixture.ts";
import { tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { synced } from "./ledger-documents.ts";

/**
 * A held write is released as soon as the document is changed. The limit is for a machine that
 * stands still for seconds.
 */
const callSeconds = 20;
const heldMs = 15_000;

const now = { when: "now" };

const test = aloneTest.extend("settings", perFile, {
  env: { LEDGER_CALL_SECONDS: String(callSeconds) },
});

/**
 * Makes the ledger wait before it writes to this invoice, which was read before, and changes its
 * document meanwhile.
 */
async function meanwhile(
  system: TestSystem,
  own: CreatedOrganisation,
  invoice: Json,
  work: () => Promise<unknown>,
): Promise<void> {
  const match = `POST /api.xro/2.0/Invoices/${invoice.ledger.invoice_id}`;
  await system.fault({ kind: "slow_before", match, tenantId: own.tenantId, delayMs: heldMs });
  await until("the write is on its way", async () => {
    const { left } = (await (await fetch(`${system.demoUrl}/demo/faults`)).json()) as {
      readonly left: number;
    };
    return left === 0;
  });
  await work();
  await system.clearFaults();
}

const pays = (system: TestSystem, builder: LifeBuilder, own: CreatedOrganisation, invoice: Json) =>
  meanwhile(system, own, invoice, () => builder.pay(own, invoice, "5.00"));

/**
 * An organisation on 16 April, its subscription of 1 April and the invoices of it, newest first.
 */
async function subscribed(builder: LifeBuilder, settings: Record<string, unknown>) {
  const own = await builder.sandbox(settings);
  await builder.setClock(own, "2026-04-16");
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
  return { own, id, invoices: await builder.invoices(own, id) };
}

// One after the other: each waits until no fault is left, and takes back all.
describe("an amendment", () => {
  test("of an invoice paid after our read leaves it and bills a separate invoice", async ({
    system,
    builder,
  }) => {
    const { own, id, invoices } = await subscribed(builder, {
      invoice_create_days: 20,
      first_invoice_status: "approved",
    });
    const [renewal] = invoices;
    const half = { prorate: true, effective_date: "2026-04-16", document: "amend" };
    await Promise.all([
      builder.changed(own, id, { units: 13, ...half }),
      pays(system, builder, own, renewal),
    ]);
    // A slow machine may answer before the ledger has decided.
    await builder.expectEqualDocuments(own);
    const [newest, shown] = await builder.invoices(own, id);
    expect(newest).toMatchObject({
      ...synced,
      type: "change",
      status: "approved",
      subtotal: "45.0000",
    });
    expect(shown).toMatchObject({
      id: renewal.id,
      status: "approved",
      subtotal: "100.0000",
      amount_due: "115.0000",
    });
  });
});

describe("a creation", () => {
  test("for a customer archived after our read is refused", async ({ system, builder }) => {
    const own = await builder.sandbox({});
    await builder.setClock(own, "2026-04-16");
    const operator = await system.pool.connect();
    try {
      await operator.query("BEGIN");
      await tables(operator).customer.updateMany({
        where: { organisationId: own.organisationId },
        data: { status: "inactive" },
      });
      // It is decided while the customer is active, and its write waits for the operator's.
      const created = checkedAsk(system)("POST", "/v1/subscriptions", {
        key: own.apiKey,
        idempotencyKey: "meanwhile",
        body: { customer_code: "ACME", plan_code: "team", units: 10 },
      });
      await until("the write waits for the customer", async () => {
        const waiting = `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'
            AND position('FROM organisations o' IN query) > 0`;
        return (await system.pool.query(waiting)).rowCount === 1;
      });
      await operator.query("COMMIT");
      expect(refusalOf(await created)).toEqual(
        refused(422, "customer_not_active", "customer_code"),
      );
    } finally {
      operator.release(true);
    }
  });
});

describe("a removal", () => {
  test("of an invoice paid after our read leaves it, and the end continues", async ({
    system,
    builder,
  }) => {
    const { own, id, invoices } = await subscribed(builder, { first_invoice_status: "approved" });
    const [first] = invoices;
    const end = () => builder.ended(own, id, { when: "now", void_approved_invoices: true });
    const [ended] = await Promise.all([end(), pays(system, builder, own, first)]);
    expect(ended.status).toBe("ended");
    await builder.expectEqualDocuments(own);
    expect(await builder.removals(own, id)).toEqual(["INV-0001 left"]);
    const [shown] = await builder.invoices(own, id);
    expect(shown).toMatchObject({ id: first.id, status: "approved", amount_due: "115.0000" });
  });

  test("of a draft approved after our read voids it", async ({ system, builder }) => {
    const { own, id, invoices } = await subscribed(builder, {
      invoice_create_days: 20,
      first_invoice_status: "draft",
    });
    const [renewal] = invoices;
    const approve = `UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1
        AND number = 'INV-0002'`;
    const approves = () =>
      meanwhile(system, own, renewal, () => system.pool.query(approve, [own.tenantId]));
    const [ended] = await Promise.all([builder.ended(own, id, now), approves()]);
    expect(ended.status).toBe("ended");
    expect(await builder.removals(own, id)).toEqual(["INV-0002 removed voided"]);
    await builder.expectEqualDocuments(own);
  });

  test("of a renewal invoice paid after our read refuses the end", async ({ system, builder }) => {
    const { own, id, invoices } = await subscribed(builder, {
      invoice_create_days: 20,
      first_invoice_status: "approved",
    });
    const [renewal] = invoices;
    const [answer] = await Promise.all([
      builder.end(own, id, now),
      pays(system, builder, own, renewal),
    ]);
    expect(refusalOf(answer)).toEqual(refused(409, "invalid_state"));
    expect(answer.json.error.message).toContain("payments or credit notes allocated");
    const [reported] = await builder.invoices(own, id);
    expect(reported).toMatchObject({ status: "approved", amount_due: "115.0000" });
    expect((await builder.subscription(own, id)).status).toBe("active");
  });
});
