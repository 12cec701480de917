/**
 * When usage is billed: with the renewal that ends its period, or for good where no other bill follows; and on which document.
 * decisions §6.
 */
import { strict as assert } from "node:assert";
import { equals } from "../money/decimal.ts";
import type { BillingState, IssuedInvoice } from "../subscriptions/billing-state.ts";
import type { InvoiceAmendment } from "../subscriptions/change-units.ts";
import {
  type BilledUsage,
  chargeUsage,
  type OpenUsage,
  type UsageBills,
  type UsageCharges,
  type UsageFacts,
  usageInvoice,
} from "../usage/rating.ts";
import type { CreditNoteDraft } from "./credit-note.ts";
import type { InvoiceDraft } from "./invoice.ts";

/** An invoice to raise, with the deferred charges and the usage that it bills. */
export interface DueInvoice {
  readonly draft: InvoiceDraft;
  readonly deferredIds: readonly string[];
  readonly usage: readonly BilledUsage[];
}

/** Usage lines that join a draft which the ledger has. */
export interface JoinedUsage {
  readonly amendment: InvoiceAmendment;
  readonly usage: readonly BilledUsage[];
}

/** A credit note for usage whose price fell. */
export interface CreditedUsage {
  readonly draft: CreditNoteDraft;
  readonly usage: readonly BilledUsage[];
}

/** What closed bills come to, beside their invoices: `unbilled` stands on no document. */
export interface ClosedUsage {
  readonly joined: JoinedUsage | null;
  readonly creditNotes: readonly CreditedUsage[];
  readonly unbilled: readonly BilledUsage[];
  readonly usageBills: UsageBills;
}

/** The bills of a subscription on the way through what is due: those that are taken leave `usage`. */
export interface UsageWalk {
  usage: readonly OpenUsage[] | null;
  bills: UsageBills;
  joined: JoinedUsage | null;
  readonly creditNotes: CreditedUsage[];
  readonly unbilled: BilledUsage[];
}

/** The beginning of the walk. */
export function beginUsage({ usage, usageBills }: Pick<BillingState, "usage" | "usageBills">): UsageWalk {
  return { usage, bills: usageBills, joined: null, creditNotes: [], unbilled: [] };
}

/** What the walk came to. */
export function closedUsage({ joined, creditNotes, unbilled, bills }: UsageWalk): ClosedUsage {
  return { joined, creditNotes, unbilled, usageBills: bills };
}

/**
 * Closes the bill of a period that ends because the next one begins, with those that wait; null in Setup Mode, where they wait on.
 * What is zero is charged by nobody, but told where a document is raised.
 */
export function closePeriodBill(facts: UsageFacts, walk: UsageWalk): UsageCharges | null {
  const { open, billed } = walk.bills;
  const { setupMode } = facts.organisation;
  walk.bills = { open: open + 1, billed: setupMode ? billed : open + 1 };
  return setupMode ? null : take(facts, walk, ({ bill }) => bill <= open);
}

/**
 * Closes every bill of one that is over, up to its last period: no other follows. Null where nothing is reported, and in Setup Mode. What
 * happened after its end stays unbilled. decisions §4.
 */
export function closeLastBill(facts: UsageFacts, walk: UsageWalk): UsageCharges | null {
  assert(walk.usage !== null, "usage is loaded where a bill is closed");
  const taken = usageUntil(facts, walk.usage);
  if (facts.organisation.setupMode || taken.length === 0) return null;
  const last = Math.max(walk.bills.open, ...taken.map(({ bill }) => bill));
  walk.bills = { open: last + 1, billed: last + 1 };
  return take(facts, walk, (one) => taken.includes(one));
}

/** Usage of the period and of earlier ones. */
export function usageUntil({ period }: Pick<UsageFacts, "period">, usage: readonly OpenUsage[]): readonly OpenUsage[] {
  return usage.filter((one) => one.period.index <= period.index);
}

function take(facts: UsageFacts, walk: UsageWalk, isTaken: (one: OpenUsage) => boolean): UsageCharges {
  assert(walk.usage !== null, "usage is loaded where a bill is closed");
  const charges = chargeUsage(facts, walk.usage.filter(isTaken));
  walk.usage = walk.usage.filter((one) => !isTaken(one));
  walk.unbilled.push(...charges.unpriced);
  if (charges.creditNote !== null) walk.creditNotes.push({ draft: charges.creditNote, usage: charges.credited });
  return charges;
}

/**
 * The invoice of type `usage` for these charges, null where there is nothing to charge: then nothing tells of what is zero.
 * decisions §6.
 */
export function billApart(facts: UsageFacts, walk: UsageWalk, charges: UsageCharges | null): DueInvoice | null {
  if (charges === null) return null;
  const usage = charges.lines.map(({ billed }) => billed);
  if (charges.isCharged) return { draft: usageInvoice(facts, charges.lines), deferredIds: [], usage };
  walk.unbilled.push(...usage);
  return null;
}

/** Puts the charges on a renewal invoice that was raised ahead. decisions §6. */
export function joinRenewal(walk: UsageWalk, charges: UsageCharges, { id }: IssuedInvoice): void {
  const usage = charges.lines.map(({ billed }) => billed);
  if (!charges.isCharged) walk.unbilled.push(...usage);
  else {
    const added = charges.lines.map(({ line }) => line);
    walk.joined = { amendment: { invoiceId: id, planLine: null, added, onlyDraft: true }, usage };
  }
}

/** Whether usage lines may join it now: a draft in the ledger that nothing else is being done to. decisions §6. */
export function isJoinable(invoice: IssuedInvoice, { running }: Pick<BillingState, "running">): boolean {
  return running === null && invoice.status === "draft" && invoice.inLedger && equals(invoice.total, invoice.amountDue);
}
