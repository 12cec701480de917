/**
 * Histories of the real service's workflows: once a run has ended it must replay, and with
 * RECORD_HISTORIES set it is kept.
 */
import { writeFileSync } from "node:fs";
import type { Client } from "@temporalio/client";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { expect } from "vitest";
import { until } from "../support/system.ts";
import { bundle } from "./bundle.ts";
import { replayFailure } from "./replay.ts";

/**
 * Asserts that the workflow's history replays once it has ended: by default that of its newest run.
 * If histories are recorded, stores it as `name` for `replay.test.ts`.
 */
export async function expectReplayable(
  client: Client,
  workflowId: string,
  name: string,
  runId?: string,
): Promise<void> {
  const handle = client.workflow.getHandle(workflowId, runId);
  await until(
    "the workflow has ended",
    async () => (await handle.describe()).status.name === "COMPLETED",
  );
  const history = JSON.parse(historyToJSON(await handle.fetchHistory()));
  if (process.env.RECORD_HISTORIES) {
    // The poller's identity and the name of its sticky queue belong to a machine.
    const text = JSON.stringify(history, null, 1).replaceAll(/"\d+@[^"]*"/g, '"recorded"');
    writeFileSync(new URL(`../histories/${name}.json`, import.meta.url), `${text}\n`);
  }
  expect(await replayFailure(bundle, history)).toBeNull();
}
