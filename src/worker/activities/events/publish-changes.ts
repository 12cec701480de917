/**
 * What telling does: starts the telling of organisations that have changes, combines these into
 * events chunk by chunk, and starts the deliveries to endpoints that have some due. architecture
 * §5.
 */
import type { DuePage, DuePageInput, OrganisationEventsInput, PublishingBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import type { OutboxStore } from "../../../store/events/outbox.ts";
import type { Unpublished } from "../../../store/events/publish-isolated.ts";

/** What telling needs. */
export interface PublishingDependencies {
  readonly store: OutboxStore;
  /** Told of each object that cannot be told, and is put off. */
  readonly onUnpublished: (organisationId: string, untold: Unpublished) => void;
  /** Starts the workflow that tells an organisation's changes, or leaves the one that runs to itself; false where Temporal was not reached. */
  readonly startEvents: (input: OrganisationEventsInput) => Promise<boolean>;
  /**
   * Starts the workflow of an endpoint's deliveries, or wakes the one that runs; false where
   * Temporal was not reached.
   */
  readonly startDeliveries: (endpoint: EndpointKey) => Promise<boolean>;
}

/** The activities of the telling workflows. */
export interface PublishingActivities {
  startChanged(input: DuePageInput): Promise<DuePage>;
  startDeliveriesDue(input: DuePageInput): Promise<DuePage>;
  publishBatch(input: OrganisationEventsInput): Promise<PublishingBatch>;
}

/**
 * Organisations or endpoints on a page: started within seconds, so that the activity stays short.
 */
const pageSize = 500;

/** Starts under way at once: the engine answers several in the time that one takes. */
const startsAtOnce = 16;

/** How long a round goes on with further chunks: short against what a worker's end waits for. */
const batchMs = 2_000;

/** Objects of a transaction: enough that its round trips cost each of them next to nothing. */
const chunkSize = 200;

/** Objects that a round looks for at once: more than it gets done, since the looking reads all marks of the organisation. */
const lookSize = 5_000;

/** The activities over these parts. */
export function createPublishingActivities(parts: PublishingDependencies): PublishingActivities {
  return {
    startChanged: ({ after }) => startChanged(parts, after),
    startDeliveriesDue: ({ after }) => startDeliveriesDue(parts, after),
    publishBatch: (input) => publishBatch(parts, input),
  };
}

async function startChanged({ store, startEvents }: PublishingDependencies, after: string | null): Promise<DuePage> {
  const { organisationIds, now } = await store.findNews(after, pageSize);
  const until = now.toISOString();
  const started = await startEach(organisationIds, (organisationId) => startEvents({ organisationId, until }));
  const found = organisationIds.length;
  return { found, started, next: found < pageSize ? null : (organisationIds.at(-1) ?? null) };
}

/**
 * What changed, for a while, and then the start of what is to be delivered. Nothing of it is lost
 * or doubled where it breaks off: a chunk is one transaction, and what is due and not started is
 * found by the next minute's scan.
 */
async function publishBatch(
  parts: PublishingDependencies,
  { organisationId, until }: OrganisationEventsInput,
): Promise<PublishingBatch> {
  const { told, isMore } = await publishForAWhile(parts, organisationId, new Date(until));
  return { told, started: await startOwnDeliveries(parts, organisationId), isMore };
}

async function publishForAWhile({ store, onUnpublished }: PublishingDependencies, organisationId: string, until: Date) {
  const endMs = performance.now() + batchMs;
  let told = 0;
  for (;;) {
    const objects = await store.findChanged(organisationId, until, lookSize);
    if (objects.length === 0) return { told, isMore: false };
    for (let at = 0; at < objects.length; at += chunkSize) {
      const chunk = objects.slice(at, at + chunkSize);
      const { events, untold } = await store.tell(organisationId, chunk, () => crashPoint("publishing_loaded"));
      crashPoint("publishing_saved");
      told += events;
      for (const one of untold) onUnpublished(organisationId, one);
      if (performance.now() > endMs) return { told, isMore: true };
    }
  }
}

/** Attempts whose pause is over, and starts that were missed. */
async function startDeliveriesDue({ store, startDeliveries }: PublishingDependencies, after: string | null): Promise<DuePage> {
  const endpoints = await store.findAllDueEndpoints(after, pageSize);
  const started = await startEach(endpoints, startDeliveries);
  const next = endpoints.length < pageSize ? null : (endpoints.at(-1)?.endpointId ?? null);
  return { found: endpoints.length, started, next };
}

/**
 * What was told goes out at once. Where the engine does not take a start the next minute's scan
 * makes it.
 */
async function startOwnDeliveries({ store, startDeliveries }: PublishingDependencies, organisationId: string): Promise<number> {
  return startEach(await store.findDueEndpoints(organisationId), async (endpoint) => {
    const isStarted = await startDeliveries(endpoint);
    crashPoint("delivery_started");
    return isStarted;
  });
}

/** Starts each, several at once; answers how many are at it. One queue for all: each starter takes the next one when its last is started. */
async function startEach<T>(all: readonly T[], start: (one: T) => Promise<boolean>): Promise<number> {
  const waiting = all.values();
  let started = 0;
  const starter = async (): Promise<void> => {
    for (const one of waiting) if (await start(one)) started += 1;
  };
  await Promise.all(Array.from({ length: startsAtOnce }, starter));
  return started;
}
