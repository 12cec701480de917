/**
 * What the mirror does: starts the workflows of organisations whose ledger is to be looked at, and looks, hint by hint and page by page,
 * at what people changed there. Nobody waits for it: its calls leave some of the budget to those for whom somebody does. Issue 8 "Mirror".
 */
import type {
  CreditAllocationInput,
  DuePage,
  DuePageInput,
  LedgerMirrorInput,
  WorkRound,
} from "../../workflows/contract.ts";
import type {
  Ledger,
  LedgerAnswer,
  LedgerCall,
  LedgerChanged,
  LedgerChangePage,
  LedgerFailure,
} from "../ledger/port.ts";
import type { LedgerConnection } from "../store/ledger-connections.ts";
import { type Followed, joinFollowed, nothingFollowed } from "../store/mirror-documents.ts";
import type { MirrorKind, TakenHints } from "../store/mirror-hints.ts";
import type { MirrorState } from "../store/mirror-sweeps.ts";
import type { DocumentKind, Mirroring, MirrorScope } from "../store/mirroring.ts";
import { connectionPause, limitReason, retryDelayMs } from "./ledger-call.ts";

/** What the mirror needs. */
export interface MirrorParts {
  readonly mirroring: Mirroring;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to the ledger may take. */
  readonly callDeadlineMs: number;
  /** Starts or wakes the organisation's mirror; false where Temporal was not reached. */
  readonly startMirror: (organisationId: string) => Promise<boolean>;
  /** Starts putting held credit on invoices that were approved there. */
  readonly startAllocation: (input: CreditAllocationInput) => Promise<boolean>;
}

/** The activities of the mirror's workflows. */
export interface MirrorActivities {
  startMirrors(input: DuePageInput): Promise<DuePage>;
  mirrorRound(input: LedgerMirrorInput): Promise<WorkRound>;
}

/** Organisations on a page: started within seconds, so that the activity stays short. */
const pageSize = 500;

/** Starts under way at once. */
const startsAtOnce = 16;

/** How long a round goes on with further calls: short against what its workflow and a worker's end wait for. */
const roundMs = 1_000;

/** The activities over these parts. Each round re-reads the database, so a repetition finds only what is left. */
export function createMirror(parts: MirrorParts): MirrorActivities {
  return {
    startMirrors: ({ after }) => startMirrors(parts, after),
    mirrorRound: ({ organisationId }) => mirrorRound(parts, organisationId),
  };
}

async function startMirrors({ mirroring, startMirror }: MirrorParts, after: string | null): Promise<DuePage> {
  const page = await mirroring.find(after, pageSize);
  const waiting = page.values();
  let started = 0;
  const starter = async (): Promise<void> => {
    for (const organisationId of waiting) if (await startMirror(organisationId)) started += 1;
  };
  await Promise.all(Array.from({ length: startsAtOnce }, starter));
  return { found: page.length, started, next: page.length < pageSize ? null : (page.at(-1) ?? null) };
}

async function mirrorRound(parts: MirrorParts, organisationId: string): Promise<WorkRound> {
  const endMs = performance.now() + roundMs;
  const scope = parts.mirroring.open(organisationId);
  let [looked, changed] = [0, 0];
  for (;;) {
    const state = await scope.look();
    if (state.waitMs > 0) return waiting(`waits: ${state.reason ?? "the ledger cannot be asked"}`, state.waitMs);
    const connected = await scope.connection();
    if (connected === null) return settled("no ledger is connected");
    if (connected.pausedMs > 0) return waiting(`paused: ${connected.pausedReason ?? "for now"}`, connected.pausedMs);
    const ledger = parts.openLedger(organisationId, connected.connection);
    const step = await lookOnce(scope, ledger, {
      deadlineMs: parts.callDeadlineMs,
      operationKeys: [],
      isBackground: true,
    });
    if (step === null) return atRest(state, looked, changed);
    if (step.kind === "failed") return failed(scope, state, step.failure);
    if (state.failures > 0) await scope.putOff(null);
    looked += step.looked;
    changed += step.followed.changed;
    await Promise.all(
      step.followed.credited.map((subscriptionId) => parts.startAllocation({ organisationId, subscriptionId })),
    );
    if (performance.now() >= endMs) return waiting(described(looked, changed), 0);
  }
}

/** What a look came to. */
type Looked =
  | { readonly kind: "looked"; readonly looked: number; readonly followed: Followed }
  | { readonly kind: "failed"; readonly failure: LedgerFailure };

/** Hints first, because somebody may be looking at the document; null where nothing is to be looked at. */
async function lookOnce(scope: MirrorScope, ledger: Ledger, call: LedgerCall): Promise<Looked | null> {
  const hints = await scope.takeHints();
  if (hints !== null) return lookAtHints(scope, ledger, call, hints);
  const page = await scope.takeSweep();
  if (page === null) return null;
  const { kind, since, cursor, takenAt } = page;
  const answer = await listPage(ledger, call, kind, cursor === null ? { since } : { since, cursor });
  if (answer.kind !== "ok") return { kind: "failed", failure: answer };
  const seen = answer.value;
  const followed = await seen.follow(scope, takenAt);
  const unread = seen.unread.filter((id) => id !== null);
  await scope.leaveHints(kind, [...followed.again, ...unread]);
  await scope.endPage(page, { cursor: seen.cursor, highWater: seen.highWater, changed: followed.changed });
  return { kind: "looked", looked: seen.ids.length, followed };
}

/** Things of one kind as they were seen: how they are written, and their ids. */
interface Seen {
  readonly ids: readonly string[];
  readonly follow: (scope: MirrorScope, askedAt: string) => Promise<Followed>;
}

function seenOf<Kind extends MirrorKind>(kind: Kind, changes: readonly LedgerChanged[Kind][]): Seen {
  const ids = changes.map(({ id }) => id);
  const follow: Seen["follow"] = (scope, askedAt) => {
    switch (kind) {
      case "contacts":
        return scope.followContacts(changes as readonly LedgerChanged["contacts"][]);
      case "credit_notes":
        return scope.followNotes(changes as readonly LedgerChanged["credit_notes"][], askedAt);
      default:
        return scope.followInvoices(changes as readonly LedgerChanged["invoices"][], askedAt);
    }
  };
  return { ids, follow };
}

async function listPage(
  ledger: Ledger,
  call: LedgerCall,
  kind: MirrorKind,
  from: { readonly since: string; readonly cursor?: string },
): Promise<LedgerAnswer<Seen & Omit<LedgerChangePage<unknown>, "changes">>> {
  const answer = await ledger.listChanges(call, { kind, ...from });
  if (answer.kind !== "ok") return answer;
  const { changes, ...page } = answer.value;
  return { kind: "ok", value: { ...seenOf(kind, changes), ...page } };
}

async function lookAtHints(scope: MirrorScope, ledger: Ledger, call: LedgerCall, taken: TakenHints): Promise<Looked> {
  const { kind, hints, takenAt } = taken;
  const ids = hints.map(({ ledgerId }) => ledgerId);
  const answer = await ledger.getMany(call, { kind, ids });
  if (answer.kind !== "ok") return { kind: "failed", failure: answer };
  const { found, unread } = answer.value;
  const seen = seenOf(kind, found);
  const missing = ids.filter((id) => !seen.ids.includes(id) && !unread.includes(id));
  const lost = await lookForMissing(scope, ledger, call, kind, missing, takenAt);
  if (lost.kind !== "ok") return { kind: "failed", failure: lost };
  const followed = joinFollowed([await seen.follow(scope, takenAt), lost.value]);
  await scope.endHints(taken, [...followed.again, ...unread]);
  return { kind: "looked", looked: ids.length, followed };
}

/**
 * An address that is not there says nothing of the document: only where its number is not found either, the ledger has
 * lost it. A contact has no number of its own by which it could be found for sure.
 */
async function lookForMissing(
  scope: MirrorScope,
  ledger: Ledger,
  call: LedgerCall,
  kind: MirrorKind,
  missing: readonly string[],
  askedAt: string,
): Promise<LedgerAnswer<Followed>> {
  if (missing.length === 0) return { kind: "ok", value: nothingFollowed };
  if (kind === "contacts") {
    return { kind: "ok", value: { ...nothingFollowed, changed: await scope.loseContacts(missing) } };
  }
  const numbers = await scope.findNumbers(kind, missing);
  const answer = await findByNumber(ledger, call, kind, [...numbers.values()]);
  if (answer.kind !== "ok") return answer;
  const found = new Set(answer.value.map(({ id }) => id));
  const taken = new Set(answer.value.map(({ number }) => number));
  const lost = missing.filter((id) => !taken.has(numbers.get(id) ?? ""));
  const changed = lost.length === 0 ? 0 : await scope.loseDocuments(kind, lost, askedAt);
  return { kind: "ok", value: { ...nothingFollowed, changed, again: missing.filter((id) => found.has(id)) } };
}

function findByNumber(
  ledger: Ledger,
  call: LedgerCall,
  kind: DocumentKind,
  numbers: readonly string[],
): Promise<LedgerAnswer<readonly { readonly id: string; readonly number: string }[]>> {
  return kind === "invoices" ? ledger.findInvoices(call, { numbers }) : ledger.findCreditNotes(call, { numbers });
}

/** What failed is not looked at for a while; a limit of the ledger's own pauses all calls of the connection. */
async function failed(scope: MirrorScope, { failures }: MirrorState, failure: LedgerFailure): Promise<WorkRound> {
  const pause = connectionPause([failure]);
  if (pause !== null) {
    await scope.pause(pause.pauseMs, pause.reason);
    return waiting(`paused: ${pause.reason}`, pause.pauseMs);
  }
  const isLimit = failure.kind === "rate_limited";
  const delayMs = isLimit ? failure.retryAfterMs : retryDelayMs(failures + 1);
  const reason = isLimit ? limitReason(failure) : reasonOf(failure);
  await scope.putOff({ delayMs, reason, isFailure: !isLimit });
  return waiting(`waits: ${reason}`, delayMs);
}

/** Reasons only: messages may name somebody. */
function reasonOf(failure: LedgerFailure): string {
  if (failure.kind === "unavailable") return failure.cause;
  return failure.kind === "refused" ? `looking was refused: ${failure.reason}` : failure.kind;
}

function atRest({ nextInMs }: MirrorState, looked: number, changed: number): WorkRound {
  const detail = described(looked, changed);
  return nextInMs === null ? settled(detail) : waiting(`${detail}; something is on its way there`, nextInMs);
}

function described(looked: number, changed: number): string {
  return `looked at ${looked} in the ledger, ${changed} changed here`;
}

function settled(detail: string): WorkRound {
  return { state: "settled", outcome: "done", detail, nextInMs: null };
}

function waiting(detail: string, nextInMs: number): WorkRound {
  return { state: "waiting", outcome: null, detail, nextInMs };
}
