/**
 * Renders explanations from stored facts, by the function that made the amounts, with a trace
 * (MONEY-9). Nothing is read from today's catalogue.
 */
import { minorUnitDigits } from "../money/currency.ts";
import { type Decimal, equals, formatDecimal, parseDecimal, sum } from "../money/decimal.ts";
import type { LineFacts, PlanFacts, PlanLineBefore } from "./facts.ts";
import {
  amountOf,
  type DocumentObject,
  type NamedFact,
  namedFacts,
  type Source,
} from "./named-facts.ts";
import { exactText } from "./operations.ts";
import { type HashName, sheetText, showSheet } from "./price-sheet.ts";
import type { TracedStep } from "./reckon.ts";
import type {
  Derivation,
  Explanation,
  LedgerTotals,
  NamedSheet,
  ShownAllocation,
  ShownFact,
  ShownLine,
  ShownStep,
  Unavailable,
} from "./shown.ts";

/** A line to explain. The id is null in a preview. */
export interface LineToExplain {
  readonly id: string | null;
  readonly amount: Decimal;
  readonly facts?: LineFacts;
  /** Facts are stored, but the price sheet that they name is missing. */
  readonly isSheetMissing?: boolean;
}

/** A document to explain. `ledger`: what the ledger made of it, once it has it. */
export interface DocumentToExplain {
  readonly object: DocumentObject;
  readonly id: string | null;
  readonly number: string | null;
  readonly subscriptionId: string;
  readonly currency: string;
  readonly lines: readonly LineToExplain[];
  readonly ledger?: LedgerTotals;
  readonly allocations?: readonly ShownAllocation[];
}

/** What the derivations of a document share. `sheets` gathers those that its lines name. */
interface Context {
  readonly object: DocumentObject;
  readonly subscriptionId: string;
  readonly currency: string;
  readonly hash: HashName;
  readonly sheets: Map<string, NamedSheet>;
}

/**
 * Returns the explanation of the document. It is not available if a line has no facts, or if its
 * facts give another amount.
 */
export function explain(document: DocumentToExplain, hash: HashName): Explanation | Unavailable {
  const { object, id, number, subscriptionId, currency, lines, ledger, allocations } = document;
  const head = { format: "explanation/1", object, id, number } as const;
  const sheets = new Map<string, NamedSheet>();
  const context = { object, subscriptionId, currency, hash, sheets };
  const shown: ShownLine[] = [];
  for (const { id: line, amount, facts, isSheetMissing = false } of lines) {
    if (facts === undefined) {
      const reason = isSheetMissing ? "does_not_follow" : "issued_before";
      return { ...head, available: false, reason };
    }
    const rendered = renderLine(line, facts, context);
    const { was } = rendered;
    const isSo = was === undefined || was.amount === wasAmount(facts);
    if (!isSo || !equals(parseDecimal(rendered.amount), amount))
      return { ...head, available: false, reason: "does_not_follow" };
    shown.push(rendered);
  }
  return {
    ...head,
    available: true,
    currency,
    places: minorUnitDigits(currency),
    // By code units, in which texts of hexadecimal digits have one order everywhere.
    sheets: [...sheets.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    lines: shown,
    subtotal: formatDecimal(sum(lines.map(({ amount }) => amount))),
    ...(ledger && { ledger }),
    ...(allocations && { allocations }),
  };
}

function renderLine(line: string | null, facts: LineFacts, context: Context): ShownLine {
  const before = "w" in facts && facts.w !== undefined ? wasOf(facts, facts.w, context) : undefined;
  const [invoice, copied] = facts.z ?? [];
  return {
    line,
    rule: facts.r,
    ...derive(facts, context),
    ...(before && { was: before }),
    ...(invoice !== undefined && copied !== undefined && { reissues: { invoice, line: copied } }),
  };
}

/** The line before its amendment has the price and discount of now: neither can change. */
function wasOf(facts: PlanFacts, w: PlanLineBefore, context: Context): ShownLine["was"] {
  const { w: _, u: __, c: ___, ...kept } = facts;
  const before: PlanFacts = { ...kept, u: w.u, ...(w.c !== undefined && { c: w.c }) };
  return { until: w.at, ...derive(before, context) };
}

function wasAmount(facts: LineFacts): string | null {
  return "w" in facts && facts.w !== undefined ? formatDecimal(parseDecimal(facts.w.m)) : null;
}

function derive(facts: LineFacts, context: Context): Derivation {
  const trace: TracedStep[] = [];
  const amount = amountOf(facts, context.currency, context.object, trace);
  return {
    facts: namedFacts(facts).map((fact) => showFact(fact, context)),
    steps: trace.map(showStep),
    result: exactText(amount),
    amount: formatDecimal(amount),
  };
}

function showFact({ name, value, unit, source }: NamedFact, context: Context): ShownFact {
  return {
    name,
    value: valueText(value, context),
    unit: unit === "money" ? context.currency : unit,
    source: ofSubscription.has(source.object) ? withId(source, context.subscriptionId) : source,
  };
}

/** The objects that have the id of their subscription. */
const ofSubscription = new Set(["subscription", "period", "usage_bill"]);

function withId({ object, ...rest }: Source, id: string): Source {
  return { object, id, ...rest };
}

function valueText(value: NamedFact["value"], context: Context): string {
  if (typeof value === "string") return value;
  if (!("tiers" in value)) return exactText(value);
  const shown = showSheet(value, context.subscriptionId);
  const name = context.hash(sheetText(shown));
  context.sheets.set(name, { name, ...shown });
  return name;
}

function showStep({ id, op, in: names, rows, out }: TracedStep): ShownStep {
  return {
    id,
    op,
    in: names,
    ...(rows && {
      rows: rows.map(({ quantity, price }) => ({
        quantity: quantity && exactText(quantity),
        price: exactText(price),
      })),
    }),
    ...(op === "round" && { rounding: "half_away_from_zero" as const }),
    out: exactText(out),
  };
}
