/**
 * The facts of a line, as they are stored: short names, because every line has them. Numbers are
 * text, counts and units are JSON integers, and nothing is personal (MONEY-9). `S` is the price
 * sheet, or its name once it is stored.
 */
import type { CivilDate } from "../calendar/civil-date.ts";
import { type Decimal, formatShort } from "../money/decimal.ts";
import type { PriceSheet } from "./price-sheet.ts";

/** What a line may say in addition: `z` names the invoice and the line that it reissues. */
interface Reissuing {
  readonly z?: readonly [invoiceId: string, lineId: string];
}

/** The line before its amendment: `u` units by change `c`, amount `m`, until the instant `at`. */
export interface PlanLineBefore {
  readonly u: number;
  readonly c?: string;
  readonly m: string;
  readonly at: string;
}

/**
 * A whole period: `u` units (absent on a flat fee) by change `c`, discount `d` in percent (absent:
 * 0), and what an amended line was, `w`.
 */
export interface PlanFacts<S = PriceSheet> extends Reissuing {
  readonly r: "flat_fee/1" | "plan/1";
  readonly s: S;
  readonly u?: number;
  readonly d?: string;
  readonly c?: string;
  readonly w?: PlanLineBefore;
}

/** A one-off charge: `q` times price `m` of charge `g`; `a` is 1 if that price was requested. */
export interface ChargeFacts extends Reissuing {
  readonly r: "charge/1";
  readonly q: number;
  readonly m: string;
  readonly g: string;
  readonly a?: 1;
}

/**
 * A change from `f` to `t` units by change `c`, with discount `d`, from the effective date `e` to
 * the end of period `x`, whose days are `p`. `b` set the units `f`, as `billedByOf` returns it.
 */
export interface ProrationFacts<S = PriceSheet> extends Reissuing {
  readonly r: "proration/1";
  readonly s: S;
  readonly f: number;
  readonly t: number;
  readonly d?: string;
  readonly p: readonly [start: CivilDate, end: CivilDate];
  readonly e: CivilDate;
  readonly x?: number;
  readonly c?: string;
  readonly b?: string;
}

/**
 * Usage of period `x` on bill `i`: quantity `q` of `n` events, after `b` on earlier bills, of which
 * their amounts cover `k`.
 */
export interface UsageFacts<S = PriceSheet> extends Reissuing {
  readonly r: "usage/1";
  readonly s: S;
  readonly q: string;
  readonly b: string;
  readonly k: string;
  readonly n: number;
  readonly i: number;
  readonly x: number;
}

/** A line of another document: its amount as shown there, and its id. */
export type BilledLine = readonly [amount: string, id?: string];

/**
 * A line `l` that is credited, less what the lines `o` of the other sign leave of the lines `y`
 * before it.
 */
export interface ReversalCreditFacts extends Reissuing {
  readonly r: "reversal_credit/1";
  readonly l: BilledLine;
  readonly y: readonly BilledLine[];
  readonly o: readonly BilledLine[];
}

/** The lines `o` of credit notes that are charged back, less the charged lines `y`. */
export interface ReversalChargeFacts extends Reissuing {
  readonly r: "reversal_charge/1";
  readonly y: readonly BilledLine[];
  readonly o: readonly BilledLine[];
}

/** The facts of any line. */
export type LineFacts<S = PriceSheet> =
  | PlanFacts<S>
  | ChargeFacts
  | ProrationFacts<S>
  | UsageFacts<S>
  | ReversalCreditFacts
  | ReversalChargeFacts;

/** Facts to store: their text, and the sheet that they name, null if they have none. */
export interface FactsToStore {
  readonly text: string;
  readonly sheet: { readonly name: string; readonly sheet: PriceSheet } | null;
}

/** Returns the facts as they are stored, with the sheet's name in its place. */
export function storedFacts(facts: LineFacts, nameOf: (sheet: PriceSheet) => string): FactsToStore {
  if (!("s" in facts)) return { text: JSON.stringify(facts), sheet: null };
  const name = nameOf(facts.s);
  return { text: JSON.stringify({ ...facts, s: name }), sheet: { name, sheet: facts.s } };
}

/** Reads stored facts. `sheetOf` finds the sheet of a name. */
export function readFacts(text: string, sheetOf: (name: string) => PriceSheet): LineFacts {
  const facts: LineFacts<string> = JSON.parse(text);
  return "s" in facts ? { ...facts, s: sheetOf(facts.s) } : facts;
}

/** A plan line until it is amended. `nameOf` names price sheets. */
interface LineToAmend<S> {
  readonly facts: LineFacts<S>;
  readonly amount: Decimal;
  readonly until: Date;
  readonly nameOf: (sheet: S) => string;
}

/**
 * Returns the facts of an amended plan line, with what it was. A line keeps one version. Prices and
 * discount of a subscription never change: a line of another price is not what it was before.
 */
export function amendedFacts<S>(
  facts: LineFacts<S>,
  { facts: before, amount, until, nameOf }: LineToAmend<S>,
): LineFacts<S> {
  if (facts.r !== "plan/1" || before.r !== "plan/1" || before.u === undefined) return facts;
  const { s, d, u, c } = before;
  if (nameOf(s) !== nameOf(facts.s) || d !== facts.d) return facts;
  const at = `${until.toISOString().slice(0, 19)}Z`;
  const w = { u, ...(c !== undefined && { c }), m: formatShort(amount), at };
  return { ...facts, w };
}

/** Returns the facts of a line that is issued again: those of the line, which they name. */
export function reissuedFacts<F extends LineFacts>(facts: F, invoiceId: string, lineId: string): F {
  return { ...facts, z: [invoiceId, lineId] };
}
