/** UsageService. Spec: POST /v1/usage_events. */
import type { UsageService } from "../gen/proto/billing/v1/usage_pb.ts";
import { type Implementation, planned } from "../rpc/implementation.ts";

/** The methods of the service. */
export function usageService(): Implementation<typeof UsageService> {
  return { reportUsage: planned };
}
