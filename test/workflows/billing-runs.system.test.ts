/**
 * Billing at work in the real service: the schedule, what an operator sees of runs, and their
 * histories, which must replay. With RECORD_HISTORIES set they are kept for `replay.test.ts`.
 */
import { ScheduleOverlapPolicy } from "@temporalio/client";
import { describe, expect } from "vitest";
import { addDueSubscriptions } from "../../bench/support/due-subscriptions.ts";
import { ensureSchedule } from "../../src/worker/temporal/schedules.ts";
import { billingRunType, billingScheduleId, billingWorkflowId } from "../../workflows/contract.ts";
import type { BillingRuns } from "../support/billing.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { setOrganisation } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { expectReplayable } from "./recorded-history.ts";

/** The current details of a run in the Temporal UI. */
async function detailsOf(runs: BillingRuns, workflowId: string, runId: string): Promise<string> {
  const handle = runs.client.workflow.getHandle(workflowId, runId);
  const shown = await handle.query<{ currentDetails?: string }>("__temporal_workflow_metadata");
  return shown.currentDetails ?? "";
}

/**
 * The first run of an organisation's billing: a second one that began as the first ended finds
 * nothing left.
 */
async function firstRun(
  runs: BillingRuns,
  organisationId: string,
): Promise<{ readonly runId: string; readonly details: string; readonly attributes: object }> {
  const workflowId = billingWorkflowId(organisationId);
  const query = `WorkflowId = '${workflowId}' AND ExecutionStatus = 'Completed'`;
  return until("its first run has ended", async () => {
    const ended: { runId: string; startTime: Date; searchAttributes: object }[] = [];
    for await (const run of runs.client.workflow.list({ query })) ended.push(run);
    const [first] = ended.sort(
      (left, right) => left.startTime.getTime() - right.startTime.getTime(),
    );
    if (first === undefined) return null;
    const { runId, searchAttributes: attributes } = first;
    return { runId, details: await detailsOf(runs, workflowId, runId), attributes };
  });
}

/**
 * An organisation with so many subscriptions that are due, some of which cannot be billed; their
 * customers are strangers to the ledger.
 */
async function withDue(
  system: TestSystem,
  count: number,
  unbillable = 0,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const livemode = changes.test_clock === undefined;
  const { organisationId } = await system.organisation({ timezone: "UTC", livemode }, changes);
  await addDueSubscriptions(system.pool, organisationId, count, unbillable);
  return organisationId;
}

describe("the billing schedule", () => {
  const handle = (runs: BillingRuns) => runs.client.schedule.getHandle(billingScheduleId);

  test("starts a run each minute, never two at once, and none a minute late", async ({ runs }) => {
    const { spec, action, policies } = await handle(runs).describe();
    expect(spec.intervals).toMatchObject([{ every: 60_000 }]);
    expect(action).toMatchObject({ workflowType: billingRunType, taskQueue: "billing", args: [] });
    expect(policies).toMatchObject({ overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: 60_000 });
  });

  test("is repaired by a deployment, and keeps an operator's pause", async ({ runs }) => {
    await handle(runs).pause("an incident is open");
    await handle(runs).update((before) => ({
      ...before,
      spec: { intervals: [{ every: "1 day" }] },
    }));
    await Promise.all([1, 2, 3].map(() => ensureSchedule(runs.client, "billing")));
    const { spec, state } = await handle(runs).describe();
    expect(spec.intervals).toMatchObject([{ every: 60_000 }]);
    expect(state).toMatchObject({ paused: true, note: "an incident is open" });
    await handle(runs).unpause();
  });
});

describe.concurrent("the billing of an organisation", () => {
  test("shows its progress, is found by organisation and outcome, and replays", async ({
    system,
    runs,
  }) => {
    const organisationId = await withDue(system, 1_234);
    await runs.untilDone(organisationId);
    const { runId, details, attributes } = await firstRun(runs, organisationId);
    await expectReplayable(runs.client, billingWorkflowId(organisationId), "billing", runId);
    expect(details).toBe("1,234 of about 1,234 renewed, 0 parked");
    expect(attributes).toMatchObject({ OrganisationId: [organisationId], Outcome: ["done"] });
  });

  test("shows what it parked, and its history replays", async ({ system, runs }) => {
    const organisationId = await withDue(system, 30, 2);
    await runs.untilDone(organisationId);
    const { runId, details, attributes } = await firstRun(runs, organisationId);
    const workflowId = billingWorkflowId(organisationId);
    await expectReplayable(runs.client, workflowId, "billing-parked", runId);
    expect(details).toBe("28 of about 30 renewed, 2 parked");
    expect(await runs.client.workflow.getHandle(workflowId, runId).result()).toEqual({
      outcome: "parked",
      words: "28 invoices issued, 2 parked",
    });
    expect(attributes).toMatchObject({ Outcome: ["parked"] });
    await until("it is logged", async () =>
      system.worker.output().includes("can be billed at once"),
    );
  });
});

test("a billing run shows how many organisations it started, and its history replays", async ({
  system,
  runs,
}) => {
  // By their clocks nothing is due yet. One statement makes both due, so that no run finds only
  // one.
  const past = { test_clock: "2020-01-01T00:00:00Z" };
  const organisationIds = await Promise.all([
    withDue(system, 3, 0, past),
    withDue(system, 3, 0, past),
  ]);
  await setOrganisation(system.pool, organisationIds, { testClock: new Date() });
  await runs.start();
  for (const organisationId of organisationIds) await runs.untilDone(organisationId);
  const query = `WorkflowType = '${billingRunType}' AND ExecutionStatus = 'Completed'`;
  const others = new Set<string>();
  const none = () => `a run that found both has ended, but: ${[...others].join("; ")}`;
  const { workflowId, runId, details } = await until(none, async () => {
    // Two starts of one second have the same workflow id.
    for await (const { workflowId, runId } of runs.client.workflow.list({ query })) {
      const details = await detailsOf(runs, workflowId, runId);
      if (/^billing of [2-9] organisations/.test(details)) return { workflowId, runId, details };
      others.add(`${workflowId}, ${runId}: ${details}`);
    }
    return null;
  });
  expect(details).toMatch(/^billing of \d organisations started/);
  expect(await runs.client.workflow.getHandle(workflowId, runId).result()).toEqual({
    outcome: "done",
    words: details,
  });
  await expectReplayable(runs.client, workflowId, "minute", runId);
});
