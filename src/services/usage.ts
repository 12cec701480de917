/**
 * Report usage: evaluates the events of a batch one by one and stores them in one transaction. The
 * answer has the result of each event (USAGE-1, USAGE-2).
 */
import { strict as assert } from "node:assert";
import { crashPoint } from "../crash-points.ts";
import type { ReportedUsage, UsageVerdict } from "../domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../domain/usage/parse.ts";
import {
  type UsageEvent,
  UsageEventErrorCode,
  UsageEventStatus,
  type UsageService,
} from "../gen/proto/billing/v1/usage_pb.ts";
import { byWord } from "../present/enums.ts";
import type { Implementation, MethodImplementation } from "../transport/rpc/implementation.ts";
import { type Deps, untilKnown } from "./deps.ts";
import { getUsageEvent, listUsage, listUsageBills } from "./read-usage.ts";

type Method = MethodImplementation<typeof UsageService.method.reportUsage>;

/** Returns the implementation of the usage service. */
export function usageService(deps: Deps): Implementation<typeof UsageService> {
  return {
    reportUsage: reportUsage(deps),
    listUsage: listUsage(deps),
    listUsageBills: listUsageBills(deps),
    getUsageEvent: getUsageEvent(deps),
  };
}

function reportUsage(deps: Deps): Method {
  return async ({ events }, call) => {
    const { usage } = deps.tenant(call);
    const { deadline } = deps.posting(call);
    // If the first answer was lost, the events that it stored are found and reported as duplicates.
    const verdicts = await untilKnown(deadline, () =>
      usage.report(events.map(readEvent), call.caller.now),
    );
    crashPoint("usage_stored");
    const count = (status: UsageVerdict["status"]) =>
      verdicts.filter((verdict) => verdict.status === status).length;
    return {
      object: "usage_event_batch",
      created: count("created"),
      duplicates: count("duplicate"),
      rejected: count("rejected"),
      results: verdicts.map((verdict, index) =>
        presentVerdict(events[index]?.eventId ?? "", verdict),
      ),
    };
  };
}

/** The form was validated with the rest of the request. */
function readEvent({
  eventId,
  subscription,
  meter,
  meterCode,
  quantity,
  timestamp,
}: UsageEvent): ReportedUsage {
  const read = readQuantity(quantity);
  const occurredAt = readTimestamp(timestamp);
  assert(read !== null && occurredAt !== null, "the request was validated");
  const named =
    meter === undefined
      ? { by: "code" as const, value: meterCode ?? "" }
      : { by: "id" as const, value: meter };
  return { eventId, subscription, meter: named, quantity: read, occurredAt };
}

function presentVerdict(eventId: string, verdict: UsageVerdict) {
  const status = statuses[verdict.status];
  if (verdict.status !== "rejected") return { eventId, status };
  const { code, message } = verdict;
  return { eventId, status, error: { code: codes[code], message } };
}

const statuses = byWord(UsageEventStatus);
const codes = byWord(UsageEventErrorCode);
