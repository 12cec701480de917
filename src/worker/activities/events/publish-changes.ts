/**
 * The activities of the relay. They start the publishing of organisations with outbox entries, turn
 * the entries into events in chunks, and start the due deliveries. EVENT-1, WEBHOOK-4.
 */
import { setTimeout as wait } from "node:timers/promises";
import type {
  DuePage,
  DuePageInput,
  OrganisationEventsInput,
  PublishingBatch,
} from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import type { OutboxStore } from "../../../store/events/outbox.ts";
import type { Unpublished } from "../../../store/events/publish-changes.ts";
import { pageSize, startEach, startPage } from "../start-page.ts";

/** The dependencies of publishing. */
export interface PublishingDependencies {
  readonly store: OutboxStore;
  /** Called for each object that cannot be published and is rescheduled. */
  readonly onUnpublished: (organisationId: string, object: Unpublished) => void;
  /**
   * Starts the workflow that publishes an organisation's changes, or leaves a running one alone.
   * False if Temporal was not reached.
   */
  readonly startEvents: (input: OrganisationEventsInput) => Promise<boolean>;
  /**
   * Starts the workflow of an endpoint's deliveries, or wakes a running one. False if Temporal was
   * not reached.
   */
  readonly startDeliveries: (endpoint: EndpointKey) => Promise<boolean>;
  /** Resolves after so many milliseconds. By default by a timer. */
  readonly pause?: (ms: number) => Promise<unknown>;
}

/**
 * How long a batch continues with further chunks. It is shorter than the grace of a stopping
 * worker.
 */
const batchMs = 2_000;

/**
 * Objects of a transaction: enough that its round trips cost each object almost nothing, and few
 * enough that its longest statement takes less than 100 ms on a busy machine.
 */
const chunkSize = 100;

/**
 * Objects that a batch loads at once. It is more than a batch publishes, since the query reads all
 * outbox entries of the organisation.
 */
const loadSize = 5_000;

/** Creates the activities over these dependencies. */
export function createPublishingActivities(parts: PublishingDependencies) {
  const { store, startEvents, startDeliveries } = parts;
  return {
    startChanged: async ({ after }: DuePageInput): Promise<DuePage> => {
      const { organisationIds, now } = await store.findChangedOrganisations(after, pageSize);
      const until = now.toISOString();
      return startPage(organisationIds, (organisationId) => startEvents({ organisationId, until }));
    },
    /** Starts deliveries whose pause is over or whose start was missed. */
    startDeliveriesDue: async ({ after }: DuePageInput): Promise<DuePage> => {
      const endpoints = await store.findAllDueEndpoints(after, pageSize);
      return startPage(endpoints, startDeliveries, ({ endpointId }) => endpointId);
    },
    publishBatch: (input: OrganisationEventsInput) => publishBatch(parts, input),
  };
}

/** The activities of the publishing workflows. */
export type PublishingActivities = ReturnType<typeof createPublishingActivities>;

/**
 * Publishes changes for a while, then starts the due deliveries. An interruption loses and doubles
 * nothing: a chunk is one transaction, and the next minute's scan finds due deliveries without a
 * workflow.
 */
async function publishBatch(
  parts: PublishingDependencies,
  { organisationId, until }: OrganisationEventsInput,
): Promise<PublishingBatch> {
  const { published, isMore } = await publishForAWhile(parts, organisationId, new Date(until));
  return { published, started: await startOwnDeliveries(parts, organisationId), isMore };
}

/**
 * After each chunk it pauses as long as the chunk took. A thousand changes then take half of a
 * processor from the requests of that second instead of all of it.
 */
async function publishForAWhile(
  { store, onUnpublished, pause = wait }: PublishingDependencies,
  organisationId: string,
  until: Date,
) {
  const endMs = performance.now() + batchMs;
  let published = 0;
  for (;;) {
    const objects = await store.findChangedObjects(organisationId, until, loadSize);
    if (objects.length === 0) return { published, isMore: false };
    for (let at = 0; at < objects.length; at += chunkSize) {
      const chunk = objects.slice(at, at + chunkSize);
      const beganMs = performance.now();
      const { events, unpublished } = await store.publish(organisationId, chunk, () =>
        crashPoint("publishing_loaded"),
      );
      crashPoint("publishing_saved");
      published += events;
      for (const one of unpublished) onUnpublished(organisationId, one);
      const nowMs = performance.now();
      if (nowMs > endMs) return { published, isMore: true };
      if (at + chunkSize < objects.length) await pause(nowMs - beganMs);
    }
  }
}

/**
 * Starts the deliveries of published events at once. If the engine does not accept a start, the
 * next minute's scan repeats it.
 */
async function startOwnDeliveries(
  { store, startDeliveries }: PublishingDependencies,
  organisationId: string,
): Promise<number> {
  return startEach(await store.findDueEndpoints(organisationId), async (endpoint) => {
    const isStarted = await startDeliveries(endpoint);
    crashPoint("delivery_started");
    return isStarted;
  });
}
