/** Everything that is due for an organisation, performed at once: before a switch after which it would be judged otherwise. */
import type pg from "pg";
import { decideDue } from "../../domain/billing/renewal.ts";
import { billChunk, type ChunkOrder } from "./billing-run.ts";
import { createTestClock } from "./test-clock.ts";

/**
 * Usage gets an invoice of its own instead of joining a draft in the ledger: the amendment would
 * block the switch for which this is performed. decisions §6.
 */
const withoutAmendments: Pick<ChunkOrder, "decide"> = { decide: (facts) => decideDue(facts, { mayJoin: false }) };

/**
 * Performs chunk by chunk what is due by the organisation's clock, also where that advances, until nothing is left or `endMs` (of
 * `performance.now()`) has come. What is set aside, or kept by an end that is on its way, is left. How many documents it raised: the
 * ledger is to hear of them.
 */
export async function performDue(pool: pg.Pool, organisationId: string, endMs: number): Promise<number> {
  const clock = createTestClock(pool);
  let raised = 0;
  for (;;) {
    // One of them takes nothing: as long as the clock advances all is its own.
    const chunk = await billChunk(pool, organisationId, withoutAmendments);
    const ofClock = await clock.billChunk(organisationId, withoutAmendments);
    raised += chunk.raised + ofClock.raised;
    if (chunk.taken + ofClock.taken === 0 || performance.now() > endMs) return raised;
  }
}
