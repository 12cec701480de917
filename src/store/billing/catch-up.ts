/**
 * Bills everything that is due for an organisation at once. Called before a settings switch that
 * would change how it is billed (SETUP-4).
 */

import { decideDue } from "../../domain/billing/renewal.ts";
import type { Pool } from "../database/pool.ts";
import { billChunk, type ChunkOrder } from "./billing-run.ts";
import { createTestClock } from "./test-clock.ts";

/**
 * Usage gets its own invoice and joins no draft in the ledger. The amendment would block the switch
 * that this prepares.
 */
const withoutAmendments: Pick<ChunkOrder, "decide"> = {
  decide: (facts) => decideDue(facts, { mayJoin: false }),
};

/**
 * Bills chunk by chunk what is due by the organisation's clock, also while a test clock advances.
 * It stops when nothing is left or at `endMs` (of `performance.now()`). Parked subscriptions and
 * subscriptions with a running end are left. Returns how many documents it issued. The caller must
 * have them posted.
 */
export async function performDue(
  pool: Pool,
  organisationId: string,
  endMs: number,
): Promise<number> {
  const clock = createTestClock(pool);
  let issued = 0;
  for (;;) {
    // Only one of the two takes rows: the clock's while it advances, otherwise the other.
    const chunk = await billChunk(pool, organisationId, withoutAmendments);
    const ofClock = await clock.billChunk(organisationId, withoutAmendments);
    issued += chunk.issued + ofClock.issued;
    if (chunk.claimed + ofClock.claimed === 0 || performance.now() > endMs) return issued;
  }
}
