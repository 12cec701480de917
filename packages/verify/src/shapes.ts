/** The members of explanations and of the API's objects that are held against each other. */

/** A line of a document. */
export interface Line {
  readonly id: string;
  readonly amount: string;
  readonly units?: number | null;
  readonly unit_price?: string | null;
  readonly proration?: { readonly from_units: number } | null;
}

/** An invoice or credit note as its list shows it. */
export interface Listed {
  readonly object: string;
  readonly id: string;
  readonly number: string;
  readonly subscription: string;
  readonly status: string;
  readonly currency: string;
  readonly subtotal: string;
  readonly total: string;
  readonly lines: readonly Line[];
}

/** The prices of a plan, or of a meter on a plan, which has no free units. */
export interface Prices {
  readonly type: string;
  readonly free_units?: number;
  readonly price: string;
  readonly tiers: readonly Readonly<Record<"up_to" | "unit_price" | "flat_price", unknown>>[];
}

/** A price sheet of an explanation. */
export interface Sheet extends Prices {
  readonly name: string;
  readonly plan: string;
  readonly meter?: string;
  readonly subscription?: string;
}

/** Where a fact comes from. */
export interface Source {
  readonly object: string;
  readonly id?: string;
  readonly field: string;
  readonly period?: number;
  readonly meter?: string;
  readonly bill?: number;
  readonly events?: number;
}

/** A fact of a line. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  readonly source: Source;
}

/** A verified explanation. */
export interface Explanation {
  readonly object: string;
  readonly id: string;
  readonly number: string;
  readonly currency: string;
  readonly subtotal: string;
  readonly ledger?: { readonly total: string };
  readonly sheets: readonly Sheet[];
  readonly lines: readonly {
    readonly line: string;
    readonly rule: string;
    readonly amount: string;
    readonly facts: readonly Fact[];
    readonly was?: { readonly until: string; readonly facts: readonly Fact[] };
    readonly reissues?: { readonly invoice: string; readonly line: string };
  }[];
}

/** A subscription. */
export interface Subscription {
  readonly plan: string;
  readonly units: number;
  readonly discount_percent: string;
}

/** A change of units. */
export interface UnitChange {
  readonly id: string;
  readonly from_units: number;
  readonly units: number;
  readonly effective_date: string | null;
  readonly invoice: string | null;
  readonly renewal_invoice: string | null;
  readonly created: string;
}

/** A billing period. */
export interface Period {
  readonly index: number;
  readonly start: string;
  readonly end: string;
  readonly setup_mode: boolean;
  readonly price_override: string | null;
}

/** Usage of one meter in one period on a bill. */
export interface UsageBill extends Readonly<Record<"quantity" | "before" | "priced", string>> {
  readonly bill: number;
  readonly period_index: number;
  readonly meter: string;
  readonly events: number;
}
