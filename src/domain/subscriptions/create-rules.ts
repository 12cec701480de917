/** The refusals of a creation, one function for each group, in the order of CREATE-1. */
import {
  addMonths,
  type CivilDate,
  calendarDay,
  isTimezone,
  todayIn,
} from "../calendar/civil-date.ts";
import { type Anchor, type Interval, liesOnBillingDay, periodAt } from "../calendar/period.ts";
import type { Charge, Plan } from "../catalogue/plan.ts";
import {
  amountLimit,
  hasUnits,
  lineAmount,
  maximumUnits,
  type PriceTerms,
} from "../catalogue/pricing/index.ts";
import type { Customer } from "../customers/customer.ts";
import type { OrganisationSettings } from "../model/organisation-settings.ts";
import { compare, formatDecimal, ZERO } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import type { ChargeRequest, CreationFacts, CreationRequest } from "./create.ts";

/** A requested charge, found in the catalogue. */
interface RequestedCharge extends ChargeRequest {
  readonly charge: Charge;
}

/** The customer, plan and charges that a request names. */
interface Catalogued {
  readonly customer: Customer;
  readonly plan: Plan;
  readonly charges: readonly RequestedCharge[];
}

/** The start of the subscription, and today's date in its zone. */
interface Start {
  readonly today: CivilDate;
  readonly startDate: CivilDate;
  readonly billingDay: number;
}

/** The last year of a `YYYY-MM-DD`. A limited number of cycles must end before it. */
const lastYear = 9999;

/** The most months that a start date may lie ahead: five years (CREATE-2). */
const furthestStartMonths = 60;

/**
 * Returns the subscription's zone: the requested one, else the organisation's. Refuses a name that
 * no zone has (CREATE-3).
 */
export function checkTimezone(
  organisation: OrganisationSettings,
  { timezone }: CreationRequest,
): string {
  if (timezone !== null && !isTimezone(timezone)) {
    invalid("timezone", "timezone must be the name of an IANA time zone, such as Europe/Paris.");
  }
  return timezone ?? organisation.timezone;
}

/**
 * Refuses what is unknown, then what is not active, each in the order customer, plan, charges. Then
 * refuses charges in another currency (CREATE-1).
 */
export function checkCatalogue(facts: CreationFacts, request: CreationRequest): Catalogued {
  const { customer, plan } = facts;
  if (!customer)
    throw new Refusal("customer_not_found", "No customer has this customer_code.", "customer_code");
  if (!plan) throw new Refusal("plan_not_found", "No plan has this plan_code.", "plan_code");
  const charges = request.charges.map((wanted, index): RequestedCharge => {
    const charge = facts.charges.get(wanted.chargeCode);
    if (!charge)
      throw new Refusal(
        "charge_not_found",
        "No charge has this charge_code.",
        chargeCodeParam(index),
      );
    return { ...wanted, charge };
  });
  if (customer.status !== "active") {
    throw new Refusal("customer_not_active", "The customer is not active.", "customer_code");
  }
  if (plan.status !== "active") {
    throw new Refusal(
      "plan_not_active",
      `The plan is ${plan.status}; new subscriptions take active ones.`,
      "plan_code",
    );
  }
  for (const [index, { charge }] of charges.entries()) {
    if (charge.status !== "active") {
      const message = `The charge is ${charge.status}; new subscriptions take active ones.`;
      throw new Refusal("charge_not_active", message, chargeCodeParam(index));
    }
  }
  for (const [index, { charge }] of charges.entries()) {
    if (charge.currency !== plan.currency) {
      const message = `The charge is in ${charge.currency}, the plan in ${plan.currency}.`;
      throw new Refusal("currency_mismatch", message, chargeCodeParam(index));
    }
  }
  return { customer, plan, charges };
}

/** Refuses a price if the plan allows no override, then if a charge allows none (CREATE-5). */
export function checkOverrides(
  plan: Plan,
  planPrice: CreationRequest["price"],
  charges: readonly RequestedCharge[],
): void {
  if (planPrice !== null && !plan.allowsPriceOverride) {
    throw new Refusal("price_override_not_allowed", "The plan allows no other price.", "price");
  }
  for (const [index, { charge, price }] of charges.entries()) {
    if (price !== null && !charge.allowsPriceOverride) {
      const message = "The charge allows no other price.";
      throw new Refusal("price_override_not_allowed", message, `charges.${index}.price`);
    }
  }
}

/**
 * Returns total and minimum units, 0 and 0 on a flat fee. A flat fee has no units, so
 * `minimum_units` is refused like `units`, also a 0 (CREATE-4, CATALOGUE-1).
 */
export function decideUnits(
  plan: Plan,
  request: CreationRequest,
): { units: number; minimumUnits: number } {
  const { units } = request;
  if (!hasUnits(plan.type)) {
    if (units !== null)
      throw new Refusal("plan_has_no_units", "A flat fee plan has no units.", "units");
    if (request.minimumUnits !== null) {
      throw new Refusal("plan_has_no_units", "A flat fee plan has no units.", "minimum_units");
    }
    return { units: 0, minimumUnits: 0 };
  }
  if (units === null) invalid("units", "units is required: the plan has units.");
  const minimumUnits = request.minimumUnits ?? plan.minimumUnits;
  if (minimumUnits < plan.minimumUnits) {
    invalid("minimum_units", `minimum_units must not be below the plan's ${plan.minimumUnits}.`);
  }
  const discountPercent = request.discountPercent ?? ZERO;
  checkUnits(plan, minimumUnits, { units, priceOverride: request.price, discountPercent });
  return { units, minimumUnits };
}

/**
 * Refuses `units_below_minimum`, `units_above_maximum`, then `invalid_parameter` if the units cost
 * more than an invoice can hold.
 */
export function checkUnits(plan: Plan, minimumUnits: number, terms: PriceTerms): void {
  const { units } = terms;
  if (units < minimumUnits) {
    const message = `units must not be below the minimum of ${minimumUnits}.`;
    throw new Refusal("units_below_minimum", message, "units");
  }
  const most = maximumUnits(plan);
  if (most !== null && units > most) {
    const message = `units must not be above the plan's maximum of ${most}.`;
    throw new Refusal("units_above_maximum", message, "units");
  }
  if (compare(lineAmount(plan, terms), amountLimit) >= 0) {
    const limit = formatDecimal(amountLimit);
    invalid("units", `units cost more than an invoice can hold: ${limit} a period.`);
  }
}

/**
 * Returns the start date (by default today) and billing day (by default the start date's). A start
 * off the billing day is the fault of `start_date` if that was sent, else of `billing_day`
 * (CREATE-2).
 */
export function decideStart(
  facts: CreationFacts,
  request: CreationRequest,
  plan: Plan,
  timezone: string,
): Start {
  const today = todayIn(timezone, facts.now);
  const startDate = request.startDate ?? today;
  const billingDay = request.billingDay ?? calendarDay(startDate).day;
  if (facts.organisation.setupMode && startDate > today) {
    throw new Refusal(
      "start_date_in_future",
      "In Setup Mode start_date must not be in the future.",
      "start_date",
    );
  }
  if (!liesOnBillingDay(startDate, billingDay)) {
    const param = request.startDate === null ? "billing_day" : "start_date";
    invalid(
      param,
      `The subscription starts on ${startDate}, ` +
        `which is not billing day ${billingDay} of its month.`,
    );
  }
  if (startDate > addMonths(today, furthestStartMonths)) {
    invalid("start_date", "start_date must not be more than five years ahead.");
  }
  const { end } = periodAt({ start: startDate, billingDay }, plan.interval, 0);
  if (end <= today)
    invalid("start_date", `The first period, which ends on ${end}, must not be over.`);
  return { today, startDate, billingDay };
}

/**
 * Returns the end of the last of a limited number of cycles, from the start; null without a limit
 * (CREATE-8).
 */
export function decideEndDate(
  anchor: Anchor,
  interval: Interval,
  endAfterCycles: number | null,
): CivilDate | null {
  if (endAfterCycles === null) return null;
  if (calendarDay(anchor.start).year + (endAfterCycles * interval.count) / 12 >= lastYear) {
    invalid("end_after_cycles", `end_after_cycles must end before the year ${lastYear}.`);
  }
  return periodAt(anchor, interval, endAfterCycles - 1).end;
}

function chargeCodeParam(index: number): string {
  return `charges.${index}.charge_code`;
}

function invalid(param: string, message: string): never {
  throw new Refusal("invalid_parameter", message, param);
}
