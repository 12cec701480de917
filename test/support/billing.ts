/**
 * Billing as the service does it by itself: the run is started through Temporal's schedule, and
 * waited for until nothing is due.
 */
import { setTimeout as wait } from "node:timers/promises";
import { type Client, Connection, Client as TemporalClient } from "@temporalio/client";
import { billingScheduleId } from "../../workflows/contract.ts";
import { type TestSystem, until } from "./system.ts";

/** The way to billing runs. */
export interface BillingRuns {
  readonly client: Client;
  /** Has the schedule start a run, now. */
  start(): Promise<void>;
  /**
   * Starts runs until no performable work of the organisation is due by its clock. Parked
   * subscriptions stay parked.
   */
  untilDone(organisationId: string): Promise<void>;
  close(): Promise<void>;
}

/** How many subscriptions of the organisation are due and not parked. */
export async function countWaiting(
  { pool }: Pick<TestSystem, "pool">,
  organisationId: string,
): Promise<number> {
  const { rows } = await pool.query<{ waiting: number }>(
    `SELECT count(*)::int AS waiting FROM subscriptions s JOIN organisations o
      ON o.id = s.organisation_id
      WHERE o.id = $1 AND s.due_at <= coalesce(o.test_clock, now())
        AND (s.parked_until IS NULL OR s.parked_until <= now())`,
    [organisationId],
  );
  return rows[0]?.waiting ?? 0;
}

/** Between two starts: most runs are over by then. */
const startGapMs = 1_000;

const pollMs = 50;

/** Runs of a system's billing. */
export async function billingRuns(system: TestSystem): Promise<BillingRuns> {
  const { address, namespace } = system.temporal;
  const connection = await Connection.connect({ address });
  const client = new TemporalClient({ connection, namespace });
  const schedule = client.schedule.getHandle(billingScheduleId);
  const start = () => schedule.trigger();
  return {
    client,
    start,
    untilDone: (organisationId) =>
      until("nothing is due any more", async () => {
        // If a run is still active, the schedule starts no second one.
        await start();
        const end = performance.now() + startGapMs;
        while (performance.now() < end) {
          await wait(pollMs);
          if ((await countWaiting(system, organisationId)) === 0) return true;
        }
        return false;
      }).then(() => undefined),
    close: () => connection.close(),
  };
}
