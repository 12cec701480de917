/**
 * Calls that platforms wait for: creations, amendments and ends over REST, by a few callers at a
 * steady pace. Each is answered once the ledger has accepted it.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { request } from "undici";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import type { MeasuredSystem } from "./system.ts";

/** Milliseconds of each call, by kind. */
export interface CallTimes {
  readonly creations: number[];
  readonly amendments: number[];
  readonly ends: number[];
}

/** The number of concurrent callers. */
const callers = 2;

/**
 * The interval between a caller's calls, if the previous one is answered. It fits a machine of two
 * cores.
 */
const everyMs = 250;

/**
 * Calls until `isOver` returns true. Each caller finishes its three calls first. Rejects if a call
 * fails.
 */
export async function callUntil(
  { baseUrl }: MeasuredSystem,
  { apiKey }: CreatedOrganisation,
  keys: readonly string[],
  isOver: () => boolean,
): Promise<CallTimes> {
  const times: CallTimes = { creations: [], amendments: [], ends: [] };
  let sent = 0;
  const call = async (took: number[], path: string, status: number, body: object) => {
    const startedMs = performance.now();
    const { statusCode, body: answer } = await request(`${baseUrl}/v1/subscriptions${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${keys[sent++ % keys.length] ?? apiKey}`,
        "content-type": "application/json",
        "idempotency-key": randomUUID(),
      },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    assert.equal(statusCode, status, text);
    const tookMs = performance.now() - startedMs;
    took.push(tookMs);
    await wait(Math.max(0, everyMs - tookMs));
    return JSON.parse(text);
  };
  const caller = async () => {
    do {
      const creation = { customer_code: "ACME", plan_code: "team", units: 10 };
      const created = await call(times.creations, "", 201, creation);
      assert.equal(created.invoice.ledger.sync_status, "synced");
      const units = { units: 13, prorate: true, effective_date: created.start_date };
      const { change } = await call(times.amendments, `/${created.id}/units`, 200, units);
      assert.equal(
        change.invoice.id,
        created.invoice.id,
        "the change is a line of the first invoice",
      );
      await call(times.ends, `/${created.id}/end`, 200, {
        when: "now",
        delete_unsent_invoices: true,
      });
    } while (!isOver());
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
}
