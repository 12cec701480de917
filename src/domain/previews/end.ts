/**
 * Previews an end: the invoices that the ledger would be asked to remove, one after the other, and
 * what is issued once all are removed (PREVIEW-1, PREVIEW-4).
 */
import type { BillingState, DeferredLine, IssuedInvoice } from "../model/billing-state.ts";
import { decideEnd, decideEnded, type EndFacts, type EndRequest } from "../subscriptions/end.ts";
import {
  decideReversal,
  type NextPeriodLines,
  noNextPeriodLines,
} from "../subscriptions/reversal.ts";
import { applyCharges, credit, issue, type Preview, toBeSent } from "./preview.ts";

/**
 * The facts of an end's preview, of the stored documents. `deferred`: the deferred charges that
 * wait or are on the renewal invoice that was issued ahead, oldest first.
 */
export interface EndPreviewFacts extends Required<Omit<EndFacts, "state">> {
  readonly deferred: readonly DeferredLine[];
}

/** Previews an end. Refuses as `decideEnd` does. */
export function previewEnd(before: Preview, facts: EndPreviewFacts, request: EndRequest): Preview {
  const { state } = before;
  // Those that the preview has issued come first, the newest first. No customer has them.
  const issued = before.issued.map(({ id, draft }) => ({ ...toBeSent(id, draft), sent: false }));
  const invoices = [...issued.reverse(), ...facts.invoices];
  const decision = decideEnd({ state, invoices, next: facts.next }, request);
  if (decision.kind === "unchanged") return before;
  const { removals, onlyUnsent } = decision;
  const next = without(facts.next, removals);
  const ahead = state.invoices.find(({ id }) => id === removals[0] && isAhead(state, id));
  const reversed = ahead === undefined ? before : removeAhead(before, ahead, { ...facts, next });
  const rest = {
    ...reversed.state,
    invoices: reversed.state.invoices.filter(({ id }) => !removals.includes(id)),
  };
  // What the reversal left of the next period comes to zero.
  const ended = decideEnded(rest, request.when, ahead === undefined ? next : noNextPeriodLines);
  const over: Preview = {
    ...reversed,
    state: { ...rest, subscription: ended.subscription },
    removed: removals.map((invoiceId) => ({
      invoiceId,
      onlyUnsent: onlyUnsent.includes(invoiceId),
    })),
    assumptions: removals.length === 0 ? [] : ["removals_accepted"],
  };
  return applyCharges(over, ended, { isDue: false });
}

/** Whether the invoice bills a period that never begins once the subscription is over. */
function isAhead({ invoices, period, subscription }: BillingState, id: string): boolean {
  const invoice = invoices.find((one) => one.id === id);
  if (invoice?.type === "renewal") return invoice.periodIndex > period.index;
  return invoice?.type === "first" && subscription.status === "pending";
}

/**
 * Removes that invoice. The deferred charges of a renewal invoice wait again, and the rest of its
 * period is reversed at this moment (END-7).
 */
function removeAhead(
  before: Preview,
  { id, type }: IssuedInvoice,
  { deferred, next }: Pick<EndPreviewFacts, "deferred" | "next">,
): Preview {
  const { state, issued } = before;
  const issuedInvoice = issued.find((one) => one.id === id);
  const waiting =
    type !== "renewal"
      ? state.deferred
      : issuedInvoice === undefined
        ? deferred
        : deferredAgain(state, issuedInvoice);
  const invoices = state.invoices.filter((one) => one.id !== id);
  const endRemovedRenewal = type === "renewal";
  const removed = {
    ...before,
    state: { ...state, invoices, deferred: waiting, endRemovedRenewal },
  };
  const { invoice, creditNote } = decideReversal(removed.state, next);
  const charged = invoice === null ? removed : issue(removed, invoice);
  return creditNote === null ? charged : credit(charged, creditNote);
}

/** The charges of an invoice that the preview issued are older than those that wait since. */
function deferredAgain(
  { deferred }: BillingState,
  issuedInvoice: Preview["issued"][number],
): readonly DeferredLine[] {
  return [...issuedInvoice.deferred, ...deferred];
}

function without({ lines, ...rest }: NextPeriodLines, ids: readonly string[]): NextPeriodLines {
  return {
    ...rest,
    lines: lines.filter(({ invoiceId }) => invoiceId === null || !ids.includes(invoiceId)),
  };
}
