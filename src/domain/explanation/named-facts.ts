/** The facts of a line by the names of its formula, each with its unit and where it comes from. */
import type { CivilDate } from "../calendar/civil-date.ts";
import { type Decimal, decimalOf, parseDecimal, ZERO } from "../money/decimal.ts";
import type {
  BilledLine,
  ChargeFacts,
  LineFacts,
  PlanFacts,
  ProrationFacts,
  UsageFacts,
} from "./facts.ts";
import type { PriceSheet } from "./price-sheet.ts";
import { placesOf, reckon, type TracedStep } from "./reckon.ts";
import { creditStep, rules } from "./rules.ts";

/** What a fact counts. `money` is an amount in the document's currency. */
export type FactUnit = "units" | "quantity" | "percent" | "money" | "date" | "price_sheet";

/**
 * The object and member that a fact comes from. A subscription, its periods and its usage bills
 * have its id, which the facts do not repeat. `period` is the index of a period, `bill` the number
 * of a usage bill, `events` how many were summed.
 */
export interface Source {
  readonly object: string;
  readonly id?: string;
  readonly field: string;
  readonly period?: number;
  readonly meter?: string;
  readonly bill?: number;
  readonly events?: number;
}

/** A fact. */
export interface NamedFact {
  readonly name: string;
  readonly value: Decimal | CivilDate | PriceSheet;
  readonly unit: FactUnit;
  readonly source: Source;
}

/** The kind of the document that a line stands on. */
export type DocumentObject = "invoice" | "credit_note";

/**
 * Returns the amount of a line by its facts. On a credit note a proration or usage below zero is
 * the credit above zero.
 */
export function amountOf(
  facts: LineFacts,
  currency: string,
  object: DocumentObject = "invoice",
  trace?: TracedStep[],
): Decimal {
  const isNegated =
    object === "credit_note" && (facts.r === "proration/1" || facts.r === "usage/1");
  const formula = isNegated ? [...rules[facts.r], creditStep] : rules[facts.r];
  const values = namedFacts(facts).map(({ name, value }) => [name, value] as const);
  return reckon(formula, { ...Object.fromEntries(values), places: placesOf(currency) }, trace);
}

/** Returns the facts of a line, in the order in which they are shown. */
export function namedFacts(facts: LineFacts): readonly NamedFact[] {
  switch (facts.r) {
    case "flat_fee/1":
    case "plan/1":
      return planFacts(facts);
    case "charge/1":
      return chargeFacts(facts);
    case "proration/1":
      return prorationFacts(facts);
    case "usage/1":
      return usageFacts(facts);
    case "reversal_credit/1":
      return [
        billedFact("billed", facts.l, "invoice_line"),
        ...billedFacts("opposite", facts.o, "credit_note_line"),
        ...billedFacts("earlier", facts.y, "invoice_line"),
      ];
    case "reversal_charge/1":
      return [
        ...billedFacts("credited", facts.o, "credit_note_line"),
        ...billedFacts("charged", facts.y, "invoice_line"),
      ];
  }
}

function planFacts({ s, u, d, c }: PlanFacts): readonly NamedFact[] {
  const priced = [discountFact(d), sheetFact(s)];
  return u === undefined ? priced : [unitsFact("units", u, c), ...priced];
}

function chargeFacts({ q, m, g, a }: ChargeFacts): readonly NamedFact[] {
  const own = { object: "subscription", field: "charges" };
  const source = a === 1 ? own : { object: "charge", id: g, field: "price" };
  return [
    { name: "quantity", value: decimalOf(q), unit: "quantity", source: own },
    { name: "price", value: parseDecimal(m), unit: "money", source },
  ];
}

/** What sets the billed units of a period without a document that bills them. */
const events = new Set(["setup_mode", "removal"]);

function prorationFacts({ s, f, t, d, p, e, x, c, b }: ProrationFacts): readonly NamedFact[] {
  const [start, end] = p;
  const at = (field: string): Source => ({
    object: "period",
    field,
    ...(x !== undefined && { period: x }),
  });
  // A change that bills the whole of a period counts from its first day, whatever its own date.
  const from = e === start ? at("start") : changeOf(c, "effective_date");
  return [
    b === undefined || events.has(b)
      ? { name: "from_units", value: decimalOf(f), unit: "units", source: at(b ?? "billed_units") }
      : unitsFact("from_units", f, b === "creation" ? undefined : b),
    unitsFact("to_units", t, c),
    { name: "effective_date", value: e, unit: "date", source: from },
    { name: "period_start", value: start, unit: "date", source: at("start") },
    { name: "period_end", value: end, unit: "date", source: at("end") },
    discountFact(d),
    sheetFact(s),
  ];
}

function usageFacts({ s, q, b, k, n, i, x }: UsageFacts): readonly NamedFact[] {
  const fact = (name: string, text: string, more: Partial<Source> = {}): NamedFact => ({
    name,
    value: parseDecimal(text),
    unit: "quantity",
    source: {
      object: "usage_bill",
      field: name,
      period: x,
      ...(s.meterId !== null && { meter: s.meterId }),
      bill: i,
      ...more,
    },
  });
  return [fact("quantity", q, { events: n }), fact("before", b), fact("priced", k), sheetFact(s)];
}

function unitsFact(name: string, units: number, changeId: string | undefined): NamedFact {
  const source =
    changeId === undefined
      ? { object: "subscription", field: "units" }
      : changeOf(changeId, "units");
  return { name, value: decimalOf(units), unit: "units", source };
}

/** In a preview the change has no id. */
function changeOf(id: string | undefined, field: string): Source {
  return { object: "unit_change", ...(id !== undefined && { id }), field };
}

function discountFact(percent: string | undefined): NamedFact {
  const value = percent === undefined ? ZERO : parseDecimal(percent);
  const source = { object: "subscription", field: "discount_percent" };
  return { name: "discount_percent", value, unit: "percent", source };
}

function sheetFact(sheet: PriceSheet): NamedFact {
  const { isOverride, meterId, planId } = sheet;
  const plan = { object: "plan", id: planId, field: "price" };
  const meter = meterId === null ? plan : { ...plan, field: "meters", meter: meterId };
  const source = isOverride ? { object: "subscription", field: "price_override" } : meter;
  return { name: "sheet", value: sheet, unit: "price_sheet", source };
}

function billedFacts(
  name: string,
  lines: readonly BilledLine[],
  object: string,
): readonly NamedFact[] {
  return lines.map((line, index) => billedFact(`${name}_${index + 1}`, line, object));
}

function billedFact(name: string, [amount, id]: BilledLine, object: string): NamedFact {
  const source = { object, ...(id !== undefined && { id }), field: "amount" };
  return { name, value: parseDecimal(amount), unit: "money", source };
}
