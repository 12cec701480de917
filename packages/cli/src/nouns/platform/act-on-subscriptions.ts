/**
 * The verbs by which an operator acts on behalf of a platform: create, units, end and restore, each
 * with its preview, the upcoming invoice, and breaking off what waits for the ledger. ADMIN-13,
 * ADMIN-15
 */
import { SubscriptionService } from "../../../../../src/gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { previewedStateText, type Verb } from "../../noun.ts";
import { actLines, documentsBefore } from "./act-lines.ts";
import { breakOffLines } from "./break-off-lines.ts";
import { previewLines, upcomingLines } from "./preview-lines.ts";

const { method } = SubscriptionService;

/** The help texts of a new subscription's fields, of the operation and its preview. */
const creationFields = {
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
};

/** The help texts of a change of units. */
const unitsFields = {
  prorate: "charge for the rest of the current period",
  proration_behaviour: "when to charge it: charge_immediately if left out",
  effective_date: "from which day of the current period, YYYY-MM-DD; needed with --prorate",
  document: "needed while the renewal invoice exists already",
};

/** The help texts of an end. */
const endFields = {
  delete_unsent_invoices: "also delete invoices that were never sent; only with now",
  void_approved_invoices: "also void approved invoices without payment; only with now",
};

const chargesFromFile =
  "One-off charges come from a file: " +
  '{"charges":[{"charge_code":"onboarding","quantity":1,"price":"250"}]}.';

const reason = "why, 1 to 500 characters; shown in the audit log and the timeline";

/** What every change has in addition to the fields of its preview. */
const acted = { reason, previewed_state: previewedStateText };

/** The verbs that change subscriptions. */
export const actingVerbs: readonly Verb[] = [
  {
    name: "create",
    method: method.createSubscription,
    before: documentsBefore,
    lines: actLines,
    summary: "Create a subscription on behalf of the platform, and issue its first invoice.",
    details: chargesFromFile,
    examples: [
      "subscriptions create --customer-code ACME --plan-code team --units 10 " +
        "--reason 'Ordered by telephone'",
      "subscriptions create --file order.json --reason 'Ordered by telephone'",
    ],
    fields: { ...creationFields, ...acted },
    fileFields: ["charges"],
    takesFile: true,
  },
  {
    name: "units",
    method: method.changeUnits,
    before: documentsBefore,
    lines: actLines,
    summary: "Set the total number of units on behalf of the platform.",
    examples: [
      "subscriptions units 0199a0b2-6666-7000-8000-000000000001 12 --reason 'Two more seats'",
      "subscriptions units 0199a0b2-6666-7000-8000-000000000001 12 --prorate " +
        "--effective-date 2026-03-16 --reason 'Two more seats'",
    ],
    places: ["id", "units"],
    fields: { ...unitsFields, ...acted },
  },
  {
    name: "end",
    method: method.endSubscription,
    before: documentsBefore,
    lines: actLines,
    summary: "End a subscription on behalf of the platform, at the end of its period or now.",
    examples: [
      "subscriptions end 0199a0b2-6666-7000-8000-000000000001 period-end --reason 'Not needed'",
      "subscriptions end 0199a0b2-6666-7000-8000-000000000001 now --delete-unsent-invoices " +
        "--reason 'Created twice' --yes",
    ],
    places: ["id", "when"],
    fields: { ...endFields, ...acted },
    irreversible: ({ delete_unsent_invoices: unsent, void_approved_invoices: approved }) =>
      unsent === true || approved === true
        ? "Invoices that the ledger removes stay removed under their numbers."
        : null,
  },
  {
    name: "restore",
    method: method.restoreSubscription,
    before: documentsBefore,
    lines: actLines,
    summary: "Restore a subscription that is set to end or ended, on behalf of the platform.",
    examples: [
      "subscriptions restore 0199a0b2-6666-7000-8000-000000000001 --reason 'Ended by mistake'",
    ],
    places: ["id"],
    fields: acted,
  },
  {
    name: "break-off",
    method: method.breakOff,
    summary: "Break off an end or amendment that waits for a ledger which does not come back.",
    details:
      "It is recorded as refused by the ledger, and the subscription goes on. What an end has " +
      "removed for its options stays removed. `subscriptions preview-break-off` shows what is " +
      "issued.",
    examples: [
      "subscriptions break-off 0199a0b2-6666-7000-8000-000000000001 " +
        "--reason 'The ledger was closed' --yes",
    ],
    places: ["id"],
    fields: {
      reason: "why, 1 to 500 characters; shown in the audit log",
      previewed_state: previewedStateText,
    },
    irreversible: () => "What waits for the ledger is never done, also if the ledger comes back.",
  },
];

const previewed = "Nothing is changed, and the ledger is not asked. -o json has every member.";

/** The verbs that preview these changes. */
export const previewVerbs: readonly Verb[] = [
  {
    name: "preview-create",
    method: method.previewCreateSubscription,
    lines: previewLines,
    summary: "Show what creating a subscription would issue.",
    details: `${previewed} ${chargesFromFile}`,
    examples: [
      "subscriptions preview-create --customer-code ACME --plan-code team --units 10",
      "subscriptions preview-create --file order.json --json",
    ],
    fields: creationFields,
    fileFields: ["charges"],
    takesFile: true,
  },
  {
    name: "preview-units",
    method: method.previewChangeUnits,
    lines: previewLines,
    summary: "Show what a change of units would issue, amend and credit.",
    details: previewed,
    examples: [
      "subscriptions preview-units 0199a0b2-6666-7000-8000-000000000001 12 --prorate " +
        "--effective-date 2026-03-16",
    ],
    places: ["id", "units"],
    fields: unitsFields,
  },
  {
    name: "preview-end",
    method: method.previewEndSubscription,
    lines: previewLines,
    summary: "Show what an end would remove, issue and credit.",
    details: previewed,
    examples: [
      "subscriptions preview-end 0199a0b2-6666-7000-8000-000000000001 now --delete-unsent-invoices",
    ],
    places: ["id", "when"],
    fields: endFields,
  },
  {
    name: "preview-restore",
    method: method.previewRestoreSubscription,
    lines: previewLines,
    summary: "Show what a restoration would issue again.",
    details: previewed,
    examples: ["subscriptions preview-restore 0199a0b2-6666-7000-8000-000000000001"],
    places: ["id"],
  },
  {
    name: "preview-break-off",
    method: method.previewBreakOff,
    lines: breakOffLines,
    summary: "Show what breaking off the end or amendment under way would record and issue.",
    details: "Nothing is changed, and the ledger is not asked.",
    examples: ["subscriptions preview-break-off 0199a0b2-6666-7000-8000-000000000001"],
    places: ["id"],
  },
  {
    name: "upcoming",
    method: method.getUpcomingInvoice,
    lines: upcomingLines,
    summary: "Show what the end of the current period will bill.",
    examples: ["subscriptions upcoming 0199a0b2-6666-7000-8000-000000000001"],
    places: ["id"],
  },
];
