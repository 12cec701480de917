/**
 * What happens to a subscription in the properties of its life: drawn at random, with what rarely
 * comes about by itself.
 */
import fc from "fast-check";
import { isNextInvoiced } from "../../src/domain/billing/issued-invoices.ts";
import { addDays, civilDate } from "../../src/domain/calendar/civil-date.ts";
import { daysInPeriod } from "../../src/domain/calendar/period.ts";
import type { Plan } from "../../src/domain/catalogue/plan.ts";
import type { UnitsChangeRequest } from "../../src/domain/subscriptions/change-units.ts";
import { decideCreation } from "../../src/domain/subscriptions/create.ts";
import type { EndRequest } from "../../src/domain/subscriptions/end.ts";
import { changeTo } from "../domain/subscriptions/billing-state-builder.ts";
import {
  factsOf,
  organisation,
  requestOf,
  setupCharge,
} from "../domain/subscriptions/creation-builder.ts";
import { cheaperPlan, planTypes, somePlan, someTerms } from "./arbitraries.ts";
import { begun, type Life, stateIn } from "./life.ts";

/** A step as it is drawn; what of a change counts depends on the state that it meets. */
export type Step =
  | { readonly kind: "pass"; readonly days: number }
  /**
   * So many days before the renewal date, if that is still to come: mostly in the invoice window.
   */
  | { readonly kind: "near"; readonly days: number }
  | { readonly kind: "restore" }
  | { readonly kind: "end"; readonly request: EndRequest; readonly removable: number }
  | {
      readonly kind: "change";
      readonly units: number;
      /** Whether the units rise by a few, which bills more often than any number does. */
      readonly isRise: boolean;
      readonly prorate: boolean;
      readonly onRenewal: boolean;
      readonly day: number;
      readonly document: "amend" | "separate";
    };

const endStep = (when: EndRequest["when"], deletes: boolean, removable: number): Step => ({
  kind: "end",
  request: { when, deleteUnsentInvoices: deletes && when === "now", voidApprovedInvoices: false },
  removable,
});
/** An end whose removals the ledger refuses after so many. */
export const someEnd: fc.Arbitrary<Step> = fc
  .tuple(
    fc.constantFrom("now", "period_end"),
    fc.boolean(),
    fc.constantFrom(0, 1, 2, 99, 99, 99, 99),
  )
  .map((drawn) => endStep(...drawn));
const someChange: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant("change" as const),
  units: fc.nat(1000),
  isRise: fc.boolean(),
  prorate: fc.boolean(),
  onRenewal: fc.boolean(),
  day: fc.nat(400),
  document: fc.constantFrom("amend" as const, "separate" as const),
});
const somePass: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant("pass" as const),
  days: fc.nat(20),
});
const someNear: fc.Arbitrary<Step> = fc
  .integer({ min: 1, max: 7 })
  .map((days) => ({ kind: "near", days }));
const restoreStep: Step = { kind: "restore" };
const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: somePass },
  { weight: 1, arbitrary: someNear },
  { weight: 3, arbitrary: someEnd },
  { weight: 4, arbitrary: fc.constant(restoreStep) },
  { weight: 5, arbitrary: someChange },
);

const rise = (change: Step, differs: object): Step =>
  ({ ...change, isRise: true, ...differs }) as Step;

/**
 * What rarely comes about by itself: a charge that is deferred, billed ahead, and then taken back
 * in one way or another.
 */
const someDeferral: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    someChange,
    fc.oneof(somePass, someNear),
    someChange,
    someEnd,
    somePass,
    someChange,
    someEnd,
  )
  .map(([change, ...steps]) => [
    rise(change, { prorate: true, onRenewal: true }),
    ...steps,
    restoreStep,
  ]);

/**
 * So too a change that is billed separately, before units rise further between an end and a
 * restoration.
 */
const someSeparate: fc.Arbitrary<readonly Step[]> = fc
  .tuple(someNear, someChange, someEnd, someChange, someEnd, someChange)
  .map(([first, change, end, second, last, third]) => [
    first,
    rise(change, { document: "separate", onRenewal: false }),
    end,
    rise(second, { onRenewal: false }),
    restoreStep,
    last,
    third,
    restoreStep,
  ]);

/** And an end that is refused after the renewal invoice was removed: the subscription goes on. */
const someRefusal: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    someChange,
    someNear,
    someChange,
    fc.integer({ min: 1, max: 3 }),
    someChange,
    somePass,
    someEnd,
  )
  .map(([first, near, second, removable, third, ...steps]) => [
    rise(first, {}),
    near,
    rise(second, { onRenewal: false }),
    endStep("now", true, removable),
    rise(third, {}),
    ...steps,
    restoreStep,
  ]);
/** What happens to a subscription, one after the other. */
export const someSteps: fc.Arbitrary<readonly Step[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.array(someStep, { maxLength: 6 }) },
      { weight: 1, arbitrary: someDeferral },
      { weight: 1, arbitrary: someSeparate },
      { weight: 1, arbitrary: someRefusal },
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.flat());

const maxUnits = (plan: Plan) => (plan.tiers.at(-1)?.upTo ?? 60) + plan.freeUnits;
const today = civilDate("2026-06-10");

/** A subscription just created, of any plan, that begins then, has begun, or is still to begin. */
export const someLife: fc.Arbitrary<Life> = fc
  .record({
    plan: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...planTypes).chain(somePlan) },
      { weight: 1, arbitrary: cheaperPlan },
    ),
    offset: fc.integer({ min: -25, max: 40 }),
    invoiceCreateDays: fc.constantFrom(0, 7, 14, 25),
    endAfterCycles: fc.option(fc.integer({ min: 1, max: 4 })),
  })
  .chain(({ plan, offset, invoiceCreateDays, endAfterCycles }) =>
    someTerms(plan).map(({ units, priceOverride: price, discountPercent }) => {
      const settings = { ...organisation, invoiceCreateDays };
      const charge = { ...setupCharge, currency: plan.currency };
      const facts = factsOf({
        organisation: settings,
        plan,
        charges: new Map([[charge.code, charge]]),
      });
      const request = requestOf({
        units: plan.type === "flat_fee" ? null : units,
        price,
        discountPercent,
        endAfterCycles,
        startDate: addDays(today, offset),
        charges: [{ chargeCode: charge.code, quantity: 1, price: null }],
      });
      return begun(settings, decideCreation(facts, request), today);
    }),
  );

/** The change of units of a step, as the state that it meets allows it. */
export function requestIn(
  life: Life,
  { units, isRise, prorate: isProrated, onRenewal, day, document }: Step & { kind: "change" },
): UnitsChangeRequest {
  const state = stateIn(life);
  const { plan, period, subscription } = state;
  const [most, risen] = [maxUnits(plan), subscription.units + 1 + (units % 6)];
  return changeTo(isRise && risen <= most ? risen : units % (most + 1), {
    ...(isProrated &&
      subscription.status === "active" && {
        from: addDays(period.start, day % daysInPeriod(period)),
      }),
    behaviour:
      isProrated && onRenewal && subscription.status === "active" ? "charge_on_renewal" : null,
    document: isNextInvoiced(state) ? document : null,
  });
}
