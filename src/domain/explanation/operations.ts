/**
 * The operations of which every amount is made. Each is exact, and only `round` rounds (MONEY-2).
 */
import { type CivilDate, daysBetween } from "../calendar/civil-date.ts";
import {
  type PricedPart,
  type PricedPlan,
  type PriceOperation,
  partsValue,
  pricingModels,
  unitsToPrice,
} from "../catalogue/pricing/models.ts";
import {
  add,
  type Decimal,
  decimalOf,
  formatShort,
  isNegative,
  minimum,
  multiply,
  negate,
  round,
  roundQuotient,
  subtract,
  sum,
  ZERO,
} from "../money/decimal.ts";

/** `dividend` ÷ `divisor`, not divided yet: only a rounding divides (MONEY-2). */
export interface Quotient {
  readonly dividend: Decimal;
  readonly divisor: Decimal;
}

/** An exact number. */
export type Exact = Decimal | Quotient;

/**
 * Returns the one text of the number: the shortest decimal (`-12.5`), or the fraction in lowest
 * terms if no decimal is exact (`-180/31`).
 */
export function exactText(value: Exact): string {
  if (!("dividend" in value)) return formatShort(value);
  const { dividend, divisor } = value;
  const over = dividend.unscaled * 10n ** BigInt(divisor.scale);
  const under = divisor.unscaled * 10n ** BigInt(dividend.scale);
  const shared = greatestShared(over, under) * (under < 0n ? -1n : 1n);
  const [numerator, denominator] = [over / shared, under / shared];
  const scale = placesOf(denominator);
  if (scale === null) return `${numerator}/${denominator}`;
  return formatShort({ unscaled: (numerator * 10n ** BigInt(scale)) / denominator, scale });
}

/** The places of a decimal with this denominator. Null if it has another factor than 2 and 5. */
function placesOf(denominator: bigint): number | null {
  let [rest, twos, fives] = [denominator, 0, 0];
  for (; rest % 2n === 0n; twos += 1) rest /= 2n;
  for (; rest % 5n === 0n; fives += 1) rest /= 5n;
  return rest === 1n ? Math.max(twos, fives) : null;
}

function greatestShared(left: bigint, right: bigint): bigint {
  let [one, other] = [left < 0n ? -left : left, right < 0n ? -right : right];
  while (other !== 0n) [one, other] = [other, one % other];
  return one;
}

/** The name of an operation. */
export type Operation =
  | "add"
  | "sub"
  | "mul"
  | "div"
  | "neg"
  | "min"
  | "sum"
  | "excess"
  | "round"
  | "less_percent"
  | "days"
  | "units_to_price"
  | PriceOperation;

/** What an operation takes: a number, a day, or the prices of a sheet. */
export type Value = Exact | CivilDate | PricedPlan;

/** What an operation gives. `rows`: the terms that a price was added up of. */
export interface Outcome {
  readonly out: Exact;
  readonly rows?: readonly PricedPart[];
}

/** Performs the operation. Asserts operands of its kinds. */
export function perform(operation: Operation, operands: readonly Value[]): Outcome {
  const number = (at: number) => decimalIn(operands[at]);
  switch (operation) {
    case "add":
      return { out: add(number(0), number(1)) };
    case "sub":
      return { out: subtract(number(0), number(1)) };
    case "mul":
      return { out: multiply(number(0), number(1)) };
    case "div":
      return { out: { dividend: number(0), divisor: number(1) } };
    case "neg":
      return { out: negate(number(0)) };
    case "min":
      return { out: minimum(number(0), number(1)) };
    case "sum":
      return { out: sum(operands.map(decimalIn)) };
    case "excess":
      return { out: excess(number(0), number(1)) };
    case "round":
      return { out: rounded(operands[0], number(1)) };
    case "less_percent":
      return { out: lessPercent(number(0), number(1)) };
    case "days":
      return { out: decimalOf(daysBetween(dateIn(operands[0]), dateIn(operands[1]))) };
    case "units_to_price":
      return { out: toPrice(number(0), sheetIn(operands[1])) };
    default:
      return price(operands.length === 1 ? ZERO : number(0), sheetIn(operands.at(-1)));
  }
}

function price(quantity: Decimal, sheet: PricedPlan): Outcome {
  const rows = pricingModels[sheet.type].parts(sheet, quantity);
  return { out: partsValue(rows), rows };
}

function toPrice(units: Decimal, { freeUnits }: PricedPlan): Decimal {
  return decimalOf(unitsToPrice(Number(units.unscaled), freeUnits));
}

function excess(left: Decimal, right: Decimal): Decimal {
  const difference = subtract(left, right);
  return isNegative(difference) ? ZERO : difference;
}

/** One percent. Multiplying by it is exact, so a discount needs no division. */
const oneHundredth: Decimal = { unscaled: 1n, scale: 2 };

function lessPercent(value: Decimal, percent: Decimal): Decimal {
  return multiply(multiply(value, subtract(decimalOf(100), percent)), oneHundredth);
}

function rounded(value: Value | undefined, places: Decimal): Decimal {
  const to = Number(places.unscaled);
  return typeof value === "object" && "dividend" in value
    ? roundQuotient(value.dividend, value.divisor, to)
    : round(decimalIn(value), to);
}

/** Returns the number. Throws if the value is another kind, or a quotient that is not rounded. */
export function decimalIn(value: Value | undefined): Decimal {
  if (typeof value === "object" && "unscaled" in value) return value;
  throw new TypeError(`not a decimal: ${JSON.stringify(value)}`);
}

function dateIn(value: Value | undefined): CivilDate {
  if (typeof value === "string") return value;
  throw new TypeError(`not a date: ${JSON.stringify(value)}`);
}

function sheetIn(value: Value | undefined): PricedPlan {
  if (typeof value === "object" && "tiers" in value) return value;
  throw new TypeError("not a price sheet");
}
