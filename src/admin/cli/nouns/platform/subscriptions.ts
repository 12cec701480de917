/** `billing subscriptions`: the subscriptions of an organisation. ADMIN-11 */
import { SubscriptionService } from "../../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import type { Noun } from "../../noun.ts";
import { customerByCode } from "../lookups.ts";

const { method } = SubscriptionService;

/** Lists and shows subscriptions. */
export const subscriptions: Noun = {
  name: "subscriptions",
  summary: "Find subscriptions and show them",
  verbs: [
    {
      name: "list",
      method: method.listSubscriptions,
      summary: "List subscriptions, newest first.",
      examples: [
        "subscriptions list --customer ACME --status active",
        "subscriptions list --label 'head office'",
        "subscriptions list --number INV-0042",
      ],
      fields: {
        customer: "only of this customer, by id or code",
        customer_code: "only of the customer with this code",
        status: "only subscriptions with this status",
        label: "only subscriptions whose label contains this text, in any case",
        number: "only the subscription of the invoice or credit note with this number",
      },
      lookups: { customer: customerByCode },
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
    },
  ],
};
