/**
 * What the end of the current period bills: the renewal with deferred lines and the usage so far,
 * by the same step that performs it (PREVIEW-5).
 */

import { isOver } from "../billing/due-date.ts";
import { issuedAhead } from "../billing/issued-invoices.ts";
import { decideDue } from "../billing/renewal.ts";
import { willRenew } from "../billing/renewal-value.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import type { BillingState, IssuedInvoice } from "../model/billing-state.ts";
import type { CreditNoteDraft } from "../model/credit-note.ts";
import type { InvoiceLineDraft, InvoicePeriod } from "../model/invoice.ts";
import { afterPosting } from "./preview.ts";

/**
 * What is billed on `date`, the renewal date. `period` begins then; null if the subscription does
 * not renew. `ahead`: the renewal invoice that exists already. `lines` are those that are still to
 * be billed, by that day at the latest.
 */
export interface Upcoming {
  readonly date: CivilDate;
  readonly period: InvoicePeriod | null;
  readonly ahead: IssuedInvoice | null;
  readonly lines: readonly InvoiceLineDraft[];
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
  // The ledger has decided and other operations are over by then.
  const due = decideDue({ ...afterPosting(state), running: null, today: date });
  const renews = willRenew(subscription);
  const begun = due?.periods.find(({ index }) => index === state.period.index + 1);
  const next = begun ?? state.nextPeriod;
  return {
    date,
    period: renews && next !== null ? { start: next.start, end: next.end } : null,
    ahead: renews ? issuedAhead(state) : null,
    lines: [
      ...(due?.invoices ?? []).flatMap(({ draft }) => draft.lines),
      ...(due?.joined?.amendment.added ?? []),
    ],
    creditNotes: (due?.creditNotes ?? []).map(({ draft }) => draft),
  };
}
