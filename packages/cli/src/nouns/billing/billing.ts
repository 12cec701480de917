/**
 * `billing billing`: what is due, which subscriptions are parked and why, and retrying them.
 * POSTING-8, ADMIN-16
 */
import { BillingService } from "../../../../../src/gen/proto/billing/admin/v1/billing_pb.ts";
import type { Noun } from "../../noun.ts";

const { method } = BillingService;

/** Shows, retries and runs billing. */
export const billing: Noun = {
  name: "billing",
  summary: "Show what is due and which subscriptions are parked, and retry them",
  verbs: [
    {
      name: "get",
      method: method.getBilling,
      summary: "Show how many subscriptions are due now, and how many are parked.",
      examples: ["billing get", "billing get --json"],
    },
    {
      name: "list",
      method: method.listParkedSubscriptions,
      summary: "List parked subscriptions, newest first, each with its reason.",
      examples: ["billing list", "billing list --all --json"],
      columns: ["id", "status", "renewal_date", "reason", "attempts", "next_attempt_at"],
    },
    {
      name: "retry",
      method: method.retrySubscription,
      summary: "Retry a parked subscription at once.",
      details:
        "`billing list` shows the outcome within seconds. The subscription is no longer listed, " +
        "or " +
        "has one more attempt.",
      examples: ["billing retry 0199a0b2-6666-7000-8000-000000000001"],
      places: ["id"],
    },
    {
      name: "run",
      method: method.runBilling,
      summary: "Start an organisation's billing at once. It also runs automatically, each minute.",
      examples: ["billing run"],
    },
    {
      name: "leftovers",
      method: method.listLeftovers,
      summary: "List what faults of earlier versions left of the organisation's money.",
      details:
        "`amount` is what the customer is billed too little, or too much if it is negative. " +
        "`billing mend` puts a row right.",
      examples: ["billing leftovers", "billing leftovers --all --json"],
      columns: ["id", "kind", "subscription", "numbers", "amount", "currency", "summary"],
    },
    {
      name: "mend",
      method: method.mendLeftover,
      summary: "Put a leftover right, once, by a separate document or a corrected status.",
      details: "`mend` refuses what is put right by now.",
      examples: [
        "billing mend unbilled_amendment.0199a0b2-6666-7000-8000-000000000001 " +
          "--reason 'The line was recreated' --yes",
      ],
      places: ["id"],
      fields: { reason: "why, 1 to 500 characters; shown in the audit log" },
      irreversible: () => "The documents that it issues go to the ledger.",
    },
  ],
};
