/**
 * Reckons an amount by its formula. Issuing calls it without a trace and reading with one, so that
 * an amount and its explanation are one computation (MONEY-9).
 */
import { type PricedPart, pricingModels } from "../catalogue/pricing/models.ts";
import { minorUnitDigits } from "../money/currency.ts";
import { type Decimal, decimalOf } from "../money/decimal.ts";
import { decimalIn, type Exact, type Operation, perform, type Value } from "./operations.ts";
import type { Formula, Step } from "./rules.ts";

/** The facts of a formula by their names. */
export type Inputs = Readonly<Record<string, Value>>;

/** A step that was performed. */
export interface TracedStep {
  readonly id: string;
  readonly op: Operation;
  readonly in: readonly string[];
  readonly rows?: readonly PricedPart[];
  readonly out: Exact;
}

/** Returns the result of the last step. Appends every step to `trace`. */
export function reckon(formula: Formula, inputs: Inputs, trace?: TracedStep[]): Decimal {
  const known: Record<string, Value> = { ...inputs };
  let last: Exact | undefined;
  for (const step of formula) {
    const { op, in: names } = resolved(step, known);
    const outcome = perform(
      op,
      names.map((name) => valueIn(known, name)),
    );
    trace?.push({ id: step.id, op, in: names, ...outcome });
    last = outcome.out;
    known[step.id] = last;
  }
  return decimalIn(last);
}

/** Returns the places of the currency, as the operand of `round`. */
export function placesOf(currency: string): Decimal {
  return decimalOf(minorUnitDigits(currency));
}

function valueIn(known: Inputs, name: string): Value {
  const value = known[name];
  if (value === undefined) throw new Error(`a formula names ${name}, which is not known`);
  return value;
}

/** The step with the operation of its sheet's type, and with each fact that it takes. */
function resolved(step: Step, known: Inputs): Pick<TracedStep, "op" | "in"> {
  const { op, in: names } = step;
  if (op === "price") return priceStep(names, known);
  const [first] = names;
  return { op, in: first?.endsWith("*") ? counted(first.slice(0, -1), known) : names };
}

function priceStep(names: readonly string[], known: Inputs): Pick<TracedStep, "op" | "in"> {
  const sheet = known.sheet;
  if (typeof sheet !== "object" || !("tiers" in sheet)) throw new Error("a price has no sheet");
  const { operation } = pricingModels[sheet.type];
  return { op: operation, in: operation === "price_once" ? names.slice(-1) : names };
}

function counted(prefix: string, known: Inputs): readonly string[] {
  const names: string[] = [];
  while (`${prefix}${names.length + 1}` in known) names.push(`${prefix}${names.length + 1}`);
  return names;
}
