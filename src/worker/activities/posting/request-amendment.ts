/**
 * Asks the ledger for one amendment, and says what its answer means. A ledger judges the invoice before it looks at the
 * lines, so that a repeat of what it did already can be refused: whatever it refuses for the invoice's sake is looked
 * at once more.
 */
import { validateLines, type LedgerReferenceData, unknownReferenceData } from "../../../domain/billing/ledger-validation.ts";
import type {
  Ledger,
  LedgerCall,
  LedgerFailure,
  LedgerInvoice,
  LedgerInvoiceStatus,
  LedgerLine,
  LedgerLineChange,
} from "../../../ledger/port/ledger.ts";
import type { AmendmentOutcome, SyncedInvoice } from "../../../store/ledger-jobs/amendment-outcomes.ts";
import type { AmendmentLine, AmendmentToSend } from "../../../store/ledger-jobs/amendments.ts";
import type { NamedLine } from "../../../store/ledger-jobs/document-outcomes.ts";
import { held, retryDelayMs, failureOutcome } from "./ledger-call.ts";
import { lineOf } from "./post-documents.ts";

/** What came of it, and the failures of calls, which may pause the connection. */
export interface AmendmentAnswer {
  readonly settlement: AmendmentOutcome;
  readonly failures: readonly LedgerFailure[];
}

/**
 * An invoice takes the line of a joined charge only as a draft; else it can be changed until it is paid. decisions §6.
 */
const joined: readonly LedgerInvoiceStatus[] = ["draft"];
const open: readonly LedgerInvoiceStatus[] = ["draft", "awaiting_approval", "approved"];

/** After so many attempts a refusal is believed that what is read contradicts, or that may pass by itself. */
const believedAttempts = 3;

/**
 * How much of a description is compared: a ledger's adapter may add the arithmetic at its end, where it has to cut it
 * off.
 */
const comparedLength = 3_900;

type Refusal = LedgerFailure & { readonly kind: "refused" };

/** Amends the invoice: two calls at most, each with `deadlineMs`. */
export async function askForAmendment(
  ledger: Ledger,
  amendment: AmendmentToSend,
  deadlineMs: number,
  offer: LedgerReferenceData,
): Promise<AmendmentAnswer> {
  const { id, lines, joins } = amendment;
  const fault = faultOf(amendment, offer);
  if (fault !== null) return { settlement: { kind: "refused", ...fault, invoice: null }, failures: [] };
  const changed = changedLines(lines);
  const answer = await ledger.amendInvoice(
    { deadlineMs, jobKeys: [id], variant: String(amendment.attempts), isBackground: !amendment.is_awaited },
    {
      id: amendment.ledger_id,
      allowed: joins ? joined : open,
      lineAmounts: "exclusive",
      changes: changed.map(changeOf),
    },
  );
  if (answer.kind === "ok") {
    const { invoice, lineIds } = answer.value;
    const named = changed.flatMap((line, index): NamedLine[] => {
      const ledgerLineId = lineIds[index];
      return ledgerLineId === undefined ? [] : [{ id: line.id, ledgerLineId }];
    });
    if (named.length < changed.length) throw new Error("the ledger's adapter left out a line");
    return { settlement: { kind: "done", invoice: syncOf(invoice), lines: named }, failures: [] };
  }
  if (answer.kind !== "refused") return undone(amendment, answer, deadlineMs);
  switch (answer.reason) {
    case "wrong_status":
    case "has_payment_or_credit":
      return lookAtInvoice(ledger, amendment, answer, deadlineMs);
    case "not_found":
      return lookForInvoice(ledger, amendment, answer, deadlineMs);
    case "stale":
      if (amendment.attempts >= believedAttempts) break;
      return { settlement: again(amendment, "changed in the ledger meanwhile"), failures: [] };
  }
  return { settlement: refused(answer, null), failures: [] };
}

/**
 * What we can say of an amendment ourselves, and for free; null where the ledger is to be asked. One that was sent before may stand there:
 * what the ledger offers by now says nothing of that. A plan line is never added: sent without its id it would stand there twice.
 */
export function faultOf(
  { lines, number, attempts, skip_validation: skipValidation }: AmendmentToSend,
  offer: LedgerReferenceData,
): { readonly reason: string; readonly message: string } | null {
  const amending = lines.filter((line) => line.amending);
  const fault = validateLines(amending, "invoice", skipValidation || attempts > 1 ? unknownReferenceData : offer);
  if (fault !== null) return { reason: fault.reason, message: fault.message };
  if (amending.every((line) => line.kind !== "plan" || line.ledger_line_id !== null)) return null;
  return { reason: "validation", message: `It is not known which line of ${number} in the ledger is the plan's.` };
}

/**
 * The lines to be changed or added, and those that stand there already and look like an added one: named by their ids,
 * they are not taken for it.
 */
function changedLines(lines: readonly AmendmentLine[]): readonly AmendmentLine[] {
  const amending = lines.filter((line) => line.amending);
  const added = amending.filter((line) => line.ledger_line_id === null).map(lineOf);
  const isTwin = (line: AmendmentLine): boolean => {
    const { description, amount } = lineOf(line);
    return added.some((one) => one.description === description && one.amount === amount);
  };
  return [...amending, ...lines.filter((line) => !line.amending && line.ledger_line_id !== null && isTwin(line))];
}

function changeOf(line: AmendmentLine): LedgerLineChange {
  return { ...lineOf(line), ledgerLineId: line.ledger_line_id };
}

/**
 * The invoice is paid, approved, removed or has money on it: perhaps since an earlier attempt whose answer was lost.
 */
async function lookAtInvoice(
  ledger: Ledger,
  amendment: AmendmentToSend,
  refusal: Refusal,
  deadlineMs: number,
): Promise<AmendmentAnswer> {
  const answer = await ledger.getInvoice(lookCall(amendment, deadlineMs), amendment.ledger_id);
  if (answer.kind !== "ok") return undone(amendment, answer, deadlineMs);
  const found = answer.value;
  const lines = standingLines(amendment.lines, found.lines);
  if (lines !== null) return { settlement: { kind: "done", invoice: syncOf(found), lines }, failures: [] };
  const allowed = amendment.joins ? joined : open;
  const isOpenAgain = refusal.reason === "wrong_status" && allowed.includes(found.status);
  if (isOpenAgain && amendment.attempts < believedAttempts) {
    return { settlement: again(amendment, "the invoice can be changed again"), failures: [] };
  }
  return { settlement: closed(amendment, refusal, syncOf(found)), failures: [] };
}

/**
 * An address that is not there says nothing of the invoice: only where its number is not found either, the ledger has
 * lost it.
 */
async function lookForInvoice(
  ledger: Ledger,
  amendment: AmendmentToSend,
  refusal: Refusal,
  deadlineMs: number,
): Promise<AmendmentAnswer> {
  const answer = await ledger.findInvoices(lookCall(amendment, deadlineMs), { numbers: [amendment.number] });
  if (answer.kind !== "ok") return undone(amendment, answer, deadlineMs);
  if (answer.value.some(({ id }) => id === amendment.ledger_id)) {
    return { settlement: again(amendment, "not found by its id"), failures: [] };
  }
  const gone = { status: "not_in_external", total: null, amountDue: null, sent: null } as const;
  return { settlement: closed(amendment, refusal, gone), failures: [] };
}

function lookCall({ is_awaited: isAwaited }: AmendmentToSend, deadlineMs: number): LedgerCall {
  return { deadlineMs, jobKeys: [], isBackground: !isAwaited };
}

/**
 * The invoice takes the lines no more: they are billed elsewhere. One that only is no draft any more can still be
 * re-priced. decisions §6.
 */
function closed(amendment: AmendmentToSend, refusal: Refusal, invoice: SyncedInvoice): AmendmentOutcome {
  const isOpen = open.some((status) => status === invoice.status);
  const isRepriceable = amendment.joins && refusal.reason === "wrong_status" && isOpen;
  return { kind: "closed", reason: refusal.reason, message: messageOf(refusal), invoice, isRepriceable };
}

/** Nothing is known to be done by this call: tried again, since an amendment reads before it writes. */
function undone(amendment: AmendmentToSend, failure: LedgerFailure, deadlineMs: number): AmendmentAnswer {
  const settlement = failureOutcome(amendment, failure, deadlineMs, false);
  if (settlement.kind === "refused") throw new Error("a refusal of a look-up is no refusal of the amendment");
  return { settlement, failures: [failure] };
}

function again(amendment: AmendmentToSend, reason: string): AmendmentOutcome {
  const delayMs = retryDelayMs(amendment.attempts);
  return { ...held(amendment), kind: "again", delayMs, countsAsAttempt: true, reason };
}

function refused(refusal: Refusal, invoice: SyncedInvoice | null): AmendmentOutcome {
  return { kind: "refused", reason: refusal.reason, message: messageOf(refusal), invoice };
}

function messageOf({ messages }: Refusal): string {
  return messages.join(" ") || "Refused";
}

function syncOf({ status, subtotal, total, amountDue, sent, updatedAt }: LedgerInvoice): SyncedInvoice {
  return { status, subtotal, total, amountDue, sent, updatedAt };
}

/**
 * The lines of the ledger that answer for what is to be changed, where all of it stands there already; null where
 * something does not. A line that one of ours is known by answers for no other.
 */
export function standingLines(
  ours: readonly AmendmentLine[],
  ledgers: readonly LedgerLine[],
): readonly NamedLine[] | null {
  const known = new Set(ours.map((line) => line.ledger_line_id));
  const free = ledgers.filter((line) => !known.has(line.ledgerLineId));
  const named: NamedLine[] = [];
  for (const line of ours.filter(({ amending }) => amending)) {
    const own = ledgers.find(({ ledgerLineId }) => ledgerLineId === line.ledger_line_id);
    const index = free.findIndex((other) => standsAs(other, line));
    const [found] = own === undefined ? free.splice(index, index < 0 ? 0 : 1) : [own];
    if (found === undefined || !standsAs(found, line)) return null;
    named.push({ id: line.id, ledgerLineId: found.ledgerLineId });
  }
  return named;
}

/**
 * Amounts of both have four places. A ledger may keep a text without spaces at its ends or in a row, and its adapter
 * may add the arithmetic in brackets. Facts: facts-ledger section 1.3.
 */
function standsAs(found: LedgerLine, line: AmendmentLine): boolean {
  const { description, amount } = lineOf(line);
  const text = plain(description).slice(0, comparedLength);
  const there = plain(found.description);
  if (amount !== found.amount || !there.startsWith(text)) return false;
  return text.length === comparedLength || /^(?: \(.*\))?$/s.test(there.slice(text.length));
}

function plain(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
