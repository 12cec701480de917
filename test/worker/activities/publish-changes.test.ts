/**
 * Batches of publishing stay short, pages follow each other, and the number of concurrent starts is
 * limited. Doubles replace store and engine.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { OutboxStore } from "../../../src/store/events/outbox.ts";
import {
  createPublishingActivities,
  type PublishingDependencies,
} from "../../../src/worker/activities/events/publish-changes.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const now = new Date("2026-03-01T12:00:00.123Z");
const until = now.toISOString();

function activities(store: Partial<OutboxStore>, parts: Partial<PublishingDependencies> = {}) {
  const quiet: OutboxStore = {
    findChangedOrganisations: async () => ({ organisationIds: [], now }),
    findChangedObjects: async () => [],
    publish: async () => ({ events: 0, deliveries: 0, unpublished: [] }),
    findDueEndpoints: async () => [],
    findAllDueEndpoints: async () => [],
  };
  const startEvents = async () => true;
  const startDeliveries = async () => true;
  return createPublishingActivities({
    store: { ...quiet, ...store },
    startEvents,
    startDeliveries,
    onUnpublished: () => expect.unreachable("all can be published"),
    ...parts,
  });
}

const ids = (count: number, of = "o") =>
  Array.from({ length: count }, (_, number) => `${of}${number}`);
const objects = (count: number) => ids(count).map((id) => ({ kind: "customer" as const, id }));
const endpoints = (count: number, of = "p") =>
  ids(count, of).map((endpointId) => ({ organisationId: "o", endpointId }));

test("organisations are started in pages, without the ones that Temporal refuses", async () => {
  const started: unknown[] = [];
  let [atOnce, most] = [0, 0];
  const { startChanged } = activities(
    {
      findChangedOrganisations: async (after) => ({
        organisationIds: after === null ? ids(500) : ids(3),
        now,
      }),
    },
    {
      startEvents: async (input) => {
        most = Math.max(most, ++atOnce);
        await Promise.resolve();
        atOnce -= 1;
        started.push(input);
        return input.organisationId !== "o1";
      },
    },
  );
  expect(await startChanged({ after: null })).toEqual({ found: 500, started: 499, next: "o499" });
  expect(started.slice(0, 2)).toEqual([
    { organisationId: "o0", until },
    { organisationId: "o1", until },
  ]);
  expect(most).toBe(16);
  expect(await startChanged({ after: "o499" })).toEqual({ found: 3, started: 2, next: null });
});

test("a batch publishes chunks of 100 and stops after two seconds", async () => {
  const chunks: number[] = [];
  const pauses: number[] = [];
  const store: Partial<OutboxStore> = {
    findChangedObjects: async (organisationId, upTo, limit) => {
      expect([organisationId, upTo, limit]).toEqual(["o", now, 5_000]);
      return objects(1_000);
    },
    publish: async (_, chunk) => {
      vi.advanceTimersByTime(700);
      chunks.push(chunk.length);
      return { events: chunk.length + 1, deliveries: 0, unpublished: [] };
    },
    findDueEndpoints: async () => endpoints(3),
  };
  const pause = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    pauses.push(ms);
  };
  const { publishBatch } = activities(store, { pause });
  expect(await publishBatch({ organisationId: "o", until })).toEqual({
    published: 202,
    started: 3,
    isMore: true,
  });
  expect(chunks).toEqual([100, 100]);
  expect(pauses, "as long as the chunk took").toEqual([700]);
});

test("a batch does not pause after its last chunk", async () => {
  const pages = [objects(100), objects(30), []];
  const { publishBatch } = activities(
    { findChangedObjects: async () => pages.shift() ?? expect.unreachable("nothing was left") },
    { pause: async () => expect.unreachable("no chunk follows") },
  );
  expect(await publishBatch({ organisationId: "o", until })).toMatchObject({ isMore: false });
});

test("a batch loads changed objects until none is left", async () => {
  const pages = [objects(5_000), objects(7), []];
  const { publishBatch } = activities({
    findChangedObjects: async () => pages.shift() ?? expect.unreachable("nothing was left"),
  });
  expect(await publishBatch({ organisationId: "o", until })).toMatchObject({ isMore: false });
  expect(pages).toEqual([]);
});

test("an object that cannot be published is reported, and the others are published", async () => {
  const unpublished: unknown[] = [];
  const [first, second] = [objects(1), objects(2)];
  const pages = [[...first, ...second], []];
  const one = { kind: "customer" as const, id: "o0", error: new Error("not writable") };
  const { publishBatch } = activities(
    {
      findChangedObjects: async () => pages.shift() ?? [],
      publish: async () => ({ events: 2, deliveries: 0, unpublished: [one] }),
    },
    { onUnpublished: (organisationId, object) => void unpublished.push(organisationId, object) },
  );
  expect(await publishBatch({ organisationId: "o", until })).toEqual({
    published: 2,
    started: 0,
    isMore: false,
  });
  expect(unpublished).toEqual(["o", one]);
});

test("endpoints are started in pages, without the ones that Temporal refuses", async () => {
  const started: string[] = [];
  let [atOnce, most] = [0, 0];
  const { startDeliveriesDue } = activities(
    { findAllDueEndpoints: async (after, limit) => endpoints(after === null ? limit : 3) },
    {
      startDeliveries: async ({ endpointId }) => {
        most = Math.max(most, ++atOnce);
        await Promise.resolve();
        atOnce -= 1;
        started.push(endpointId);
        return endpointId !== "p1";
      },
    },
  );
  expect(await startDeliveriesDue({ after: null })).toEqual({
    found: 500,
    started: 499,
    next: "p499",
  });
  expect(new Set(started).size).toBe(500);
  expect(most).toBe(16);
  expect(await startDeliveriesDue({ after: "p499" })).toEqual({ found: 3, started: 2, next: null });
});

test("a batch starts the deliveries to each due endpoint of its organisation once", async () => {
  const { publishBatch } = activities(
    { findDueEndpoints: async (organisationId) => (organisationId === "o" ? endpoints(20) : []) },
    { startDeliveries: async ({ endpointId }) => endpointId !== "p7" },
  );
  expect(await publishBatch({ organisationId: "o", until })).toEqual({
    published: 0,
    started: 19,
    isMore: false,
  });
});
