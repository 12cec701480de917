/**
 * Delivers to one webhook endpoint until nothing is due. The database holds the deliveries, their
 * times and outcomes. A second run, a restart or a repetition therefore changes nothing, except
 * that a receiver may get an event twice. Everything runs on its own task queue (WEBHOOK-2,
 * WEBHOOK-4).
 */
import {
  condition,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { DeliveryActivities } from "../src/worker/activities/events/deliver-due.ts";
import {
  type DeliveryCounts,
  type EndpointDeliveriesInput,
  type RunResult,
  wakeSignal,
} from "./contract.ts";
import { batches, idleBatchMs, maxDeliveryWaitMs } from "./policies.ts";
import { continueInNewRun, counted, endAs, isLongRun } from "./run-end.ts";

const { deliverDue } = proxyActivities<DeliveryActivities>({
  ...batches,
  summary: "send the endpoint what is due",
});

const wake = defineSignal(wakeSignal);

const none: DeliveryCounts = { delivered: 0, failed: 0, exhausted: 0, dropped: 0 };

/**
 * Ends when nothing is pending, or when the next attempt is further off than
 * `maxDeliveryWaitMs`.
 */
export async function endpointDeliveries({
  counts = none,
  ...endpoint
}: EndpointDeliveriesInput): Promise<RunResult> {
  let all = counts;
  let isWoken = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  for (;;) {
    isWoken = false;
    const batch = await deliverDue(endpoint);
    all = add(all, batch);
    setCurrentDetails(describe(all));
    if (!isWoken && batch.nextInMs !== 0) {
      if (batch.nextInMs === null) return endAs("done", describe(all));
      if (batch.nextInMs > maxDeliveryWaitMs) return endAs("rescheduled", describe(all));
      await condition(() => isWoken, Math.max(batch.nextInMs, idleBatchMs));
    }
    if (isLongRun())
      await continueInNewRun<typeof endpointDeliveries>({ ...endpoint, counts: all });
  }
}

function add(one: DeliveryCounts, other: DeliveryCounts): DeliveryCounts {
  return {
    delivered: one.delivered + other.delivered,
    failed: one.failed + other.failed,
    exhausted: one.exhausted + other.exhausted,
    dropped: one.dropped + other.dropped,
  };
}

/** `1,204 delivered, 3 attempts failed, 0 exhausted, 0 cancelled`. */
function describe({ delivered, failed, exhausted, dropped }: DeliveryCounts): string {
  const [d, f, e, c] = [delivered, failed, exhausted, dropped].map(counted);
  return `${d} delivered, ${f} attempts failed, ${e} exhausted, ${c} cancelled`;
}
