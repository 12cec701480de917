/**
 * What telling does: starts the telling of organisations that have changes or deliveries due, combines changes into events chunk by chunk, and
 * starts the deliveries' workflows. architecture §5.
 */
import type {
  DuePage,
  DuePageInput,
  OrganisationEventsInput,
  TellingRound,
  WebhookDeliveryInput,
} from "../../workflows/contract.ts";
import { checkpoint } from "../checkpoint.ts";
import type { Untold } from "../store/telling-apart.ts";
import type { TellingStore } from "../store/telling-work.ts";

/** What telling needs. */
export interface TellingParts {
  readonly store: TellingStore;
  /** The pause after a delivery's first attempt. */
  readonly firstPauseMs: number;
  /** Told of each object that cannot be told, and is put off. */
  readonly onUntold: (organisationId: string, untold: Untold) => void;
  /** Starts the workflow that tells an organisation's changes, or leaves the one that runs to itself; false where Temporal was not reached. */
  readonly startEvents: (input: OrganisationEventsInput) => Promise<boolean>;
  /** The same of the workflow of one delivery. */
  readonly startDelivery: (input: WebhookDeliveryInput) => Promise<boolean>;
}

/** The activities of the telling workflows. */
export interface TellingActivities {
  startChanged(input: DuePageInput): Promise<DuePage>;
  tellRound(input: OrganisationEventsInput): Promise<TellingRound>;
}

/** Organisations on a page: started within seconds, so that the activity stays short. */
const pageSize = 500;

/** Starts under way at once: the engine answers several in the time that one takes. */
const startsAtOnce = 16;

/** How long a round goes on with further chunks, and then with further starts: short against what a worker's end waits for. */
const roundMs = 2_000;

/** Objects of a transaction: enough that its round trips cost each of them next to nothing. */
const chunkSize = 200;

/** Objects that a round looks for at once: more than it gets done, since the looking reads all marks of the organisation. */
const lookSize = 5_000;

/** Deliveries that are taken at once: those that a worker takes with it into its grave wait for two minutes. */
const takeSize = 100;

/** The activities over these parts. */
export function createTellingActivities(parts: TellingParts): TellingActivities {
  return {
    startChanged: ({ after }) => startChanged(parts, after),
    tellRound: (input) => tellRound(parts, input),
  };
}

async function startChanged({ store, startEvents }: TellingParts, after: string | null): Promise<DuePage> {
  const { organisationIds, now } = await store.findNews(after, pageSize);
  const until = now.toISOString();
  const started = await startEach(organisationIds, (organisationId) => startEvents({ organisationId, until }));
  const found = organisationIds.length;
  return { found, started, next: found < pageSize ? null : (organisationIds.at(-1) ?? null) };
}

/**
 * What changed, and what is to be delivered, for a while each: neither waits for the end of the other. Nothing of it is lost or doubled where
 * it breaks off: a chunk is one transaction, and a delivery that was taken and not started is due again after a while.
 */
async function tellRound(
  parts: TellingParts,
  { organisationId, until }: OrganisationEventsInput,
): Promise<TellingRound> {
  const told = await tellAWhile(parts, organisationId, new Date(until));
  const started = await startAWhile(parts, organisationId);
  return { told: told.told, started: started.started, isMore: told.isMore || started.isMore };
}

async function tellAWhile({ store, onUntold }: TellingParts, organisationId: string, until: Date) {
  const endMs = performance.now() + roundMs;
  let told = 0;
  for (;;) {
    const objects = await store.findChanged(organisationId, until, lookSize);
    if (objects.length === 0) return { told, isMore: false };
    for (let at = 0; at < objects.length; at += chunkSize) {
      const chunk = objects.slice(at, at + chunkSize);
      const { events, untold } = await store.tell(organisationId, chunk, () => checkpoint("telling_loaded"));
      checkpoint("telling_saved");
      told += events;
      for (const one of untold) onUntold(organisationId, one);
      if (performance.now() > endMs) return { told, isMore: true };
    }
  }
}

async function startAWhile({ store, firstPauseMs, startDelivery }: TellingParts, organisationId: string) {
  const endMs = performance.now() + roundMs;
  let started = 0;
  for (;;) {
    const due = await store.takeDue(organisationId, takeSize);
    const failed: string[] = [];
    const count = await startEach(due, async (delivery) => {
      const isStarted = await startDelivery({ ...delivery, firstPauseMs });
      checkpoint("delivery_started");
      if (!isStarted) failed.push(delivery.deliveryId);
      return isStarted;
    });
    started += count;
    // The engine does not take them: the next minute's run tries again.
    if (failed.length > 0) await store.giveBack(organisationId, failed);
    if (due.length < takeSize || failed.length > 0) return { started, isMore: false };
    if (performance.now() > endMs) return { started, isMore: true };
  }
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
