/**
 * Wakes an organisation's ledger workflow with `signalWithStart`, so that no wake-up is missed and
 * only one workflow runs. A posting batch of it that lingers is woken through PostgreSQL instead.
 * During and shortly after a wake-up, further wake-ups of this organisation by this process are
 * coalesced into the next one.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "@temporalio/client";
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from "@temporalio/client";
import {
  type LedgerPostingInput,
  ledgerPostingType,
  ledgerWorkflowId,
  wakeSignal,
} from "../../../workflows/contract.ts";
import { type LingeringBatches, reportEveryMs } from "../../store/ledger-jobs/lingering-batches.ts";
import { typedAttributes } from "./search-attributes.ts";

/** Wakes the ledger workflows of organisations. */
export interface PostingWakes {
  /**
   * Resolves to true once a workflow knows of the waiting work, or to false if Temporal could not
   * be reached in time. A caller that waits may have true for a wake-up that may have arrived.
   */
  wake(organisationId: string): Promise<boolean>;
}

/**
 * How long a start or wake-up may take. After it the caller continues, and the dispatcher starts
 * what was missed.
 */
export const engineDeadlineMs = 3_000;

/**
 * How long a run may take. A run that no worker can replay must not hold its id for ever. Its work
 * is in the database, and the next start continues it.
 */
export const maxRun = "1 hour";

/**
 * The least time between two wake-ups of one organisation by this process. A batch takes longer, so
 * more wake-ups only load the engine. With 32 callers they were a third of its work and of the
 * worker's.
 */
const signalGapMs = 20;

/** The same of wake-ups through PostgreSQL. One takes less than a millisecond. */
const notifyGapMs = 2;

/**
 * How long after a wake-up through PostgreSQL the next report of a lingering batch is awaited. If
 * none came, its worker may be gone, and the workflow is signalled.
 */
const reportAwaitedMs = 2 * reportEveryMs;

/**
 * A wake-up in progress. After `landed` the next one may start. All callers that came in the
 * meantime share `next`.
 */
interface Flight {
  readonly landed: Promise<void>;
  next: Promise<boolean> | null;
}

/**
 * Creates wake-ups over a client. `onError` decides what a failed one resolves to. Without
 * `lingering` every wake-up goes through Temporal.
 */
export function createLedgerWork(
  client: Client,
  taskQueue: string,
  onError: (organisationId: string, error: unknown) => boolean,
  lingering?: LingeringBatches,
): PostingWakes {
  const signal = coalesced(signalGapMs, (organisationId) =>
    client
      .withDeadline(Date.now() + engineDeadlineMs, () =>
        client.workflow.signalWithStart(ledgerPostingType, signalOf(taskQueue, organisationId)),
      )
      .then(() => true)
      .catch((error: unknown) => onError(organisationId, error)),
  );
  if (lingering === undefined) return { wake: signal };

  const notify = coalesced(notifyGapMs, (organisationId) =>
    lingering.wake(organisationId).then(
      () => true,
      () => false,
    ),
  );
  /** The last wake-up of each organisation through PostgreSQL that no report has followed yet. */
  const notifiedAtMs = new Map<string, number>();
  const check = (organisationId: string) => {
    setTimeout(() => {
      const atMs = notifiedAtMs.get(organisationId) ?? 0;
      const isReported = (lingering.reportedAtMs(organisationId) ?? 0) > atMs;
      if (!isReported && performance.now() - atMs < reportAwaitedMs) return check(organisationId);
      notifiedAtMs.delete(organisationId);
      if (!isReported) void signal(organisationId);
    }, reportAwaitedMs).unref();
  };
  return {
    wake: async (organisationId) => {
      if (!lingering.lingers(organisationId)) {
        // One may linger that this process does not know of yet. It does not get the signal.
        void notify(organisationId);
        return signal(organisationId);
      }
      if (!(await notify(organisationId))) return signal(organisationId);
      const isChecked = notifiedAtMs.has(organisationId);
      notifiedAtMs.set(organisationId, performance.now());
      if (!isChecked) check(organisationId);
      return true;
    },
  };
}

/** The start of an organisation's workflow, and the signal to it. */
function signalOf(taskQueue: string, organisationId: string) {
  const input: LedgerPostingInput = { organisationId };
  return {
    taskQueue,
    workflowId: ledgerWorkflowId(organisationId),
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    args: [input],
    workflowRunTimeout: maxRun,
    signal: wakeSignal,
    signalArgs: [],
    staticSummary: "posts the organisation's waiting documents to its ledger",
    typedSearchAttributes: typedAttributes({
      OrganisationId: organisationId,
      JobKind: "post_documents",
    }),
  };
}

/**
 * Coalesces the wake-ups of each organisation: one at a time, and the next one for all callers that
 * came in the meantime.
 */
function coalesced(
  gapMs: number,
  send: (organisationId: string) => Promise<boolean>,
): PostingWakes["wake"] {
  const flights = new Map<string, Flight>();
  const fly = (organisationId: string): Promise<boolean> => {
    const sent = send(organisationId);
    const landed = Promise.all([sent, pause(gapMs)]).then(() => {
      if (flight.next === null) flights.delete(organisationId);
    });
    const flight: Flight = { landed, next: null };
    flights.set(organisationId, flight);
    return sent;
  };
  return (organisationId) => {
    const flight = flights.get(organisationId);
    if (flight === undefined) return fly(organisationId);
    // The wake-up in progress may predate this caller's commit. One more follows it, for all
    // callers.
    flight.next ??= flight.landed.then(() => fly(organisationId));
    return flight.next;
  };
}
