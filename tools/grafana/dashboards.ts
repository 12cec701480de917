/**
 * The dashboards: each answers one question of `docs/operations/watch.md`. `npm run dashboards`
 * writes them as JSON for Grafana.
 */

/** The unit of a panel, as Grafana names it. */
export type Unit = "short" | "s" | "reqps" | "percentunit" | "ops" | "bytes";

/** A panel: what it shows, and the queries, each with the text of its lines. */
export interface PanelOf {
  readonly title: string;
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
}

/** A dashboard. `question` is its title. */
export interface DashboardOf {
  readonly uid: string;
  readonly question: string;
  readonly panels: readonly PanelOf[];
}

/** The share of each, over five minutes. */
const rate = (series: string, by: string): string => `sum by (${by}) (rate(${series}[5m]))`;

const quantile = (share: number, histogram: string, by: string): string =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${histogram}_bucket[5m])))`;

const requests = "billing_request_duration_seconds";
const failures = `${requests}_count{outcome=~"internal_error|temporarily_unavailable"}`;
const ledgerCalls = "billing_ledger_call_duration_seconds";
const temporalCalls = "billing_temporal_call_duration_seconds";

const panel = (
  title: string,
  description: string,
  unit: Unit,
  ...queries: readonly (readonly [expr: string, legend: string])[]
): PanelOf => ({
  title,
  description,
  unit,
  queries: queries.map(([expr, legend]) => ({ expr, legend })),
});

/** Do requests succeed, and how fast? */
const requestsDashboard: DashboardOf = {
  uid: "billing-requests",
  question: "Do requests succeed, and how fast?",
  panels: [
    panel("Requests", "By protocol.", "reqps", [
      rate(`${requests}_count`, "protocol"),
      "{{protocol}}",
    ]),
    panel("Outcomes that are no success", "Refusals of callers and failures of ours.", "reqps", [
      rate(`${requests}_count{outcome!="ok"}`, "outcome"),
      "{{outcome}}",
    ]),
    panel(
      "Failed requests",
      "The share that failed because of us. The error budget is 0.1 %.",
      "percentunit",
      // A process that has never failed has no such series, and 0 is no missing value.
      [`(sum(rate(${failures}[5m])) or vector(0)) / sum(rate(${requests}_count[5m]))`, "failed"],
    ),
    panel(
      "Duration of operations, 99th percentile",
      "Operations that wait for the ledger take up to 15 seconds.",
      "s",
      [quantile(0.99, requests, "operation"), "{{operation}}"],
    ),
    panel("Duration of operations, median", "", "s", [
      quantile(0.5, requests, "operation"),
      "{{operation}}",
    ]),
    panel(
      "Requests that one statement admits",
      "Above 1 if requests wait for each other at the rate limit.",
      "short",
      [
        "sum(rate(billing_admission_batch_size_sum[5m])) / " +
          "sum(rate(billing_admission_batch_size_count[5m]))",
        "batch",
      ],
    ),
  ],
};

/** Is everything billed that is due? */
const renewals: DashboardOf = {
  uid: "billing-renewals",
  question: "Is everything billed that is due?",
  panels: [
    panel("Subscriptions due", "What billing can perform now.", "short", [
      "max(billing_subscriptions_due)",
      "due",
    ]),
    panel(
      "Age of the most overdue",
      "A minute is healthy, because billing starts each minute.",
      "s",
      ["max(billing_subscriptions_due_oldest_age_seconds)", "oldest"],
    ),
    panel(
      "Parked subscriptions",
      "They could not be billed. Their reason is in the log and in the object.",
      "short",
      ["max(billing_subscriptions_parked)", "parked"],
      ["sum(increase(billing_subscriptions_parked_total[5m]))", "parked in five minutes"],
    ),
    panel("Schedules", "1 if a schedule starts no runs, by its reason.", "short", [
      "max by (schedule, reason) (billing_schedule_trouble)",
      "{{schedule}} {{reason}}",
    ]),
    panel("Usage events", "Reported events by verdict. Late: their period was over.", "ops", [
      rate("billing_usage_events_total", "verdict, timing"),
      "{{verdict}} {{timing}}",
    ]),
    panel("Contradictions", "Documents whose facts give another amount, in an hour.", "short", [
      "sum(increase(billing_explanation_contradictions_total[1h]))",
      "contradictions",
    ]),
  ],
};

/** Does the ledger get its documents? */
const ledger: DashboardOf = {
  uid: "billing-ledger",
  question: "Does the ledger get its documents?",
  panels: [
    panel("Waiting jobs", "By what they wait for.", "short", [
      "max by (kind, reason) (billing_ledger_jobs_waiting)",
      "{{kind}} {{reason}}",
    ]),
    panel("Age of the oldest waiting job", "", "s", [
      "max by (kind, reason) (billing_ledger_jobs_waiting_oldest_age_seconds)",
      "{{kind}} {{reason}}",
    ]),
    panel(
      "Failed documents",
      "They wait for an operator.",
      "short",
      ["max by (kind, reason) (billing_documents_failed)", "{{kind}} {{reason}}"],
      [
        "max by (kind, reason) (billing_documents_failed_oldest_age_seconds) / 86400",
        "{{kind}} {{reason}}, days since the first",
      ],
    ),
    panel("Outcomes of jobs", "", "ops", [
      rate("billing_ledger_jobs_total", "kind, outcome"),
      "{{kind}} {{outcome}}",
    ]),
    panel("Ledger calls", "", "ops", [
      rate(`${ledgerCalls}_count`, "call, outcome"),
      "{{call}} {{outcome}}",
    ]),
    panel("Duration of ledger calls, 95th percentile", "", "s", [
      quantile(0.95, ledgerCalls, "call"),
      "{{call}}",
    ]),
    panel("Answers of the call budget", "Other words than granted are limits.", "ops", [
      rate("billing_ledger_permits_total", "outcome"),
      "{{outcome}}",
    ]),
    panel(
      "Connections",
      "And jobs whose worker died during a call.",
      "short",
      ["max by (state) (billing_ledger_connections)", "{{state}}"],
      ["max(billing_ledger_jobs_lease_expired)", "jobs with an expired lease"],
    ),
    panel("Calls left today", "Of the ledger that has the fewest.", "short", [
      "min(billing_ledger_day_calls_left_lowest)",
      "fewest",
    ]),
  ],
};

/** Do platforms get their events? */
const events: DashboardOf = {
  uid: "billing-events",
  question: "Do platforms get their events?",
  panels: [
    panel("Changes that are not published", "", "short", [
      "max(billing_outbox_entries)",
      "outbox entries",
    ]),
    panel("Age of the oldest change", "Changes are published each minute.", "s", [
      "max(billing_outbox_oldest_age_seconds)",
      "oldest",
    ]),
    panel("Deliveries that are not finished", "", "short", [
      "max(billing_webhook_deliveries_pending)",
      "pending",
    ]),
    panel("Overdue deliveries", "By how much the most overdue one is late.", "s", [
      "max(billing_webhook_delivery_lag_seconds)",
      "lag",
    ]),
    panel("Attempts", "", "ops", [
      rate("billing_webhook_attempts_total", "outcome"),
      "{{outcome}}",
    ]),
    panel("Endpoints", "", "short", ["max by (state) (billing_webhook_endpoints)", "{{state}}"]),
  ],
};

/** Do the parts work that everything needs? */
const parts: DashboardOf = {
  uid: "billing-parts",
  question: "Do database, Temporal and processes work?",
  panels: [
    panel(
      "Processes that answer",
      "And whether any of them can read the backlog.",
      "short",
      ['sum by (job) (up{job=~"billing-.*"})', "{{job}}"],
      ["max(billing_backlog_up)", "backlog readable"],
    ),
    panel("Database connections", "", "short", [
      "sum by (job, state) (billing_database_connections)",
      "{{job}} {{state}}",
    ]),
    panel("Wait for a connection, 99th percentile", "", "s", [
      quantile(0.99, "billing_database_acquire_seconds", "job"),
      "{{job}}",
    ]),
    panel("Calls to Temporal", "", "ops", [
      rate(`${temporalCalls}_count`, "job, call, outcome"),
      "{{job}} {{call}} {{outcome}}",
    ]),
    panel("Duration of calls to Temporal, 95th percentile", "", "s", [
      quantile(0.95, temporalCalls, "job"),
      "{{job}}",
    ]),
    panel(
      "Wait of tasks for a worker, 95th percentile",
      "More workers are needed if it grows.",
      "s",
      [
        quantile(0.95, "temporal_activity_schedule_to_start_latency_seconds", "task_queue"),
        "activities of {{task_queue}}",
      ],
      [
        quantile(0.95, "temporal_workflow_task_schedule_to_start_latency_seconds", "task_queue"),
        "workflows of {{task_queue}}",
      ],
    ),
    panel("Event loop lag, 99th percentile", "A busy process answers late.", "s", [
      "max by (job) (nodejs_eventloop_lag_p99_seconds)",
      "{{job}}",
    ]),
    panel("Memory", "", "bytes", ["max by (job) (process_resident_memory_bytes)", "{{job}}"]),
    panel("Read of the backlog", "At most once in 15 seconds for each process.", "s", [
      "max(billing_backlog_read_seconds)",
      "read",
    ]),
    panel("Idempotency keys", "Failed attempts to store an answer. Each is repeated.", "ops", [
      "sum(rate(billing_idempotency_trouble_total[5m]))",
      "failed",
    ]),
  ],
};

/** All dashboards. */
export const dashboards: readonly DashboardOf[] = [
  requestsDashboard,
  renewals,
  ledger,
  events,
  parts,
];
