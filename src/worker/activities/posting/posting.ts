/**
 * The batches of an organisation's ledger workflow: groups of documents, one after the other, and
 * then a wait for the next (POSTING-3).
 */
import type { OrganisationInput, PostingBatch } from "../../../../workflows/contract.ts";
import { isRecorded } from "../../../store/database/trace-context.ts";
import type { OpenJobs } from "../../../store/ledger-jobs/jobs.ts";
import type { PostingStore } from "../../../store/ledger-jobs/posting-store.ts";
import type { LingeringPlace, LingeringPlaces } from "./lingering-places.ts";
import { type PostingDependencies, postGroup } from "./post-group.ts";

/** The dependencies of batches. Without `lingering` no batch lingers. */
interface BatchDependencies extends PostingDependencies {
  /** The places of lingering batches. */
  readonly lingering?: Pick<LingeringPlaces, "take">;
}

/**
 * Coalesces the documents of an organisation: one batch at a time in a process collects them, until
 * its call is being sent. Documents that arrive in the meantime go with the next one, and no other
 * batch holds any.
 */
type Coalesce = (organisationId: string) => Promise<() => void>;

/**
 * The most concurrent batches: as many background calls as the budget allows at once (POSTING-6).
 */
const maxAtOnce = 4;

/**
 * The spacing of a minute's calls. If the ledger takes longer for one, several calls must run at
 * once.
 */
const callGapMs = 1_000;

/**
 * How long a batch continues with further groups, if it does not linger. It is shorter than the
 * timeout of its workflow and the grace of a stopping worker.
 */
const batchMs = 1_000;

/** How long a batch lingers without a new document. */
const lingeringIdleMs = 10_000;

/** The longest lingering batch. Then the workflow shows its progress and runs the next at once. */
const maxLingeringMs = 30_000;

/** How often a lingering batch reads what waits. It finds what a lost notification announced. */
const readEveryMs = 500;

/** The most numbers of documents in a result, for people. A busy batch posts thousands. */
const maxNumbers = 10;

/**
 * Creates the activities over these dependencies. Each batch reads the database again, so a retry
 * finds only what is left.
 */
export function createPostingActivities(parts: BatchDependencies) {
  const coalesce = createCoalesce();
  return {
    postBatch: async ({ organisationId }: OrganisationInput): Promise<PostingBatch> => {
      // A recorded trace would get the spans of all later documents.
      const place = isRecorded() ? null : (parts.lingering?.take(organisationId) ?? null);
      try {
        return await postBatch(parts, coalesce, place, organisationId);
      } finally {
        place?.leave();
      }
    },
  };
}

/** The activities of the ledger workflow. */
export type PostingActivities = ReturnType<typeof createPostingActivities>;

/**
 * Posts groups one after the other while there are more. A result for each group would cost the
 * engine and the worker more than the group does. With a place it then lingers: it waits for the
 * next document, because a wake-up through the engine costs more than its posting.
 */
async function postBatch(
  parts: PostingDependencies,
  coalesce: Coalesce,
  place: LingeringPlace | null,
  organisationId: string,
): Promise<PostingBatch> {
  const beganMs = performance.now();
  let workedAtMs: number | null = null;
  let posted = 0;
  let refused = 0;
  const numbers: { posted: string[]; refused: string[] } = { posted: [], refused: [] };
  let isRepeat = false;
  for (;;) {
    const release = await coalesce(organisationId);
    let sentMs = performance.now();
    const onPermit = () => {
      sentMs = performance.now();
      release();
    };
    const onReading = () => place?.reading();
    const group = await postGroup(parts, organisationId, { onPermit, onReading }).finally(release);
    const nowMs = performance.now();
    posted += group.posted;
    refused += group.refused;
    numbers.posted.push(...(group.numbers?.posted ?? []));
    numbers.refused.push(...(group.numbers?.refused ?? []));
    const atOnce = Math.min(maxAtOnce, 1 + Math.floor((nowMs - sentMs) / callGapMs));
    const shown = {
      posted: numbers.posted.slice(0, maxNumbers),
      refused: numbers.refused.slice(0, maxNumbers),
    };
    const result = { ...group, posted, refused, numbers: shown, atOnce };
    const hasWorked = group.posted + group.refused > 0;
    if (hasWorked) workedAtMs = nowMs;
    const maxMs = place === null || atOnce > 1 ? batchMs : maxLingeringMs;
    const endMs = beganMs + maxMs;
    // A group without work may have missed a job that came while it read what is open.
    if (group.nextInMs === 0 && (hasWorked || !isRepeat)) {
      if (nowMs >= endMs || place?.isStopping()) return result;
      isRepeat = !hasWorked;
      continue;
    }
    if (place === null || group.paused !== null || group.nextInMs === 0) return result;
    // A batch that a late signal began, and that found nothing, does not linger.
    if (workedAtMs === null) return result;
    const lingerEndMs = Math.min(workedAtMs + lingeringIdleMs, beganMs + maxLingeringMs);
    const open = await linger(parts.openStore(organisationId), place, group, lingerEndMs);
    if (open !== null) return { ...result, ...open };
  }
}

/** Waits until a document can be posted: null. Otherwise returns what waits at `endMs`. */
async function linger(
  store: PostingStore,
  place: LingeringPlace,
  { waiting, nextInMs }: OpenJobs,
  endMs: number,
): Promise<OpenJobs | null> {
  let open: OpenJobs = { waiting, nextInMs };
  for (;;) {
    const leftMs = endMs - performance.now();
    if (leftMs <= 0 || place.isStopping()) return open;
    const isWoken = await place.sleep(Math.min(leftMs, readEveryMs, open.nextInMs ?? readEveryMs));
    if (place.isStopping()) return open;
    if (isWoken) return null;
    open = await store.waiting();
    if (open.nextInMs === 0) return null;
  }
}

function createCoalesce(): Coalesce {
  const last = new Map<string, Promise<void>>();
  return async (organisationId) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = last.get(organisationId);
    last.set(organisationId, promise);
    await before;
    return () => {
      if (last.get(organisationId) === promise) last.delete(organisationId);
      resolve();
    };
  };
}
