/** `billing subscriptions`: an organisation's subscriptions. ADMIN-11, ADMIN-12, ADMIN-13 */
import { SubscriptionService } from "../../../../../src/gen/proto/billing/admin/v1/subscriptions_pb.ts";
import type { Column, Noun } from "../../noun.ts";
import { isObject } from "../../output/message-json.ts";
import { customerByCode, planByCode } from "../lookups.ts";
import { actingVerbs, previewVerbs } from "./act-on-subscriptions.ts";
import { subscriptionLines } from "./subscription-lines.ts";

const { method } = SubscriptionService;

/** Who requested an entry: the name of the API key or of the operator. */
const by: Column = {
  title: "by",
  of: ({ requester }) => (isObject(requester) ? String(requester.name) : ""),
};

/** Why, in the words of the ledger, the receiver or the operator. */
const why: Column = {
  title: "why",
  of: ({ message, reason }) => String(message ?? reason ?? ""),
};

/** Lists, shows and changes subscriptions. */
export const subscriptions: Noun = {
  name: "subscriptions",
  summary: "Find subscriptions, show what happened to them, and change them for a platform",
  verbs: [
    {
      name: "list",
      method: method.listSubscriptions,
      summary: "List subscriptions, newest first.",
      examples: [
        "subscriptions list --customer ACME --status active",
        "subscriptions list --label 'head office'",
        "subscriptions list --number INV-0042",
        "subscriptions list --plan team --renewal-from 2026-04-01 --renewal-to 2026-04-30",
      ],
      fields: {
        customer: "only of this customer, by id or code",
        customer_code: "only of the customer with this code",
        plan: "only of this plan, by id or code",
        renewal_from: "only those that renew on this day or later, YYYY-MM-DD",
        renewal_to: "only those that renew on this day or earlier",
        status: "only subscriptions with this status",
        label: "only subscriptions whose label contains this text, in any case",
        number: "only the subscription of the invoice or credit note with this number",
      },
      lookups: { customer: customerByCode, plan: planByCode },
      columns: [
        "id",
        "customer_code",
        "status",
        "units",
        "renewal_date",
        "end_date",
        "renewal_value",
        "currency",
        "label",
      ],
    },
    {
      name: "get",
      method: method.getSubscription,
      summary: "Show a subscription.",
      examples: ["subscriptions get 0199a0b2-6666-7000-8000-000000000001"],
      places: ["id"],
      lines: subscriptionLines,
    },
    {
      name: "timeline",
      method: method.listSubscriptionTimeline,
      summary: "List what happened to a subscription, newest first, and who requested it.",
      details:
        "The times are the server's, also in a sandbox. Events and their deliveries are kept for " +
        "30 days. --json has the pages of documents in the ledger, and of workflows in the " +
        "Temporal UI if its address is configured.",
      examples: [
        "subscriptions timeline 0199a0b2-6666-7000-8000-000000000001 --all",
        "subscriptions timeline 0199a0b2-6666-7000-8000-000000000001 --since 2026-03-01T00:00:00Z",
      ],
      places: ["id"],
      fields: {
        since: "only entries at this time or later",
        group: "only entries of this group",
      },
      columns: ["at", "summary", by, why, "next_attempt_at"],
    },
    ...actingVerbs,
    ...previewVerbs,
  ],
};
