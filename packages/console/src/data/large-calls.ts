/** The calls of which the service answers two of an operator at once: the page lets others wait. */
import type { Interceptor } from "@connectrpc/connect";

/** Their methods (ADMIN-14). */
const large = new Set([
  "PreviewCreateSubscription",
  "PreviewChangeUnits",
  "PreviewEndSubscription",
  "PreviewRestoreSubscription",
  "GetUpcomingInvoice",
  "ListSubscriptionTimeline",
  "PreviewAdvanceTestClock",
  "ListLeftovers",
  "ListUsage",
  "ListUsageEvents",
  "ListAuditEntries",
]);

/** As many are in progress. */
const most = 2;

let inProgress = 0;
const waiting: (() => void)[] = [];

async function enter(): Promise<void> {
  if (inProgress >= most) await new Promise<void>((go) => waiting.push(go));
  inProgress += 1;
}

function leave(): void {
  inProgress -= 1;
  waiting.shift()?.();
}

/** Sends the large calls one after the other once two are in progress. */
export const queueLargeCalls: Interceptor = (next) => async (request) => {
  if (!large.has(request.method.name)) return next(request);
  await enter();
  try {
    return await next(request);
  } finally {
    leave();
  }
};
