/** Lingering posting batches: creations that follow each other share an activity (POSTING-3). */
import type { Client } from "@temporalio/client";
import { newId } from "../../src/store/database/ids.ts";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import { defaultTaskQueue, ledgerWorkflowId } from "../../workflows/contract.ts";
import { createSynced, subscriptionPost } from "../faults/ledger-documents.ts";
import { reusedSystemTest as test } from "../support/fixtures.ts";
import { until } from "../support/system.ts";

async function batchesOf(client: Client, organisationId: string): Promise<number> {
  const handle = client.workflow.getHandle(ledgerWorkflowId(organisationId));
  const { events } = await handle.fetchHistory();
  const scheduled = events?.filter((event) => event.activityTaskScheduledEventAttributes);
  return scheduled?.length ?? 0;
}

test("a creation after another begins no further batch", async ({ system, client }) => {
  const organisation = await system.organisation();
  await createSynced(system, subscriptionPost(organisation, newId()));
  await until("a creation is posted by the batch of another", async () => {
    const before = await batchesOf(client, organisation.organisationId);
    await createSynced(system, subscriptionPost(organisation, newId()));
    return (await batchesOf(client, organisation.organisationId)) === before;
  });
});

test("a wake-up whose notification fails goes through Temporal", async ({ client }) => {
  const organisationId = newId();
  const failing = () => Promise.reject(new Error("no connection"));
  const work = createStartWork(client, defaultTaskQueue, () => false, { notify: failing });
  await until("its workflow is woken", () => work.wake(organisationId));
  await until("its workflow runs a batch", async () => {
    return (await batchesOf(client, organisationId)) > 0;
  });
});
