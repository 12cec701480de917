/**
 * What the end of the current period bills: the renewal with deferred lines and the usage so far,
 * by the same step that performs it (PREVIEW-5).
 */

import { isOver, nextDueDate, willRenew } from "../billing/due-date.ts";
import { issuedAhead } from "../billing/issued-invoices.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import type { BillingState, IssuedInvoice } from "../model/billing-state.ts";
import type { CreditNoteDraft } from "../model/credit-note.ts";
import type { InvoiceDraft, InvoicePeriod } from "../model/invoice.ts";
import { afterPosting, billDue } from "./preview.ts";

/**
 * What is billed on `date`, the renewal date. `period` begins then; null if the subscription does
 * not renew. `ahead`: the renewal invoice that exists already. `invoices` are still to be issued,
 * by that day at the latest.
 */
export interface Upcoming {
  readonly date: CivilDate;
  readonly period: InvoicePeriod | null;
  readonly ahead: IssuedInvoice | null;
  readonly invoices: readonly InvoiceDraft[];
  readonly creditNotes: readonly CreditNoteDraft[];
}

/**
 * Returns what the end of the period bills at the current units. Null once the subscription is
 * over. Everything that is due must be billed before. Refuses `invalid_state` if the usage so far
 * comes to more than a document can hold.
 */
export function decideUpcoming(state: BillingState): Upcoming | null {
  const { subscription } = state;
  if (isOver(subscription)) return null;
  const date = subscription.renewalDate;
  const invoices: InvoiceDraft[] = [];
  const creditNotes: CreditNoteDraft[] = [];
  // The ledger has decided and other operations are over by then.
  let now: BillingState = { ...state, running: null };
  // Each step on its own day: usage joins no renewal invoice that is issued ahead (USAGE-9).
  while (now.subscription.renewalDate === date && !isOver(now.subscription)) {
    const step = billDue({ ...afterPosting(now), today: nextDueDate(now) ?? date });
    invoices.push(...step.issued.map(({ draft }) => draft));
    creditNotes.push(...step.creditNotes.map(({ draft }) => draft));
    now = step.state;
  }
  const { start, end } = now.period;
  return {
    date,
    period: willRenew(subscription) ? { start, end } : null,
    ahead: willRenew(subscription) ? issuedAhead(state) : null,
    invoices,
    creditNotes,
  };
}
