/**
 * Random sequences of changes over HTTP, over months and all plan types, from fixed seeds. A
 * request succeeds or gets a refusal of the table. Afterwards every document, line, total and
 * remaining credit is the same here and in the ledger. UNITS-1 to UNITS-13.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { type Below, seeded } from "../support/seeded.ts";
import type { TestSystem } from "../support/system.ts";
import { scenarioTest as test } from "./fixtures.ts";
import { addBands, type Json } from "./units-builder.ts";

const statuses = ["draft", "approved", "awaiting_approval"];
const plans = ["bands", "team", "growth", "steps", "scale"];

/**
 * The answers that a change may get: success, or a refusal that the request deserves in this state.
 */
const answers = new Set([
  "200",
  "units_unchanged",
  "effective_date_out_of_period",
  "proration_not_applicable",
  "proration_behaviour_not_allowed",
  "document_required",
  "document_not_allowed",
  "proration_required",
  "proration_unavailable",
  "renewal_invoice_not_amendable",
]);

/** A change that may well be refused, of a subscription with so many units on this day. */
function anyChange(pick: Below, units: number, today: Date): Record<string, unknown> {
  const body: Record<string, unknown> = { units: Math.max(1, units - 4 + pick(9)) };
  if (pick(2) === 0) {
    const day = new Date(today.getTime() + (pick(6) - 3) * 86_400_000);
    Object.assign(body, { prorate: true, effective_date: day.toISOString().slice(0, 10) });
    if (pick(3) === 0) body.proration_behaviour = "charge_on_renewal";
  }
  return pick(3) === 0 ? { ...body, document: anyDocument(pick) } : body;
}

function anyDocument(pick: Below): string {
  return pick(2) === 0 ? "amend" : "separate";
}

/** The amounts due and the remaining credit in which ours differ from the ledger's. */
async function differences(
  system: TestSystem,
  { organisationId, tenantId }: CreatedOrganisation,
): Promise<readonly object[]> {
  const { rows } = await system.pool.query(
    `SELECT i.number, i.amount_due AS ours, b.total - b.amount_paid - b.amount_credited AS theirs
      FROM invoices i JOIN demo_ledger.invoices b ON b.tenant_id = $2 AND b.number = i.number
      WHERE i.organisation_id = $1 AND i.amount_due <> b.total - b.amount_paid - b.amount_credited
    UNION ALL SELECT n.number, n.remaining_credit, b.total - b.amount_allocated
      FROM credit_notes n LEFT JOIN demo_ledger.credit_notes b ON b.tenant_id = $2
        AND b.number = n.number
      WHERE n.organisation_id = $1 AND n.remaining_credit IS DISTINCT
        FROM b.total - b.amount_allocated`,
    [organisationId, tenantId],
  );
  return rows;
}

const hundredths = (amount: string): number => Math.round(Number(amount) * 100);

describe.concurrent("random changes leave the same documents here and in the ledger", () => {
  test.for([1, 10, 16, 18, 20])("seed %i", async (seed, { system, builder }) => {
    const pick = seeded(seed * 7_919 + 13);
    const own = await builder.sandbox({
      first_invoice_status: statuses[seed % statuses.length],
      invoice_create_days: [0, 10, 25][pick(3)],
    });
    await addBands(system, own);
    const today = new Date("2026-04-01T12:00:00Z");
    const { id } = await builder.subscribe(own, {
      start_date: "2026-04-01",
      plan_code: plans[pick(plans.length)],
      units: 8 + pick(6),
      discount_percent: String(pick(3) * 7),
    });
    let created = 0;
    for (let step = 0; step < 30; step += 1) {
      if (pick(4) === 0) {
        today.setUTCDate(today.getUTCDate() + 1 + pick(12));
        await builder.setClock(own, today.toISOString());
      }
      const body = anyChange(pick, (await builder.subscription(own, id)).units, today);
      let answer = await builder.change(own, id, body);
      if (answer.json.error?.code === "invalid_state") {
        // If the ledger is slow, an earlier change continues after its answer.
        await builder.posted(own);
        answer = await builder.change(own, id, body);
      }
      if (answer.json.error?.code === "document_required") {
        answer = await builder.change(own, id, { ...body, document: anyDocument(pick) });
      }
      expect(answers, answer.text).toContain(
        answer.status === 200 ? "200" : answer.json.error.code,
      );
      if (answer.status === 200) created += 1;
    }
    expect(created).toBeGreaterThan(0);
    await builder.expectEqualDocuments(own);
    expect(await differences(system, own)).toEqual([]);
    const invoices = await builder.invoices(own, id);
    for (const document of [...invoices, ...(await builder.creditNotes(own, id))]) {
      expect(document.ledger).toMatchObject({ sync_status: "synced", sync_error: null });
      const sum = document.lines.reduce(
        (total: number, { amount }: Json) => total + hundredths(amount),
        0,
      );
      expect([document.number, hundredths(document.subtotal)]).toEqual([document.number, sum]);
    }
  });
});
