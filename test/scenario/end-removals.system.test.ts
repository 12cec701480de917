/**
 * Ends whose removals meet something: a refusal of the ledger, money on an invoice, one that the
 * ledger does not have; and what waited for the renewal invoice, which is never lost and never
 * billed twice.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { sharedSystem } from "../support/reused-system.ts";
import { setOrganisation } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { checkedAsk, refusalOf, refused } from "./checked-ask.ts";
import { type LifeBuilder, lifeBuilder } from "./life-builder.ts";
import { addBands, type Json } from "./units-builder.ts";

let system: TestSystem;
let builder: LifeBuilder;

beforeAll(async () => {
  system = await sharedSystem();
  builder = lifeBuilder(system, checkedAsk(system));
});

const april = { start_date: "2026-04-01" };
const now = { when: "now" };
const periodEnd = { when: "period_end" };
const both = { when: "now", delete_unsent_invoices: true, void_approved_invoices: true };
const conflict = refused(409, "invalid_state");
const half = { prorate: true, effective_date: "2026-04-16" };

/** An organisation on 16 April with renewal invoices 20 days ahead in this status. */
async function aheadOf(status = "draft"): Promise<CreatedOrganisation> {
  const organisation = await builder.sandbox({
    invoice_create_days: 20,
    first_invoice_status: status,
  });
  await builder.setClock(organisation, "2026-04-16");
  return organisation;
}

/** Has the ledger refuse, once, to change the status of an invoice. */
async function refuseRemoval(
  { tenantId }: CreatedOrganisation,
  invoice: Json,
  message: string,
): Promise<void> {
  const match = `POST /api.xro/2.0/Invoices/${invoice.ledger.invoice_id}`;
  await system.fault({ kind: "refuse", match, tenantId, messages: [message] });
}

describe.concurrent("a refusal of the ledger", () => {
  test("stops the end: the subscription stays, removed invoices stay removed", async () => {
    const own = await aheadOf("approved");
    const { id } = await builder.subscribe(own, april);
    await builder.changed(own, id, { units: 12, ...half, document: "separate" });
    await builder.posted(own);
    const [change] = await builder.invoices(own, id);
    await refuseRemoval(own, change, "The document date cannot be before the period lock date.");
    const before = await builder.subscription(own, id);
    const answer = await builder.end(own, id, both, "key");
    expect(refusalOf(answer), answer.text).toEqual(conflict);
    expect(answer.json.error.message).toBe(
      "The ledger refused to remove invoice INV-0003, so the subscription goes on. " +
        "Removed already, and staying so: INV-0002. " +
        "The ledger says: The document date cannot be before the period lock date.",
    );
    expect(await builder.subscription(own, id)).toEqual(before);
    expect(await builder.removals(own, id)).toEqual([
      "INV-0002 removed voided",
      "INV-0003 refused",
      "INV-0001 left",
    ]);
    await builder.posted(own);
    // A credit note reverses what the separate change billed of the next period, and a renewal
    // invoice at the current units bills that period alone.
    expect(await builder.summaries(own, id)).toEqual([
      "INV-0004 renewal approved",
      "INV-0003 change approved",
      "INV-0002 renewal voided",
      "INV-0001 first approved",
    ]);
    const [reissued, separate, removed] = await builder.invoices(own, id);
    expect([removed.subtotal, reissued.subtotal]).toEqual(["100.0000", "120.0000"]);
    expect([separate.total, separate.amount_due]).toEqual(["36.0000", "12.0000"]);
    await builder.expectEqualDocuments(own);
    // The key is free again: the same request is a new end, which removes what is left. An invoice
    // with credit on it stands.
    const again = await builder.end(own, id, both, "key");
    expect([again.status, again.json.status]).toEqual([200, "ended"]);
    expect(await builder.ledgerStatuses(own)).toEqual([
      "INV-0001 VOIDED",
      "INV-0002 VOIDED",
      "INV-0003 AUTHORISED",
      "INV-0004 VOIDED",
    ]);
    const replayed = await builder.end(own, id, both, "key");
    expect([replayed.text, replayed.headers.get("Idempotent-Replayed")]).toEqual([
      again.text,
      "true",
    ]);
    await builder.expectEqualDocuments(own);
  });
});

describe.concurrent("money on the renewal invoice refuses the end and changes nothing:", () => {
  test("a payment that only the ledger has is read then", async () => {
    const own = await aheadOf("approved");
    const { id } = await builder.subscribe(own, april);
    const [renewal] = await builder.invoices(own, id);
    await builder.pay(own, renewal, "120.00");
    const answer = await builder.end(own, id, both);
    expect(refusalOf(answer)).toEqual(conflict);
    expect(answer.json.error.message).toContain(
      "INV-0002 has payments or credit notes allocated to it",
    );
    expect(await builder.removals(own, id)).toEqual(["INV-0002 refused", "INV-0001 left"]);
    const [shown] = await builder.invoices(own, id);
    expect(shown).toMatchObject({ status: "paid", amount_due: "0.0000" });
    await builder.expectEqualDocuments(own);
    expect((await builder.subscription(own, id)).status).toBe("active");
  });
});

describe.concurrent("an invoice that is not in the ledger", () => {
  test("because it was refused there is deleted here and cannot be sent again", async () => {
    const own = await aheadOf();
    const match = "PUT /api.xro/2.0/Invoices";
    await system.fault({
      kind: "refuse",
      match,
      tenantId: own.tenantId,
      element: "INV-0002",
      messages: ["No."],
    });
    const { id } = await builder.subscribe(own, april);
    expect((await builder.summaries(own, id))[0]).toBe("INV-0002 renewal not_in_external");
    expect((await builder.ended(own, id, now)).status).toBe("ended");
    expect(await builder.removals(own, id)).toEqual(["INV-0002 removed never_sent"]);
    const [renewal] = await builder.invoices(own, id);
    expect(renewal).toMatchObject({
      status: "deleted",
      amount_due: "0.0000",
      ledger: { sync_error: null },
    });
    expect(await builder.ledgerStatuses(own)).toEqual(["INV-0001 DRAFT"]);
  });

  test("because someone removed it there is found removed", async () => {
    const own = await aheadOf("approved");
    const { id } = await builder.subscribe(own, april);
    const { tenantId } = own;
    const text = `UPDATE demo_ledger.invoices SET status = 'VOIDED' WHERE tenant_id = $1
        AND number = 'INV-0002'`;
    await system.pool.query(text, [tenantId]);
    expect((await builder.ended(own, id, periodEnd)).cancel_at_period_end).toBe(true);
    expect(await builder.removals(own, id)).toEqual(["INV-0002 removed already_removed"]);
    await builder.expectEqualDocuments(own);
  });

  test("because the ledger lost it is deleted here", async () => {
    const own = await aheadOf();
    const { id } = await builder.subscribe(own, april);
    const text = "DELETE FROM demo_ledger.invoices WHERE tenant_id = $1 AND number = 'INV-0002'";
    await system.pool.query(text, [own.tenantId]);
    expect((await builder.ended(own, id, now)).status).toBe("ended");
    expect(await builder.removals(own, id)).toEqual(["INV-0002 removed not_found"]);
    expect(await builder.summaries(own, id)).toEqual([
      "INV-0002 renewal deleted",
      "INV-0001 first draft",
    ]);
  });
});

describe.concurrent("an invoice that someone approved in the ledger without our knowledge", () => {
  const unsent = { when: "now", delete_unsent_invoices: true };
  /**
   * A subscription with its renewal invoice; its first invoice is a draft for us, and approved in
   * the ledger.
   */
  async function approvedThere(): Promise<{ own: CreatedOrganisation; id: string }> {
    const own = await aheadOf();
    const { id, invoice } = await builder.subscribe(own, april);
    const text =
      "UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1 AND number = $2";
    await system.pool.query(text, [own.tenantId, invoice.number]);
    return { own, id };
  }

  test("does not count as never sent: it stays, and the end continues", async () => {
    const { own, id } = await approvedThere();
    expect((await builder.ended(own, id, unsent)).status).toBe("ended");
    expect(await builder.removals(own, id)).toEqual(["INV-0002 removed deleted", "INV-0001 left"]);
    expect(await builder.summaries(own, id)).toEqual([
      "INV-0002 renewal deleted",
      "INV-0001 first approved",
    ]);
    await builder.expectEqualDocuments(own);
    // It stands, so that nothing of the current period comes back.
    await builder.restored(own, id);
    expect((await builder.standing(own, id)).map(([name]) => name)).toEqual([
      "INV-0001 first",
      "INV-0003 renewal",
    ]);
  });

  test("gets held credit that had passed over it", async () => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    await addBands(system, own);
    const { id } = await builder.subscribe(own, { ...april, plan_code: "bands", units: 10 });
    await builder.setClock(own, "2026-04-16");
    await builder.changed(own, id, { units: 11, ...half });
    await setOrganisation(system.pool, own.organisationId, { firstInvoiceStatus: "draft" });
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice.status).toBe("draft");
    await builder.posted(own);
    const approve =
      "UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1 AND number = $2";
    await system.pool.query(approve, [own.tenantId, change.invoice.number]);
    await builder.ended(own, id, unsent);
    await until("the credit is on it", async () => {
      const [shown] = await builder.invoices(own, id);
      return Number(shown.amount_due) < Number(shown.total);
    });
    await builder.posted(own);
    await builder.expectEqualDocuments(own);
  });

  test("is voided if approved invoices are to be removed too", async () => {
    const { own, id } = await approvedThere();
    expect((await builder.ended(own, id, both)).status).toBe("ended");
    expect(await builder.removals(own, id)).toEqual([
      "INV-0002 removed deleted",
      "INV-0001 removed voided",
    ]);
    await builder.expectEqualDocuments(own);
  });
});

/** The lines of the newest invoice of type change. */
async function changeLines(own: CreatedOrganisation, id: string): Promise<readonly Json[]> {
  await builder.posted(own);
  const change = (await builder.invoices(own, id)).find(({ type }) => type === "change");
  return change.lines;
}

const deferredLine = {
  kind: "proration",
  amount: "10.0000",
  period: { start: "2026-04-16", end: "2026-05-01" },
};

describe.concurrent("an amount deferred to the renewal invoice", () => {
  test.each([
    ["now", "2026-04-16"],
    ["period_end", "2026-05-01"],
  ])("is not lost with an amended renewal invoice: %s", async (when, billedOn) => {
    const own = await aheadOf("approved");
    const { id } = await builder.subscribe(own, april);
    await builder.changed(own, id, { units: 12, ...half, document: "amend" });
    await builder.posted(own);
    const [renewal] = await builder.invoices(own, id);
    expect(renewal.lines).toMatchObject([{ kind: "plan", units: 12 }, deferredLine]);
    await builder.ended(own, id, { when });
    expect(await builder.removals(own, id)).toEqual(["INV-0002 removed voided"]);
    await builder.setClock(own, billedOn);
    expect(refusalOf(await builder.end(own, id, now))).toEqual(conflict);
    expect(await changeLines(own, id)).toMatchObject([deferredLine]);
    const [change] = await builder.invoices(own, id);
    expect(change).toMatchObject({ type: "change", issue_date: billedOn, subtotal: "10.0000" });
    await builder.expectEqualDocuments(own);
  });
});
