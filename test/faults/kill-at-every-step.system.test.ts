/**
 * SIGKILL between every two steps of a creation, in the API and in the worker; then the same
 * request again. IDEMPOTENCY-7, POSTING-2.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { creationCrashPoints } from "../support/crash-points.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { countJobs, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import {
  customerPost,
  expectOneDocumentEach,
  shownInvoice,
  subscriptionPost,
  synced,
} from "./ledger-documents.ts";
import { dieOf, type Post, post, postUntilCreated } from "./processes.ts";

const ofWorker = creationCrashPoints.filter((point) => point.startsWith("posting_"));
const ofApi = creationCrashPoints.filter((point) => !ofWorker.includes(point));

/** The first 201 and two later ones: the same bytes, and the later ones marked as replays. */
async function retried(
  system: TestSystem,
  what: Post,
): Promise<NonNullable<Awaited<ReturnType<typeof post>>>> {
  const created = await postUntilCreated(system.baseUrl, what);
  const again = await postUntilCreated(system.baseUrl, what);
  expect(again.text).toBe(created.text);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  return created;
}

async function expectOneCustomer(
  system: TestSystem,
  { organisationId, tenantId, apiKey }: CreatedOrganisation,
  id: string,
): Promise<void> {
  const ours = await tables(system.pool).customer.findMany({
    where: { organisationId, code: "NEW-1" },
  });
  const { rows } = await system.pool.query(
    "SELECT contact_id FROM demo_ledger.contacts WHERE tenant_id = $1 AND name = $2",
    [tenantId, "New and Sons"],
  );
  expect(rows).toHaveLength(1);
  expect(ours).toMatchObject([{ id, ledgerContactId: rows[0].contact_id }]);
  const shown = await system.ask("GET", `/v1/customers/${id}`, { key: apiKey });
  expect(shown.json).toMatchObject({ id, ledger_contact_id: rows[0].contact_id });
}

describe.concurrent("an API killed in a creation leaves a usable key and one object:", () => {
  test.for(ofApi)("create subscription at %s", async (point, { system }) => {
    const organisation = await system.organisation();
    const what = subscriptionPost(organisation, "the-key");
    await dieOf(system, point, what);
    const created = await retried(system, what);
    await expectOneDocumentEach(system, organisation, 1);
    expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);
  });

  test.for(
    ofApi.filter((point) => point !== "creation_loaded"),
  )("create customer at %s", async (point, { system }) => {
    const organisation = await system.organisation();
    const what = customerPost(organisation, "the-key");
    await dieOf(system, point, what);
    const created = await retried(system, what);
    await expectOneCustomer(system, organisation, created.json.id);
  });
});

test("workers killed at each step of posting leave every document posted once", async ({
  system,
}) => {
  const batches = [];
  await system.worker.stop();
  // Each worker dies of new creations. Later workers also meet what it left undone.
  for (const point of ofWorker) {
    const organisation = await system.organisation();
    const subscription = subscriptionPost(organisation, "subscription");
    const customer = customerPost(organisation, "customer");
    // Both are pending before the worker starts, so that one batch carries both.
    const begun = [subscription, customer].map((what) => post(system.baseUrl, what));
    const waiting = { organisationId: organisation.organisationId, state: "ready" };
    await until("both wait", async () => (await countJobs(system.pool, waiting)) === 2);
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await system.worker.exited();
    batches.push({ organisation, subscription, customer, begun });
  }
  await system.worker.start();
  for (const { organisation, subscription, customer, begun } of batches) {
    await Promise.all(begun);
    const [created, result] = [
      await retried(system, subscription),
      await retried(system, customer),
    ];
    await expectOneDocumentEach(system, organisation, 1);
    expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);
    await expectOneCustomer(system, organisation, result.json.id);
  }
});
