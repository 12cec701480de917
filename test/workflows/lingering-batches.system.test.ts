/** Lingering posting batches: creations that follow each other do without Temporal (POSTING-3). */
import type { Client } from "@temporalio/client";
import { expect } from "vitest";
import { newId } from "../../src/store/database/ids.ts";
import { createLedgerWork } from "../../src/worker/temporal/ledger-work.ts";
import { defaultTaskQueue, ledgerWorkflowId } from "../../workflows/contract.ts";
import { createSynced, subscriptionPost } from "../faults/ledger-documents.ts";
import { reusedSystemTest as test } from "../support/fixtures.ts";
import { until } from "../support/system.ts";

async function eventsOf(client: Client, organisationId: string): Promise<number> {
  const handle = client.workflow.getHandle(ledgerWorkflowId(organisationId));
  return (await handle.describe()).historyLength;
}

test("a creation after another adds no event to the posting workflow", async ({
  system,
  client,
}) => {
  const organisation = await system.organisation();
  await createSynced(system, subscriptionPost(organisation, newId()));
  await until("a creation is posted without Temporal", async () => {
    const before = await eventsOf(client, organisation.organisationId);
    await createSynced(system, subscriptionPost(organisation, newId()));
    return (await eventsOf(client, organisation.organisationId)) === before;
  });
});

test("a wake-up that no lingering batch hears goes through Temporal", async ({ client }) => {
  const organisationId = newId();
  const wakes: string[] = [];
  const work = createLedgerWork(client, defaultTaskQueue, () => false, {
    lingers: () => true,
    reportedAtMs: () => null,
    wake: async (id) => void wakes.push(id),
  });
  expect(await work.wake(organisationId)).toBe(true);
  expect(wakes).toEqual([organisationId]);
  await until("its workflow runs", async () => {
    return (await eventsOf(client, organisationId).catch(() => 0)) > 0;
  });
});
