/**
 * The verbs by which an operator acts on behalf of a platform: create, units, end and restore.
 * ADMIN-13
 */
import { SubscriptionService } from "../../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import type { Verb } from "../../noun.ts";

const { method } = SubscriptionService;

const reason = "why, 1 to 500 characters; shown in the audit log and the timeline";

/** The verbs that change subscriptions. */
export const actingVerbs: readonly Verb[] = [
  {
    name: "create",
    method: method.createSubscription,
    summary: "Create a subscription on behalf of the platform, and issue its first invoice.",
    details:
      "One-off charges come from a file: " +
      '{"charges":[{"charge_code":"onboarding","quantity":1,"price":"250"}]}.',
    examples: [
      "subscriptions create --customer-code ACME --plan-code team --units 10 " +
        "--reason 'Ordered by telephone'",
      "subscriptions create --file order.json --reason 'Ordered by telephone'",
    ],
    fields: {
      customer_code: "the customer's code",
      plan_code: "the plan's code",
      units: "how many units; none on a flat fee plan",
      discount_percent: "a discount on plan and proration lines, 0 to 100",
      invoice_reference: "the reference of its invoices",
      start_date: "the day it starts, YYYY-MM-DD; today if left out",
      timezone: "the IANA name of its timezone; the organisation's if left out",
      billing_day: "the day of the month on which periods begin",
      price: "a price that replaces the plan's, if the plan allows it",
      minimum_units: "the fewest units it may have",
      end_after_cycles: "after how many periods it completes",
      label: "a label",
      reason,
    },
    fileFields: ["charges"],
    takesFile: true,
  },
  {
    name: "units",
    method: method.changeUnits,
    summary: "Set the total number of units on behalf of the platform.",
    examples: [
      "subscriptions units 0199a0b2-6666-7000-8000-000000000001 12 --reason 'Two more seats'",
      "subscriptions units 0199a0b2-6666-7000-8000-000000000001 12 --prorate " +
        "--effective-date 2026-03-16 --reason 'Two more seats'",
    ],
    places: ["id", "units"],
    fields: {
      prorate: "charge for the rest of the current period",
      proration_behaviour: "when to charge it: charge_immediately if left out",
      effective_date: "from which day of the current period, YYYY-MM-DD; needed with --prorate",
      document: "needed while the renewal invoice exists already",
      reason,
    },
  },
  {
    name: "end",
    method: method.endSubscription,
    summary: "End a subscription on behalf of the platform, at the end of its period or now.",
    examples: [
      "subscriptions end 0199a0b2-6666-7000-8000-000000000001 period-end --reason 'Not needed'",
      "subscriptions end 0199a0b2-6666-7000-8000-000000000001 now --delete-unsent-invoices " +
        "--reason 'Created twice' --yes",
    ],
    places: ["id", "when"],
    fields: {
      delete_unsent_invoices: "also delete invoices that were never sent; only with now",
      void_approved_invoices: "also void approved invoices without payment; only with now",
      reason,
    },
    irreversible: ({ delete_unsent_invoices: unsent, void_approved_invoices: approved }) =>
      unsent === true || approved === true
        ? "Invoices that the ledger removes stay removed under their numbers."
        : null,
  },
  {
    name: "restore",
    method: method.restoreSubscription,
    summary: "Restore a subscription that is set to end or ended, on behalf of the platform.",
    examples: [
      "subscriptions restore 0199a0b2-6666-7000-8000-000000000001 --reason 'Ended by mistake'",
    ],
    places: ["id"],
    fields: { reason },
  },
];
