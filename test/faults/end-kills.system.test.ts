/**
 * SIGKILL between every two steps of an end, in the API and in the worker; then the same request
 * again. END-4, IDEMPOTENCY-2.
 */
import { describe, expect } from "vitest";
import { aloneTest as test } from "../scenario/fixtures.ts";
import { endCrashPoints } from "../support/crash-points.ts";
import { newestJob } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { type Endable, endPost, threeRemoved } from "./ends-builder.ts";
import { dieOf, post, postUntilDecided } from "./processes.ts";

const ofWorker = ["removal_taken", "removal_answered", "removal_saved", "end_finished"] as const;
const ofApi = endCrashPoints.filter((point) => !ofWorker.some((own) => own === point));
/** Up to here nothing is written, and one end is like another. */
const unwritten: readonly string[] = ["admitted", "key_begun", "end_loaded"];

/** The decided answer, and a later one: the same bytes, marked as a replay. */
async function retried(system: TestSystem, endable: Endable): Promise<void> {
  const ended = await postUntilDecided(system.baseUrl, endPost(endable, "the-key"));
  expect([ended.status, ended.json.status], ended.text).toEqual([200, "ended"]);
  const again = await postUntilDecided(system.baseUrl, endPost(endable, "the-key"));
  expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([ended.text, "true"]);
}

describe.concurrent("an API killed in an end leaves a usable key and ends once:", () => {
  test.for(ofApi)("an end that removes three invoices at %s", async (point, { system, ends }) => {
    const endable = await ends.withThree();
    await dieOf(system, point, endPost(endable, "the-key"));
    await retried(system, endable);
    await ends.expectEnded(endable);
    expect(await ends.removals(endable)).toEqual(threeRemoved);
  });

  test.for(
    ofApi.filter((point) => point !== "ledger_woken" && !unwritten.includes(point)),
  )("an end that bills deferred amounts at %s", async (point, { system, ends }) => {
    const endable = await ends.withDeferred();
    // Its only other invoice is a draft: without the option nothing is removed.
    const what = { ...endPost(endable, "the-key"), body: { when: "now" } };
    await dieOf(system, point, what);
    const ended = await postUntilDecided(system.baseUrl, what);
    expect([ended.status, ended.json.status], ended.text).toEqual([200, "ended"]);
    await ends.expectEnded(endable);
    const shown = await ends.builder.summaries(endable.own, endable.id);
    expect(shown).toEqual(["INV-0002 change draft", "INV-0001 first draft"]);
  });
});

test("workers killed at each step of an end leave each subscription ended once", async ({
  system,
  ends,
}) => {
  const endables: Endable[] = [];
  for (const _ of ofWorker) endables.push(await ends.withThree());
  await system.worker.stop();
  const begun: Promise<unknown>[] = [];
  // Each worker dies of a new end. Later workers also meet what it left undone.
  for (const [index, point] of ofWorker.entries()) {
    const endable = endables[index] as Endable;
    begun.push(post(system.baseUrl, endPost(endable, "the-key")));
    const waiting = { subscriptionId: endable.id, kind: "end_subscription", state: "ready" };
    await until("the end waits", () => newestJob(system.pool, waiting));
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await system.worker.exited();
  }
  await system.worker.start();
  await Promise.all(begun);
  for (const endable of endables) {
    await retried(system, endable);
    await ends.expectEnded(endable);
    expect(await ends.removals(endable)).toEqual(threeRemoved);
  }
});
