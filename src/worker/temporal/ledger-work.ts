/**
 * Wakes an organisation's ledger workflow: `signalWithStart`, so that no wake-up is missed and there is never a second one.
 * While one wake-up of an organisation is on its way, or was sent just now, further ones of this process are joined to the next.
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
import { typedAttributes } from "./search-attributes.ts";

/** Wakes organisations' ledger workflows. */
export interface LedgerWork {
  /** Resolves true once a workflow knows that something waits; false where Temporal could not be reached in time. */
  wake(organisationId: string): Promise<boolean>;
}

/** How long a start or wake-up may take: past it the caller goes on, and the dispatcher starts what was missed. */
export const engineDeadlineMs = 3_000;

/**
 * How long a run may take. One that is stuck, because no worker can replay it, must not keep its id for ever: what it was at is in the
 * database, and the next start goes on with it.
 */
export const longestRun = "1 hour";

/**
 * The least time between two wake-ups of one organisation by this process. A round of settling takes longer, so that further
 * ones would only make the engine work: with 32 callers they were a third of its work and of the worker's.
 */
const wakeGapMs = 20;

/** A wake-up on its way. `landed`: the next one may start; `next`: the one that all who came meanwhile have joined. */
interface Flight {
  readonly landed: Promise<void>;
  next: Promise<boolean> | null;
}

/** Wake-ups over a client; `onError` is told of each that failed. */
export function createLedgerWork(
  client: Client,
  taskQueue: string,
  onError: (organisationId: string, error: unknown) => void,
): LedgerWork {
  const flights = new Map<string, Flight>();

  const send = async (organisationId: string): Promise<boolean> => {
    const input: LedgerPostingInput = { organisationId };
    try {
      await client.withDeadline(Date.now() + engineDeadlineMs, () =>
        client.workflow.signalWithStart(ledgerPostingType, {
          taskQueue,
          workflowId: ledgerWorkflowId(organisationId),
          workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
          args: [input],
          workflowRunTimeout: longestRun,
          signal: wakeSignal,
          signalArgs: [],
          staticSummary: "settles the organisation's waiting documents in its ledger",
          typedSearchAttributes: typedAttributes({
            OrganisationId: organisationId,
            JobKind: "record_documents",
          }),
        }),
      );
      return true;
    } catch (error) {
      onError(organisationId, error);
      return false;
    }
  };

  const fly = (organisationId: string): Promise<boolean> => {
    const sent = send(organisationId);
    const landed = Promise.all([sent, pause(wakeGapMs)]).then(() => {
      if (flight.next === null) flights.delete(organisationId);
    });
    const flight: Flight = { landed, next: null };
    flights.set(organisationId, flight);
    return sent;
  };

  return {
    wake: (organisationId) => {
      const flight = flights.get(organisationId);
      if (flight === undefined) return fly(organisationId);
      // The one on its way may have been sent before this caller's commit was seen: one more follows it, for all who join.
      flight.next ??= flight.landed.then(() => fly(organisationId));
      return flight.next;
    },
  };
}
