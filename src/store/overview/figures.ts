/**
 * The figures of an organisation, as a worker stores them. They are read by processes of the
 * previous and of the next version too: a member is only ever added, and read as one that may be
 * missing. ADMIN-19
 */
import type { DocumentState } from "../../domain/billing/retry-document.ts";
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import type { SubscriptionStatus } from "../../domain/model/subscription.ts";

/** An amount as decimal text, in a currency. */
export interface CurrencyAmount {
  readonly currency: string;
  readonly amount: string;
}

/** The value of a month of subscriptions of a currency. */
export interface RecurringValue {
  readonly currency: string;
  readonly perMonth: string;
  readonly subscriptions: number;
}

/** A number of renewals and what they come to. */
export interface RenewalFigures {
  readonly count: number;
  readonly values: readonly CurrencyAmount[];
}

/** The renewals of a day. */
export interface RenewalDay {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly due: RenewalFigures;
  readonly billed: RenewalFigures;
  readonly failed: RenewalFigures;
  /** Missing in the figures of a previous version. */
  readonly ending?: RenewalFigures;
}

/** What subscriptions come to. */
export interface SubscriptionFigures {
  readonly recurring: readonly RecurringValue[];
  readonly statuses: Partial<Readonly<Record<SubscriptionStatus, number>>>;
  /** Those that began, and that ended, within 30 days. */
  readonly started: number;
  readonly ended: number;
  readonly parked: number;
}

/** Documents by state, and those that the ledger does not have yet. */
export interface DocumentFigures {
  readonly states: Partial<Readonly<Record<DocumentState, number>>>;
  readonly statuses: Partial<Readonly<Record<DocumentStatus, number>>>;
  /** `oldest` is an instant of ISO 8601. */
  readonly notInLedger: { readonly count: number; readonly oldest: string | null };
}

/** A webhook endpoint. */
export interface EndpointFigures {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly failed: number;
  readonly waiting: number;
  readonly failingSince: string | null;
}

/** All figures of an organisation. */
export interface Figures {
  /** The organisation's day, `YYYY-MM-DD`. */
  readonly today: string;
  readonly subscriptions: SubscriptionFigures;
  readonly renewals: readonly RenewalDay[];
  readonly documents: DocumentFigures;
  readonly endpoints: readonly EndpointFigures[];
}
