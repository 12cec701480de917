/**
 * `billing billing`: what is due, which subscriptions are parked and why, and retrying them.
 * POSTING-8
 */
import { BillingService } from "../../../../gen/proto/billing/admin/v1/billing_pb.ts";
import type { Noun } from "../../noun.ts";

const { method } = BillingService;

/** Shows, retries and runs billing. */
export const billing: Noun = {
  name: "billing",
  summary: "Look at what is due, find subscriptions that billing parked, and have them tried again",
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
      summary: "List the subscriptions that are parked, newest first, each with its reason.",
      examples: ["billing list", "billing list --all --json"],
      columns: ["id", "status", "renewal_date", "reason", "attempts", "next_attempt_at"],
    },
    {
      name: "retry",
      method: method.retrySubscription,
      summary: "Try a subscription that is parked at once.",
      details:
        "What comes of it shows in `billing list` within seconds: it is gone from there, or has one attempt more.",
      examples: ["billing retry 0199a0b2-6666-7000-8000-000000000001"],
      places: ["id"],
    },
    {
      name: "run",
      method: method.runBilling,
      summary: "Start an organisation's billing at once; by itself it begins within the minute.",
      examples: ["billing run"],
    },
  ],
};
