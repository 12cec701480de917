/**
 * The reads whose cost a platform decides by what it has stored: they sum usage, or join the whole
 * log of a subscription. Few of them run at once (ADMIN-14). The console lets the others wait, so
 * this file imports nothing.
 */
export const dearReads: ReadonlySet<string> = new Set(
  [
    "SubscriptionService/PreviewCreateSubscription",
    "SubscriptionService/PreviewChangeUnits",
    "SubscriptionService/PreviewEndSubscription",
    "SubscriptionService/PreviewRestoreSubscription",
    "SubscriptionService/GetUpcomingInvoice",
    "SubscriptionService/ListSubscriptionTimeline",
    "TestClockService/PreviewAdvanceTestClock",
    "BillingService/ListLeftovers",
    "UsageService/ListUsage",
    "UsageService/ListUsageEvents",
    "UsageService/CheckUsageSums",
    "UsageService/ExportUsageEvents",
    "AuditService/ListAuditEntries",
  ].map((method) => `billing.admin.v1.${method}`),
);

/** Of one operator, so that two of the connections for reads stay free for other calls. */
export const maxDearReads = 2;
