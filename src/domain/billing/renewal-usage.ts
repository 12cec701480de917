/**
 * Decides when usage is billed and on which document: with the renewal that ends its period, or
 * finally if no other bill follows (USAGE-9).
 */
import { assert } from "../assert.ts";
import type { BillingState, IssuedInvoice } from "../model/billing-state.ts";
import type { CreditNoteDraft } from "../model/credit-note.ts";
import type { InvoiceAmendment, InvoiceDraft } from "../model/invoice.ts";
import type { BilledUsage, OpenUsage, UsageBills } from "../model/usage.ts";
import { equals } from "../money/decimal.ts";
import { takesLines } from "./issued-invoices.ts";
import {
  chargeUsage,
  type UsageChargeFacts,
  type UsageCharges,
  usageInvoice,
} from "./usage-charges.ts";

/** An invoice to issue, with the deferred charges and the usage that it bills. */
export interface DueInvoice {
  readonly draft: InvoiceDraft;
  readonly deferredIds: readonly string[];
  readonly usage: readonly BilledUsage[];
}

/** Usage lines that are added to a draft in the ledger. */
interface JoinedUsage {
  readonly amendment: InvoiceAmendment;
  readonly usage: readonly BilledUsage[];
}

/** A credit note for usage whose price fell. */
interface CreditedUsage {
  readonly draft: CreditNoteDraft;
  readonly usage: readonly BilledUsage[];
}

/**
 * The result of the closed bills, in addition to their invoices. `unbilled` usage is on no
 * document.
 */
export interface ClosedUsage {
  readonly joined: JoinedUsage | null;
  readonly creditNotes: readonly CreditedUsage[];
  readonly unbilled: readonly BilledUsage[];
  readonly usageBills: UsageBills;
}

/** The usage bills of a subscription while due work is computed. Closed bills leave `usage`. */
export interface UsageWalk {
  usage: readonly OpenUsage[] | null;
  bills: UsageBills;
  joined: JoinedUsage | null;
  readonly creditNotes: CreditedUsage[];
  readonly unbilled: BilledUsage[];
}

/** Returns the initial state of the walk. */
export function beginUsage({
  usage,
  usageBills,
}: Pick<BillingState, "usage" | "usageBills">): UsageWalk {
  return { usage, bills: usageBills, joined: null, creditNotes: [], unbilled: [] };
}

/** Returns the result of the walk. */
export function closedUsage({ joined, creditNotes, unbilled, bills }: UsageWalk): ClosedUsage {
  return { joined, creditNotes, unbilled, usageBills: bills };
}

/**
 * Closes the bill of a period that ends because the next one begins, together with earlier open
 * bills. Returns null in Setup Mode: the bills then stay open. Zero usage is not charged, but
 * listed if a document is issued.
 */
export function closePeriodBill(facts: UsageChargeFacts, walk: UsageWalk): UsageCharges | null {
  const { open, billed } = walk.bills;
  const { setupMode } = facts.organisation;
  walk.bills = { open: open + 1, billed: setupMode ? billed : open + 1 };
  return setupMode ? null : take(facts, walk, ({ bill }) => bill <= open);
}

/**
 * Closes every bill of a subscription that is over, up to its last period: no other bill follows.
 * Returns null if there is no usage, and in Setup Mode. Usage after the end stays unbilled.
 */
export function closeLastBill(facts: UsageChargeFacts, walk: UsageWalk): UsageCharges | null {
  assert(walk.usage !== null, "usage is loaded where a bill is closed");
  const taken = usageUntil(facts, walk.usage);
  if (facts.organisation.setupMode || taken.length === 0) return null;
  const last = Math.max(walk.bills.open, ...taken.map(({ bill }) => bill));
  walk.bills = { open: last + 1, billed: last + 1 };
  return take(facts, walk, (one) => taken.includes(one));
}

/** Returns the usage of the period and of earlier ones. */
export function usageUntil(
  { period }: Pick<UsageChargeFacts, "period">,
  usage: readonly OpenUsage[],
): readonly OpenUsage[] {
  return usage.filter((one) => one.period.index <= period.index);
}

function take(
  facts: UsageChargeFacts,
  walk: UsageWalk,
  isTaken: (one: OpenUsage) => boolean,
): UsageCharges {
  assert(walk.usage !== null, "usage is loaded where a bill is closed");
  const charges = chargeUsage(facts, walk.usage.filter(isTaken));
  walk.usage = walk.usage.filter((one) => !isTaken(one));
  walk.unbilled.push(...charges.unpriced);
  if (charges.creditNote !== null)
    walk.creditNotes.push({ draft: charges.creditNote, usage: charges.credited });
  return charges;
}

/**
 * Returns the invoice of type `usage` for these charges. Returns null if there is nothing to
 * charge: zero usage is then on no document (USAGE-9).
 */
export function billSeparately(
  facts: UsageChargeFacts,
  walk: UsageWalk,
  charges: UsageCharges | null,
): DueInvoice | null {
  if (charges === null) return null;
  const usage = charges.lines.map(({ billed }) => billed);
  if (charges.isCharged)
    return { draft: usageInvoice(facts, charges.lines), deferredIds: [], usage };
  walk.unbilled.push(...usage);
  return null;
}

/** Adds the charges to a renewal invoice that was issued ahead (USAGE-9). */
export function joinRenewal(walk: UsageWalk, charges: UsageCharges, { id }: IssuedInvoice): void {
  const usage = charges.lines.map(({ billed }) => billed);
  if (!charges.isCharged) walk.unbilled.push(...usage);
  else {
    const added = charges.lines.map(({ line }) => line);
    walk.joined = { amendment: { invoiceId: id, planLine: null, added, onlyDraft: true }, usage };
  }
}

/**
 * Whether the usage may be added to the invoice now: it takes the lines, and no other job of the
 * subscription runs (USAGE-9).
 */
export function isJoinable(
  invoice: IssuedInvoice,
  { lines }: Pick<UsageCharges, "lines">,
  { running }: Pick<BillingState, "running">,
): boolean {
  const added = lines.map(({ line }) => line);
  return running === null && equals(invoice.total, invoice.amountDue) && takesLines(invoice, added);
}
