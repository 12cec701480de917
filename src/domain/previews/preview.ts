/**
 * What an operation would do, in memory: its decision applied to the state of the subscription, as
 * the store would write it. A preview has no ids and no numbers of what would be issued.
 */
import { type DueDecision, decideDueBefore } from "../billing/renewal.ts";
import type { ClosedUsage, DueInvoice } from "../billing/renewal-usage.ts";
import type {
  BillingState,
  DeferredLine,
  IssuedInvoice,
  PeriodState,
} from "../model/billing-state.ts";
import type { CreditNoteDraft } from "../model/credit-note.ts";
import type {
  Invoice,
  InvoiceAmendment,
  InvoiceDraft,
  InvoiceLineDraft,
} from "../model/invoice.ts";
import type { Subscription } from "../model/subscription.ts";
import type { OpenUsage } from "../model/usage.ts";
import { formatDecimal } from "../money/decimal.ts";

/**
 * An invoice that would be issued. `id` names it within the preview alone. `deferred`: the deferred
 * charges that it bills. `isDue`: it bills what is overdue, whatever is requested.
 */
export interface PreviewedInvoice {
  readonly id: string;
  readonly draft: InvoiceDraft;
  readonly deferred: readonly DeferredLine[];
  readonly isDue: boolean;
}

/** A credit note that would be issued. `isDue` as in `PreviewedInvoice`. */
export interface PreviewedCreditNote {
  readonly draft: CreditNoteDraft;
  readonly isDue: boolean;
}

/**
 * An invoice that the ledger would be asked to remove. `onlyUnsent`: it is left alone if the ledger
 * has approved or sent it by now.
 */
export interface PreviewedRemoval {
  readonly invoiceId: string;
  readonly onlyUnsent: boolean;
}

/**
 * What only the ledger knows, and a preview takes for granted. `invoices_accepted`: it accepts an
 * invoice that is still to be sent and would be amended. `amendments_accepted`: it still takes each
 * amendment. `removals_accepted`: it removes each invoice.
 */
export type PreviewAssumption = "invoices_accepted" | "amendments_accepted" | "removals_accepted";

/**
 * The outcome of an operation. `was` is the subscription before it, and before what is due; null if
 * there was none. `state` is its state afterwards, with every invoice that would be issued still to
 * be sent.
 */
export interface Preview {
  readonly was: Subscription | null;
  readonly state: BillingState;
  readonly issued: readonly PreviewedInvoice[];
  readonly amended: readonly InvoiceAmendment[];
  readonly removed: readonly PreviewedRemoval[];
  readonly creditNotes: readonly PreviewedCreditNote[];
  readonly assumptions: readonly PreviewAssumption[];
}

/** The number of an invoice that has none yet, as the messages of refusals show it. */
const noNumber = "(new)";

/** Returns the preview of nothing: the state as it is. */
export function unchanged(state: BillingState): Preview {
  const nothing = { issued: [], amended: [], removed: [], creditNotes: [], assumptions: [] };
  return { was: state.subscription, state, ...nothing };
}

/**
 * Bills everything that is due, as each operation does before it decides (STATE-2). Refuses
 * `invalid_state` if usage comes to more than a document can hold.
 */
export function billDue(state: BillingState): Preview {
  let preview = unchanged(state);
  for (;;) {
    const due = decideDueBefore(preview.state);
    if (due === null) return preview;
    preview = applyDue(preview, due);
  }
}

/** Applies a decision about what is due. */
function applyDue(preview: Preview, due: DueDecision): Preview {
  const { state } = preview;
  const periods = periodsAfter(state, due.periods, due.currentPeriod);
  const { index } = periods.period;
  const invoices = state.invoices.filter(({ periodIndex }) => periodIndex >= index);
  const moved = { ...state, ...periods, invoices, subscription: due.subscription };
  return applyCharges({ ...preview, state: moved }, due, { isDue: true, periods: due.periods });
}

/** What a decision bills. */
type Charges = ClosedUsage & { readonly invoices: readonly DueInvoice[] };

/** How charges are applied. `periods` are those that the same decision writes. */
interface ChargesOptions {
  readonly isDue: boolean;
  readonly periods?: readonly PeriodState[];
}

/** Applies invoices, credit notes and closed usage of a decision, in the order of their numbers. */
export function applyCharges(
  preview: Preview,
  charges: Charges,
  { isDue, periods = [] }: ChargesOptions,
): Preview {
  const { state } = preview;
  const { usageBills } = charges;
  const usage = state.usage === null ? null : unbilledAfter(state.usage, charges, periods);
  const issued = charges.invoices.reduce<Preview>((now, invoice) => issue(now, invoice, isDue), {
    ...preview,
    state: { ...state, usage, usageBills },
  });
  return charges.creditNotes.reduce((now, { draft }) => credit(now, draft, isDue), issued);
}

/** Returns the periods of a state after changes: the one with this index and the next one. */
export function periodsAfter(
  { period, nextPeriod }: Pick<BillingState, "period" | "nextPeriod">,
  changed: readonly PeriodState[],
  currentPeriod: number,
): Pick<BillingState, "period" | "nextPeriod"> {
  const known = [period, ...(nextPeriod === null ? [] : [nextPeriod]), ...changed];
  const at = (index: number) => known.findLast((one) => one.index === index);
  const current = at(currentPeriod);
  if (current === undefined) throw new Error(`there is no period ${currentPeriod}`);
  return { period: current, nextPeriod: at(currentPeriod + 1) ?? null };
}

/** Issues an invoice with the deferred charges that it bills. */
export function issue(
  preview: Preview,
  { draft, deferredIds }: Pick<DueInvoice, "draft" | "deferredIds">,
  isDue = false,
): Preview {
  const { state, issued } = preview;
  const id = `new invoice ${issued.length}`;
  const isBilled = (line: DeferredLine) => deferredIds.includes(line.id);
  const isLive = draft.periodIndex >= state.period.index;
  return {
    ...preview,
    issued: [...issued, { id, draft, deferred: state.deferred.filter(isBilled), isDue }],
    state: {
      ...state,
      invoices: isLive ? [toBeSent(id, draft), ...state.invoices] : state.invoices,
      deferred: state.deferred.filter((line) => !isBilled(line)),
    },
  };
}

/** Returns an issued invoice as rules read it before the ledger has it. */
export function toBeSent(id: string, draft: InvoiceDraft): IssuedInvoice {
  return {
    id,
    number: noNumber,
    type: draft.type,
    periodIndex: draft.periodIndex,
    status: "scheduled",
    total: draft.subtotal,
    amountDue: draft.subtotal,
    inLedger: false,
    isAltered: false,
    isPlanLineKnown: false,
  };
}

/** Issues a credit note. */
export function credit(preview: Preview, draft: CreditNoteDraft, isDue = false): Preview {
  return { ...preview, creditNotes: [...preview.creditNotes, { draft, isDue }] };
}

/** Whether a line is the plan line of its invoice, which this one would change. */
export function isRepriced(line: InvoiceLineDraft, planLine: InvoiceLineDraft): boolean {
  return line.kind === "plan" && amendableText(line) !== amendableText(planLine);
}

/** What an amendment may change of a line. */
function amendableText({ units, description, unitPrice, amount }: InvoiceLineDraft): string {
  const price = unitPrice === null ? "" : formatDecimal(unitPrice);
  return [units, description, price, formatDecimal(amount)].join(" ");
}

/** Whether an amendment changes an invoice. One to the units that it bills already does not. */
export function isAmending(
  { lines }: Pick<Invoice, "lines">,
  { planLine, added }: InvoiceAmendment,
): boolean {
  if (added.length > 0) return true;
  return planLine !== null && lines.some((line) => isRepriced(line, planLine));
}

/**
 * Returns the state once the ledger has accepted every invoice that is still to be sent: it has the
 * organisation's first status there, and nothing is paid (DOCUMENT-1).
 */
export function afterPosting(state: BillingState): BillingState {
  const { firstInvoiceStatus: status } = state.organisation;
  const posted = (invoice: IssuedInvoice): IssuedInvoice =>
    invoice.status === "scheduled"
      ? { ...invoice, status, inLedger: true, isPlanLineKnown: true }
      : invoice;
  return { ...state, invoices: state.invoices.map(posted) };
}

/**
 * Returns the usage that no bill has taken. A bill takes a period's usage of a meter as a whole, so
 * that what earlier bills took of the rest does not change.
 */
function unbilledAfter(
  usage: readonly OpenUsage[],
  { usageBills }: Charges,
  periods: readonly PeriodState[],
): readonly OpenUsage[] {
  return usage
    .filter(({ bill }) => bill >= usageBills.billed)
    .map((one) => {
      const begun = periods.findLast(({ index }) => index === one.period.index);
      return { ...one, setupMode: begun?.setupMode ?? one.setupMode };
    });
}
