/** Publishes what a measurement has inserted, before it measures. */
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { billingScheduleId } from "../../workflows/contract.ts";
import type { MeasuredSystem } from "./system.ts";

/** The time limit of the work. */
const limitMs = 240_000;

const pollMs = 50;

/** A trigger is skipped if a run is active. It is sent again after this time. */
const triggerMs = 5_000;

/**
 * Waits until all changes are published. Rows that a measurement inserts are published like any
 * others, which takes about as long as their insertion. A measurement would include it.
 */
export async function publishAll(system: MeasuredSystem): Promise<void> {
  const endMs = performance.now() + limitMs;
  let triggeredMs = Number.NEGATIVE_INFINITY;
  for (let count = await left(system); count > 0; count = await left(system)) {
    const nowMs = performance.now();
    assert.ok(nowMs < endMs, `${count} changes are left after ${limitMs / 1_000} s`);
    if (nowMs - triggeredMs > triggerMs) {
      await system.runSchedule(billingScheduleId);
      triggeredMs = nowMs;
    }
    await wait(pollMs);
  }
}

async function left({ pool }: MeasuredSystem): Promise<number> {
  const { rows } = await pool.query<{ left: number }>("SELECT count(*)::int AS left FROM outbox");
  return rows[0]?.left ?? 0;
}
