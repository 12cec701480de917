/**
 * Bills organisations, four at once as a worker does, by the billing run or by a floor, and
 * measures it.
 */
import assert from "node:assert/strict";
import type pg from "pg";
import { createBillingRun } from "../../src/store/billing/billing-run.ts";
import { createBilling } from "../../src/worker/activities/billing/billing-run.ts";
import { cpuSecondsUsed } from "./cpu.ts";
import { renewBarely } from "./renewal-floor.ts";

/** How many organisations a worker process bills at once. */
const atOnce = 4;

/** Renews everything due of an organisation. Resolves with the number of renewals. */
type Renew = (organisationId: string) => Promise<number>;

/** The time that renewing took. */
export interface Renewed {
  readonly seconds: number;
  readonly perSecond: number;
  /**
   * Processor time of everything that runs for one renewal. Other work on the machine does not
   * change it.
   */
  readonly cpuMicroseconds: number;
}

/** Renews everything due of these organisations. Rejects if the total is not `due`. */
export async function renewAll(
  renew: Renew,
  organisationIds: readonly string[],
  due: number,
): Promise<Renewed> {
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
  return {
    seconds,
    perSecond: due / seconds,
    cpuMicroseconds: (1e6 * (cpuSecondsUsed(null) - cpuBefore)) / due,
  };
}

/**
 * Renews by the worker's own billing run. A parked subscription ends the measurement. The posting
 * workflow is never started.
 */
export function renewByBilling(pool: pg.Pool): Renew {
  const { billBatch } = createBilling({
    store: createBillingRun(pool),
    startBilling: () => assert.fail("nothing is started here"),
    wake: async () => true,
    onParked: (_, { subscriptionId, reason }) =>
      assert.fail(`${subscriptionId} was parked: ${reason}`),
  });
  return async (organisationId) => {
    let renewed = 0;
    for (;;) {
      const batch = await billBatch({ organisationId });
      renewed += batch.done;
      if (!batch.isMore) return renewed;
    }
  };
}

/** Renews by the floor: the same rows, one statement for each chunk. */
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
