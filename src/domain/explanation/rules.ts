/**
 * The rules of all amounts, as data: each is a formula of named steps. A number after a slash
 * changes with its formula, and the formula of an old number stays for ever (MONEY-9).
 */
import type { PlanType } from "../catalogue/plan.ts";
import type { Operation } from "./operations.ts";

/** A step: the operation, its operands by name, and the name of its result. */
export interface Step {
  readonly id: string;
  /** `price` is the operation of the sheet's type. */
  readonly op: Operation | "price";
  /** A name that ends with `*` means all facts of that name, which are counted from 1. */
  readonly in: readonly string[];
}

/** The steps in order. The last one is the amount. */
export type Formula = readonly Step[];

const flatValue = ["list = price_once sheet", "value = less_percent list discount_percent"];
const unitsValue = (of: string, units: string) => [
  `priced${of} = units_to_price ${units} sheet`,
  `list${of} = price priced${of} sheet`,
  `value${of} = less_percent list${of} discount_percent`,
];

/** V: the value of a whole period after discount, not rounded. */
export const valueFormulas = {
  "flat_fee/1": formula(flatValue),
  "plan/1": formula(unitsValue("", "units")),
} as const;

/** The formula of each rule. */
export const rules = {
  "flat_fee/1": formula([...flatValue, "amount = round value places"]),
  "plan/1": formula([...unitsValue("", "units"), "amount = round value places"]),
  "charge/1": formula(["product = mul quantity price", "amount = round product places"]),
  "proration/1": formula([
    "days_in_period = days period_start period_end",
    "days_remaining = days effective_date period_end",
    ...unitsValue("_from", "from_units"),
    ...unitsValue("_to", "to_units"),
    "difference = sub value_to value_from",
    "product = mul difference days_remaining",
    "share = div product days_in_period",
    "amount = round share places",
  ]),
  "usage/1": formula([
    "whole = add before quantity",
    "uncovered = sub before priced",
    "value_whole = price whole sheet",
    "value_priced = price priced sheet",
    "difference = sub value_whole value_priced",
    "amount = round difference places",
  ]),
  "reversal_credit/1": formula([
    "opposite = sum opposite_*",
    "earlier = sum earlier_*",
    "left = excess opposite earlier",
    "compensated = min left billed",
    "amount = sub billed compensated",
  ]),
  "reversal_charge/1": formula([
    "credited = sum credited_*",
    "charged = sum charged_*",
    "amount = sub credited charged",
  ]),
} as const satisfies Record<string, Formula>;

/** The id of a rule. */
export type RuleId = keyof typeof rules;

/** What a credit note's line does to an amount below zero. */
export const creditStep: Step = { id: "credit", op: "neg", in: ["amount"] };

/** Returns the rule of a plan line. */
export function planRule(type: PlanType): "flat_fee/1" | "plan/1" {
  return type === "flat_fee" ? "flat_fee/1" : "plan/1";
}

function formula(lines: readonly string[]): Formula {
  return lines.map((line) => {
    const [id = "", , op, ...operands] = line.split(" ");
    return { id, op: op as Step["op"], in: operands };
  });
}
