/**
 * Restorations after changes of units, before the end or between it and the restoration, and after
 * ends that the ledger refused half-way. Every unit of every period is billed once, and the ledger
 * has the same documents. RESTORE-3, RESTORE-4.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import type { TestSystem } from "../support/system.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest as test } from "./fixtures.ts";
import type { LifeBuilder } from "./life-builder.ts";
import type { Json } from "./units-builder.ts";

const april = { start_date: "2026-04-01" };
const now = { when: "now" };
const periodEnd = { when: "period_end" };
const unsent = { when: "now", delete_unsent_invoices: true };
const half = { prorate: true, effective_date: "2026-04-16" };
const ten = "100.0000 10 × 10.0000";

/**
 * On 16 April, with renewal invoices issued 20 days ahead; and a subscription with its renewal
 * invoice.
 */
async function ahead(
  builder: LifeBuilder,
  changes: Record<string, unknown> = {},
): Promise<{ own: CreatedOrganisation; id: string }> {
  const own = await builder.sandbox({ invoice_create_days: 20, ...changes });
  await builder.setClock(own, "2026-04-16");
  const { id } = await builder.subscribe(own, april);
  return { own, id };
}

/** Restores, and asserts that our documents and the ledger's are the same. */
async function restoredWhole(
  builder: LifeBuilder,
  own: CreatedOrganisation,
  id: string,
): Promise<readonly (readonly string[])[]> {
  await builder.restored(own, id);
  await builder.expectEqualDocuments(own);
  return builder.standing(own, id);
}

/** Changes units once nothing of an earlier change is on its way. */
async function changed(
  builder: LifeBuilder,
  own: CreatedOrganisation,
  id: string,
  body: object,
): Promise<Json> {
  await builder.posted(own);
  return builder.changed(own, id, body);
}

describe.concurrent("an end that the ledger refused half-way", () => {
  /** Has the ledger refuse, once, to remove an invoice. */
  async function refuseRemoval(
    system: TestSystem,
    { tenantId }: CreatedOrganisation,
    invoice: Json,
  ): Promise<void> {
    const match = `POST /api.xro/2.0/Invoices/${invoice.ledger.invoice_id}`;
    await system.fault({ kind: "refuse", match, tenantId, messages: ["Locked."] });
  }

  test("and then finished restores what the second attempt removed, and its renewal", async ({
    system,
    builder,
  }) => {
    const { own, id } = await ahead(builder);
    const [, first] = await builder.invoices(own, id);
    await refuseRemoval(system, own, first);
    expect(refusalOf(await builder.end(own, id, unsent))).toEqual(refused(409, "invalid_state"));
    await builder.posted(own);
    expect(await builder.summaries(own, id)).toEqual([
      "INV-0003 renewal draft",
      "INV-0002 renewal deleted",
      "INV-0001 first draft",
    ]);
    const running = await builder.restore(own, id);
    expect(refusalOf(running)).toEqual(refused(409, "invalid_state"));
    expect(running.json.error.message).toBe(
      "The subscription is neither ended nor set to end at the end of its period.",
    );
    await builder.ended(own, id, unsent);
    expect(await restoredWhole(builder, own, id)).toEqual([
      ["INV-0004 first", ten],
      ["INV-0005 renewal", ten],
    ]);
  });

  test("keeps removed what it removed: the next restoration does not issue it again", async ({
    system,
    builder,
  }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    await builder.setClock(own, "2026-04-16");
    const { id } = await builder.subscribe(own, april);
    await changed(builder, own, id, { units: 12, ...half });
    await builder.posted(own);
    const [, first] = await builder.invoices(own, id);
    await refuseRemoval(system, own, first);
    const answer = await builder.end(own, id, { ...now, void_approved_invoices: true });
    expect(refusalOf(answer)).toEqual(refused(409, "invalid_state"));
    expect(answer.json.error.message).toContain("Removed already, and staying so: INV-0002.");
    await builder.ended(own, id, periodEnd);
    expect(await restoredWhole(builder, own, id)).toEqual([["INV-0001 first", ten]]);
    await builder.ended(own, id, { ...now, void_approved_invoices: true });
    expect(await restoredWhole(builder, own, id)).toEqual([["INV-0003 first", ten]]);
  });
});

describe.concurrent("a document that the ledger refuses", () => {
  test("leaves the subscription restored, and the invoice has the reason", async ({
    system,
    builder,
  }) => {
    const { own, id } = await ahead(builder);
    await builder.ended(own, id, periodEnd);
    const match = "PUT /api.xro/2.0/Invoices";
    await system.fault({
      kind: "refuse",
      match,
      tenantId: own.tenantId,
      messages: ["Account code '200' is gone."],
    });
    expect((await builder.restored(own, id)).cancel_at_period_end).toBe(false);
    const [renewal] = await builder.invoices(own, id);
    expect(renewal).toMatchObject({
      number: "INV-0003",
      status: "not_in_external",
      ledger: { sync_status: "failed" },
    });
    expect(renewal.ledger.sync_error).toContain("Account code '200' is gone.");
    // It never was in the ledger: an end abandons it, and a restoration issues it again.
    await builder.ended(own, id, periodEnd);
    expect(await restoredWhole(builder, own, id)).toEqual([
      ["INV-0001 first", ten],
      ["INV-0004 renewal", ten],
    ]);
  });
});
