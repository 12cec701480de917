/**
 * Create subscription: validates a request against the facts and decides everything to write: the
 * subscription, its periods and its invoices.
 */

import { type Billed, billedFor } from "../billing/billed-by.ts";
import { nextDueDate, willRenew } from "../billing/due-date.ts";
import { chargeLine, draftInvoice, planLine, tooMuch } from "../billing/invoice-lines.ts";
import type { CivilDate } from "../calendar/civil-date.ts";
import { invoiceCreateDays, isInvoiceWindow, type Period, periodAt } from "../calendar/period.ts";
import type { Charge, Plan } from "../catalogue/plan.ts";
import { hasUnits } from "../catalogue/pricing/index.ts";
import type { Customer } from "../customers/customer.ts";
import { asBegun } from "../model/billing-state.ts";
import type { InvoiceDraft } from "../model/invoice.ts";
import type { OrganisationSettings } from "../model/organisation-settings.ts";
import type { Subscription } from "../model/subscription.ts";
import { type Decimal, ZERO } from "../money/decimal.ts";
import { Refusal } from "../refusal.ts";
import {
  checkCatalogue,
  checkOverrides,
  checkTimezone,
  decideEndDate,
  decideStart,
  decideUnits,
} from "./create-rules.ts";

/**
 * A requested one-off charge. `quantity` is 1 to 999; `price` is null for the charge's own
 * (CATALOGUE-7).
 */
export interface ChargeRequest {
  readonly chargeCode: string;
  readonly quantity: number;
  readonly price: Decimal | null;
}

/** The request after its shapes and ranges were checked. An absent member is null. */
export interface CreationRequest {
  readonly customerCode: string;
  readonly planCode: string;
  readonly units: number | null;
  readonly discountPercent: Decimal | null;
  readonly startDate: CivilDate | null;
  readonly timezone: string | null;
  readonly billingDay: number | null;
  readonly price: Decimal | null;
  readonly minimumUnits: number | null;
  readonly endAfterCycles: number | null;
  readonly label: string;
  readonly invoiceReference: string;
  readonly charges: readonly ChargeRequest[];
}

/**
 * The facts of a request. Null or absent means unknown. `charges` maps codes to charges. `now` is
 * the organisation's time.
 */
export interface CreationFacts {
  readonly organisation: OrganisationSettings;
  readonly customer: Customer | null;
  readonly plan: Plan | null;
  readonly charges: ReadonlyMap<string, Charge>;
  readonly now: Date;
}

/**
 * A period to write, with its billed units; null if the plan has none (MONEY-5). `setupMode`: it
 * has begun in Setup Mode (SETUP-3).
 */
interface BilledPeriod extends Period, Billed {
  readonly setupMode: boolean;
}

/** Everything that a creation writes, without ids and numbers. */
export interface CreationDecision {
  readonly customer: Customer;
  readonly plan: Plan;
  readonly subscription: Omit<Subscription, "id">;
  /** The next date on which something is due for the subscription. */
  readonly dueDate: CivilDate | null;
  readonly firstPeriod: BilledPeriod;
  /** The first invoice; null in Setup Mode. */
  readonly invoice: InvoiceDraft | null;
  /**
   * The next period and its invoice. Both exist exactly if the subscription is created inside its
   * invoice window (CREATE-7).
   */
  readonly renewalPeriod: BilledPeriod | null;
  readonly renewalInvoice: InvoiceDraft | null;
}

/**
 * Decides the creation, in the order of CREATE-1. Refuses `invalid_parameter` (time zone),
 * `customer_not_found`, `plan_not_found`, `charge_not_found`. Then `customer_not_active`,
 * `plan_not_active`, `charge_not_active`, `currency_mismatch`. Then `price_override_not_allowed`,
 * `plan_has_no_units`, `invalid_parameter` (units, minimum_units), `units_below_minimum`,
 * `units_above_maximum`. Then `start_date_in_future`, `invalid_parameter` (start_date, billing_day,
 * end_after_cycles, charges).
 */
export function decideCreation(facts: CreationFacts, request: CreationRequest): CreationDecision {
  const { organisation, now } = facts;
  const timezone = checkTimezone(organisation, request);
  const { customer, plan, charges } = checkCatalogue(facts, request);
  checkOverrides(plan, request.price, charges);
  const { units, minimumUnits } = decideUnits(plan, request);
  const { today, startDate, billingDay } = decideStart(facts, request, plan, timezone);
  const anchor = { start: startDate, billingDay };
  const period = periodAt(anchor, plan.interval, 0);
  const subscription = {
    customerId: customer.id,
    customerCode: customer.code,
    planId: plan.id,
    status: startDate > today ? "pending" : "active",
    currency: plan.currency,
    interval: plan.interval,
    timezone,
    startDate,
    billingDay,
    renewalDate: period.end,
    endDate: decideEndDate(anchor, plan.interval, request.endAfterCycles),
    units,
    minimumUnits,
    discountPercent: request.discountPercent ?? ZERO,
    priceOverride: request.price,
    cancelAtPeriodEnd: false,
    endAfterCycles: request.endAfterCycles,
    label: request.label,
    invoiceReference: request.invoiceReference,
    createdAt: now,
  } as const;

  const billedUnits = hasUnits(plan.type) ? units : null;
  const billed = billedFor(billedUnits, organisation.setupMode ? "setup_mode" : "creation");
  const chargeLines = charges.map(({ charge, quantity, price }) =>
    chargeLine(charge, quantity, price, organisation),
  );
  const issue = (
    type: "first" | "renewal",
    billed: Period,
    extraLines: InvoiceDraft["lines"],
  ): InvoiceDraft => {
    const lines = [planLine(plan, subscription, billed, organisation), ...extraLines];
    const why = tooMuch(lines);
    if (why !== null) throw new Refusal("invalid_parameter", why, "charges");
    return draftInvoice(subscription, organisation, { type, period: billed, lines, today });
  };
  const createDays = invoiceCreateDays(period, plan.interval, organisation.invoiceCreateDays);
  const renewsNow =
    !organisation.setupMode &&
    willRenew(subscription) &&
    isInvoiceWindow(period.end, createDays, today);
  const next = renewsNow ? periodAt(anchor, plan.interval, 1) : null;
  const opened = { ...period, ...billed, setupMode: false };
  return {
    customer,
    plan,
    subscription,
    dueDate: nextDueDate({ organisation, subscription, period, nextPeriod: next }),
    firstPeriod: subscription.status === "pending" ? opened : asBegun(opened, organisation),
    invoice: organisation.setupMode ? null : issue("first", period, chargeLines),
    renewalPeriod: next && { ...next, ...billed, setupMode: false },
    renewalInvoice: next && issue("renewal", next, []),
  };
}
