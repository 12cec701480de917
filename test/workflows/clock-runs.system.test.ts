/**
 * Test clocks in the real service: what an operator sees of an advance in Temporal and on the
 * command line, and its history, which must replay. With RECORD_HISTORIES set it is stored for
 * `replay.test.ts`.
 */
import { type Client, WorkflowNotFoundError } from "@temporalio/client";
import { describe, expect } from "vitest";
import { inTransaction } from "../../src/store/database/pool.ts";
import { clockWorkflowId, progressQuery } from "../../workflows/contract.ts";
import { scenarioTest as test } from "../scenario/fixtures.ts";
import { addMany } from "../scenario/many-subscriptions.ts";
import { until } from "../support/system.ts";
import { expectReplayable } from "./recorded-history.ts";

/** What the Temporal UI shows as the current details of the clock's workflow. */
async function detailsOf(client: Client, organisationId: string): Promise<string> {
  const handle = client.workflow.getHandle(clockWorkflowId(organisationId));
  const shown = await handle.query<{ currentDetails?: string }>("__temporal_workflow_metadata");
  return shown.currentDetails ?? "";
}

/** Null for a workflow that has not been started yet. Throws any other error. */
function notStarted(error: unknown): null {
  if (error instanceof WorkflowNotFoundError) return null;
  throw error;
}

describe.concurrent("an advance", () => {
  test("shows what was performed, is found by its organisation, and replays", async ({
    clocks,
    client,
  }) => {
    const own = await clocks.sandbox();
    const { organisationId } = own;
    await clocks.subscribe(own, { start_date: "2026-04-01" });
    await clocks.advanced(own, { to: "2026-08-10T12:00:00Z" });
    const workflowId = clockWorkflowId(organisationId);
    await expectReplayable(client, workflowId, "clock");
    expect(await detailsOf(client, organisationId)).toBe(
      "2026-08-10T12:00:00.000Z, from 2026-04-01T12:00:00.000Z: " +
        "4 performed, 4 invoices issued, 0 parked",
    );
    const handle = client.workflow.getHandle(workflowId);
    expect(await handle.query(progressQuery)).toEqual({
      from: "2026-04-01T12:00:00.000Z",
      target: "2026-08-10T12:00:00.000Z",
      now: "2026-08-10T12:00:00.000Z",
      performed: 4,
      issued: 4,
      parked: 0,
    });
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes).toMatchObject({ OrganisationId: [organisationId], Outcome: ["done"] });
  });

  test("shows its progress while it runs", async ({ system, clocks, client }) => {
    const own = await clocks.sandbox();
    const { organisationId } = own;
    const { id } = await clocks.subscribe(own, { start_date: "2026-03-03" });
    const zones = ["Europe/Paris", "Asia/Kolkata", "Pacific/Auckland"];
    await addMany(system, id, 29, { days: [3, 28], zones });
    const handle = client.workflow.getHandle(clockWorkflowId(organisationId));
    const observed = await inTransaction(system.pool, async (held) => {
      await held.query("SET LOCAL idle_in_transaction_session_timeout = 0");
      // The clock passes no work that another process holds. So it is read before it is there,
      // however fast the worker is.
      await held.query("SELECT 1 FROM subscriptions WHERE id = $1 FOR NO KEY UPDATE", [id]);
      await clocks.advance(own, { months: 3 });
      return until("it is on its way", async () => {
        const progress = await handle
          .query<{ now: string; target: string; performed: number } | null>(progressQuery)
          .catch(notStarted);
        const details = await detailsOf(client, organisationId);
        const isOnItsWay =
          progress !== null && progress.now < progress.target && progress.performed > 0;
        return isOnItsWay && details.includes("on the way") && { progress, details };
      });
    });
    expect(observed.details).toMatch(
      new RegExp(
        String.raw`^\S+ on the way from 2026-04-01T12:00:00.000Z to 2026-07-01T12:00:00.000Z: ` +
          String.raw`[\d,]+ performed, [\d,]+ invoices issued, 0 parked$`,
      ),
    );
    const { advance, now } = await clocks.clock(own);
    expect(now >= observed.progress.now).toBe(true);
    expect(advance.performed).toBeGreaterThanOrEqual(observed.progress.performed);
    await clocks.arrived(own);
  });

  test("that follows another as its workflow is about to end is not lost", async ({ clocks }) => {
    const own = await clocks.sandbox();
    await clocks.subscribe(own, { start_date: "2026-04-01" });
    for (let month = 1; month <= 12; month += 1) await clocks.advanced(own, { months: 1 });
    expect(await clocks.clock(own)).toMatchObject({
      now: "2027-04-01T12:00:00.000Z",
      advance: { performed: 1 },
    });
  });
});
