/** The members of the API's objects that a person reads here. Amounts are decimals as text. */
import type { LineHeading } from "../../../../../src/domain/explanation/for-person.ts";

/** The days of a period. The period ends before `end`. */
interface Days {
  readonly start: string;
  readonly end: string;
}

/** An explanation, with its JSON as REST answers it. */
export interface Explained {
  readonly body: string;
}

/** A line of a document. */
export interface ShownLine extends LineHeading {
  readonly description: string;
  readonly amount: string;
}

/** An invoice. */
export interface ShownInvoice {
  readonly id: string;
  readonly number: string;
  readonly reference?: string;
  readonly type: string;
  readonly customer: string;
  readonly subscription: string;
  readonly status: string;
  readonly currency: string;
  readonly subtotal: string;
  readonly total: string;
  readonly amount_due: string;
  readonly issue_date: string;
  readonly due_date?: string;
  readonly period?: Days;
  readonly sent: boolean;
  readonly lines: readonly ShownLine[];
  readonly ledger?: { readonly invoice_id?: string; readonly sync_error?: string };
  readonly ledger_url?: string;
  readonly ledger_number?: string;
}

/** A credit note. */
export interface ShownCreditNote {
  readonly id: string;
  readonly number: string;
  readonly reference?: string;
  readonly customer: string;
  readonly subscription: string;
  readonly status: string;
  readonly currency: string;
  readonly credit_note_date: string;
  readonly subtotal: string;
  readonly total: string;
  readonly remaining_credit: string;
  readonly allocation_status: string;
  readonly lines: readonly ShownLine[];
  readonly allocations: readonly {
    readonly invoice: string;
    readonly amount: string;
    readonly status: string;
  }[];
  readonly ledger?: { readonly credit_note_id?: string; readonly sync_error?: string };
  readonly ledger_url?: string;
  readonly ledger_number?: string;
}

/** A subscription. */
export interface ShownSubscription {
  readonly id: string;
  readonly customer: string;
  readonly customer_code: string;
  readonly plan: string;
  readonly status: string;
  readonly currency: string;
  readonly interval?: { readonly unit: string; readonly count: number };
  readonly timezone: string;
  readonly start_date: string;
  readonly renewal_date: string;
  readonly end_date?: string;
  readonly units: number;
  readonly minimum_units: number;
  readonly discount_percent: string;
  readonly cancel_at_period_end: boolean;
  readonly end_after_cycles?: number;
  readonly label: string;
  readonly invoice_reference: string;
  readonly renewal_value: string;
  readonly created: string;
}

/** An invoice of a preview. `invoice` is the id of one that exists. */
export interface PreviewedInvoice {
  readonly invoice?: string;
  readonly number?: string;
  readonly type: string;
  readonly currency: string;
  readonly issue_date: string;
  readonly due_date?: string;
  readonly lines: readonly ShownLine[];
  readonly subtotal: string;
  readonly overdue: boolean;
  readonly explanation?: Explained;
}

/** A credit note of a preview. */
export interface PreviewedCreditNote {
  readonly currency: string;
  readonly credit_note_date: string;
  readonly lines: readonly ShownLine[];
  readonly subtotal: string;
  readonly overdue: boolean;
  readonly explanation?: Explained;
}

/** An invoice that the ledger would be asked to remove. */
export interface PreviewedRemoval {
  readonly number?: string;
  readonly type: string;
  readonly subtotal: string;
  readonly only_if_unsent: boolean;
}

/** What the end of the current period bills. */
export interface Upcoming {
  readonly currency: string;
  readonly renewal_date: string;
  readonly period?: Days;
  readonly issued: boolean;
  readonly lines: readonly ShownLine[];
  readonly credits: readonly ShownLine[];
  readonly subtotal: string;
  readonly explanations: readonly Explained[];
}

/** The preview of an operation on a subscription. */
export interface SubscriptionPreview {
  readonly subscription?: ShownSubscription;
  readonly issued_invoices: readonly PreviewedInvoice[];
  readonly amended_invoices: readonly PreviewedInvoice[];
  readonly removed_invoices: readonly PreviewedRemoval[];
  readonly credit_notes: readonly PreviewedCreditNote[];
  readonly deferred_lines: readonly ShownLine[];
  readonly upcoming_invoice?: Upcoming;
  readonly assumptions: readonly string[];
  /** What the platform is told by webhooks. */
  readonly events: readonly { readonly type: string; readonly count: number }[];
}
