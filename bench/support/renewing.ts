/** Billing of organisations, four at once as a worker does it, by the billing run or by a floor, measured. */
import assert from "node:assert/strict";
import type pg from "pg";
import { createBillingRun } from "../../src/store/billing/billing-run.ts";
import { createBilling } from "../../src/worker/activities/billing/billing-run.ts";
import { cpuSecondsUsed } from "./cpu.ts";
import { renewBarely } from "./renewal-floor.ts";

/** Rounds of billing that a worker process takes at once. */
const atOnce = 4;

/** Renews all that is due of an organisation; resolves with how many. */
export type Renew = (organisationId: string) => Promise<number>;

/** What renewing took. */
export interface Renewed {
  readonly seconds: number;
  readonly perSecond: number;
  /** Processor time of everything that runs for it: what the machine does beside does not change it. */
  readonly cpuMicroseconds: number;
}

/** Renews what is due of these organisations. Rejects where that is not `due` altogether. */
export async function renewAll(renew: Renew, organisationIds: readonly string[], due: number): Promise<Renewed> {
  const cpuBefore = cpuSecondsUsed(null);
  const began = performance.now();
  const waiting = organisationIds.values();
  let renewed = 0;
  const one = async () => {
    for (const organisationId of waiting) {
      const count = await renew(organisationId);
      renewed += count;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  const seconds = (performance.now() - began) / 1_000;
  assert.equal(renewed, due, "all that was due is renewed, and nothing else");
  return { seconds, perSecond: due / seconds, cpuMicroseconds: (1e6 * (cpuSecondsUsed(null) - cpuBefore)) / due };
}

/** The worker's own rounds. A subscription that is set aside ends the measurement; the ledger's workflow is woken by nobody. */
export function renewByBilling(pool: pg.Pool): Renew {
  const { billBatch } = createBilling({
    store: createBillingRun(pool),
    startBilling: () => assert.fail("nothing is started here"),
    wake: async () => true,
    onParked: (_, { subscriptionId, reason }) => assert.fail(`${subscriptionId} was set aside: ${reason}`),
  });
  return async (organisationId) => {
    let renewed = 0;
    for (;;) {
      const round = await billBatch({ organisationId });
      renewed += round.done;
      if (!round.isMore) return renewed;
    }
  };
}

/** The same rows by one statement a chunk. */
export function renewByFloor(pool: pg.Pool): Renew {
  return async (organisationId) => {
    let renewed = 0;
    for (;;) {
      const chunk = await renewBarely(pool, organisationId);
      if (chunk === 0) return renewed;
      renewed += chunk;
    }
  };
}
