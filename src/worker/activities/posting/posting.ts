/** One round of an organisation's ledger workflow: takes what waits, asks the ledger, saves each outcome. */
import type { CreditAllocationInput, LedgerPostingInput, PostingBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { invalidationsOf } from "../../../domain/billing/ledger-validation.ts";
import type { Ledger } from "../../../ledger/port/ledger.ts";
import type { LedgerConnection } from "../../../store/ledger-connection/connections.ts";
import type { Settlement } from "../../../store/ledger-jobs/document-outcomes.ts";
import type { OpenPosting, PostingStore } from "../../../store/ledger-jobs/post-documents.ts";
import { connectionPause, type GroupOutcome, joinOutcomes, spentBudgetMs } from "./ledger-call.ts";
import { postContacts } from "./post-contacts.ts";
import { postCreditNotes } from "./post-credit-notes.ts";
import { postInvoices } from "./post-invoices.ts";

/** What a round needs. `openLedger` gives the adapter of a connection, kept from round to round. */
export interface PostingDependencies {
  readonly openScope: OpenPosting;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to the ledger may take. */
  readonly callDeadlineMs: number;
  readonly publicUrl: string | null;
  /** Starts the workflow that applies a subscription's credit; without it the dispatcher does. Never rejects. */
  readonly startAllocation?: (input: CreditAllocationInput) => Promise<unknown>;
}

/** The activities of the ledger workflow. */
export interface PostingActivities {
  postBatch(input: LedgerPostingInput): Promise<PostingBatch>;
}

/**
 * How much longer than a call's deadline a taken operation is held: a round makes at most two calls for it (send, then look
 * a taken number up), and its outcome has to be saved.
 */
const leaseFactor = 3;

/** How long an organisation without a connection waits for one: an operator's matter. */
export const unconnectedPauseMs = 5 * 60_000;

/**
 * Who gathers documents of an organisation: one at a time in a process, until its call is on its way. What comes meanwhile
 * goes with the next one, and nobody holds documents behind another's back.
 */
type Gather = (organisationId: string) => Promise<() => void>;

/**
 * Rounds beside each other at the most: as many calls as the budget lets go out at once for what nobody waits for. Facts: facts-ledger
 * section 1.7.
 */
const mostAtOnce = 4;

/** How far apart the calls of a minute go out: a ledger that takes longer for one has to be asked by several at once. */
const callGapMs = 1_000;

/** How long a round goes on with further groups: short against what its workflow and a worker's end wait for. */
const batchMs = 1_000;

/** The activities over these parts. Each round re-reads the database, so a repetition finds only what is left. */
export function createPostingActivities(parts: PostingDependencies): PostingActivities {
  const gather = createCoalesce();
  return { postBatch: ({ organisationId }) => postBatch(parts, gather, organisationId) };
}

/**
 * Groups, one after the other, as long as there is more to take: only then the engine is told, which costs it and the worker
 * more than a group does.
 */
async function postBatch(parts: PostingDependencies, gather: Gather, organisationId: string): Promise<PostingBatch> {
  const endMs = performance.now() + batchMs;
  let settled = 0;
  let refused = 0;
  for (;;) {
    const gathered = await gather(organisationId);
    let sentMs = performance.now();
    const onPermit = () => {
      sentMs = performance.now();
      gathered();
    };
    const group = await postGroup(parts, organisationId, onPermit).finally(gathered);
    settled += group.settled;
    refused += group.refused;
    const atOnce = Math.min(mostAtOnce, 1 + Math.floor((performance.now() - sentMs) / callGapMs));
    const isMore = group.nextInMs === 0 && group.settled + group.refused > 0;
    if (!isMore || performance.now() >= endMs) return { ...group, settled, refused, atOnce };
  }
}

function createCoalesce(): Gather {
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

/** Takes what waits, and settles it; `onPermit` is called for each request that is on its way. */
async function postGroup(
  parts: PostingDependencies,
  organisationId: string,
  onPermit: () => void,
): Promise<PostingBatch> {
  const scope = parts.openScope(organisationId);
  const state = await scope.connection();
  if (state === null || state.pausedMs > 0) {
    return reschedule(scope, state?.pausedMs ?? unconnectedPauseMs, state?.pausedReason ?? "no ledger is connected");
  }
  const ledger = parts.openLedger(organisationId, state.connection);
  const leaseMs = leaseFactor * parts.callDeadlineMs;
  const [contacts, invoices, creditNotes, offer] = await Promise.all([
    scope.takeContacts(leaseMs),
    scope.takeInvoices(leaseMs),
    scope.takeCreditNotes(leaseMs),
    scope.offer(),
  ]);
  const settings = { deadlineMs: parts.callDeadlineMs, publicUrl: parts.publicUrl, offer, onPermit };
  crashPoint("posting_taken");
  // Each kind is saved as soon as it is answered: neither waits for the other.
  const save = async (outcome: GroupOutcome): Promise<GroupOutcome> => {
    crashPoint("posting_answered");
    // Before anybody is told of it: nobody else is to ask meanwhile.
    const asked = connectionPause(outcome.failures);
    if (asked !== null) await scope.pause(asked.pauseMs, asked.reason);
    const credited = await scope.settle(outcome.settlements);
    crashPoint("posting_saved");
    await invalidateReferenceDataKind(scope, outcome.settlements);
    const { startAllocation } = parts;
    if (startAllocation !== undefined) {
      await Promise.all(credited.map((subscriptionId) => startAllocation({ organisationId, subscriptionId })));
    }
    return outcome;
  };
  const { settlements, failures } = joinOutcomes(
    await Promise.all([
      postContacts(ledger, contacts, settings, scope.findImported).then(save),
      postInvoices(ledger, invoices, settings).then(save),
      postCreditNotes(ledger, creditNotes, settings).then(save),
    ]),
  );
  const settled = settlements.filter(({ kind }) => kind.endsWith("_done")).length;
  const refused = settlements.filter(({ kind }) => kind === "refused").length;
  const pause = connectionPause(failures);
  if (pause === null) {
    const { waiting, nextInMs } = await scope.waiting();
    // Where the budget let nothing through, it lets nothing of what else is ready through either: not asked again before it does.
    const spentMs = settled + refused > 0 ? 0 : spentBudgetMs(failures);
    return {
      settled,
      refused,
      waiting,
      nextInMs: nextInMs === null ? null : Math.max(nextInMs, spentMs),
      paused: spentMs > 0 ? "our calls to the ledger are used up" : null,
    };
  }
  return { ...(await reschedule(scope, pause.pauseMs, pause.reason)), settled, refused };
}

/** What the ledger offers is read again where it refused for its sake, and where we did by what may be so no longer. */
async function invalidateReferenceDataKind(scope: PostingStore, settlements: readonly Settlement[]): Promise<void> {
  const refused = settlements.filter((settlement) => settlement.kind === "refused");
  const contradicted = refused.flatMap(({ evaluatedBy, reason }) => (evaluatedBy === undefined ? invalidationsOf(reason) : []));
  const evaluatedBy = refused.flatMap(({ evaluatedBy: by }) => by ?? []);
  await scope.doubt([...new Set(contradicted)], "contradicted");
  await scope.doubt([...new Set(evaluatedBy)], "refused_by");
}

/** A paused connection: what is ready is put off, and what is uncertain waits as long, because a look-up is a call as well. */
async function reschedule(scope: PostingStore, pauseMs: number, reason: string): Promise<PostingBatch> {
  await scope.reschedule(pauseMs, reason);
  const { waiting, nextInMs } = await scope.waiting();
  return {
    settled: 0,
    refused: 0,
    waiting,
    nextInMs: nextInMs === null ? null : Math.max(nextInMs, pauseMs),
    paused: reason,
  };
}
