/**
 * The gauges of what waits in the database. API and worker both have them, so that they also show a
 * backlog when every worker is gone. A process reads them at most once in 15 seconds, whatever the
 * number of scrapes. If they cannot be read, they are absent, and `billing_backlog_up` is 0.
 */
import { Gauge, type Registry } from "prom-client";
import type { Backlog } from "../../store/backlog/backlog.ts";

/** The registry of one process, and how it reads. */
export interface BacklogParts {
  readonly registry: Registry;
  readonly read: () => Promise<Backlog>;
  /** Called for each failed read. */
  readonly onError: (error: unknown) => void;
  /** How long a read counts, in milliseconds. 15 seconds unless a test sets another time. */
  readonly maxAgeMs?: number;
}

/** Prometheus usually scrapes every 15 seconds. */
const defaultMaxAgeMs = 15_000;

/** A sample of a gauge: its labels and its value. */
type Sample = readonly [Readonly<Record<string, string>>, number];

/** A gauge of the backlog. `samples` returns all its values. */
interface BacklogGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly samples: (backlog: Backlog) => readonly Sample[];
}

const plain =
  (value: (backlog: Backlog) => number | null): BacklogGauge["samples"] =>
  (backlog) => {
    const found = value(backlog);
    return found === null ? [] : [[{}, found]];
  };

const byReason =
  (
    rows: (backlog: Backlog) => Backlog["jobs" | "failed"],
    value: (row: Backlog["failed"][number]) => number,
  ): BacklogGauge["samples"] =>
  (backlog) =>
    rows(backlog).map((row) => [{ kind: row.kind, reason: row.reason }, value(row)]);

const byState =
  (states: (backlog: Backlog) => Readonly<Record<string, number>>): BacklogGauge["samples"] =>
  (backlog) =>
    Object.entries(states(backlog)).map(([state, count]) => [{ state }, count]);

const backlogGauges: readonly BacklogGauge[] = [
  {
    name: "billing_subscriptions_due",
    help: "Subscriptions with something due that billing can perform now.",
    labels: [],
    samples: plain(({ due }) => due.count),
  },
  {
    name: "billing_subscriptions_due_oldest_age_seconds",
    help: "Seconds since the most overdue of them was due.",
    labels: [],
    samples: plain(({ due }) => due.oldestSeconds),
  },
  {
    name: "billing_subscriptions_parked",
    help: "Subscriptions that could not be billed and are tried again later.",
    labels: [],
    samples: plain(({ parked }) => parked),
  },
  {
    name: "billing_ledger_jobs_waiting",
    help: "Open ledger jobs, by kind and by what they wait for.",
    labels: ["kind", "reason"],
    samples: byReason(
      ({ jobs }) => jobs,
      ({ count }) => count,
    ),
  },
  {
    name: "billing_ledger_jobs_waiting_oldest_age_seconds",
    help: "Seconds since the oldest of them was created.",
    labels: ["kind", "reason"],
    samples: byReason(
      ({ jobs }) => jobs,
      ({ oldestSeconds }) => oldestSeconds,
    ),
  },
  {
    name: "billing_ledger_jobs_lease_expired",
    help: "Ledger jobs whose worker died or stalled before it recorded an outcome.",
    labels: [],
    samples: plain(({ expiredLeases }) => expiredLeases),
  },
  {
    name: "billing_documents_failed",
    help: "Documents that were refused, by kind and reason. They wait for an operator.",
    labels: ["kind", "reason"],
    samples: byReason(
      ({ failed }) => failed,
      ({ count }) => count,
    ),
  },
  {
    name: "billing_documents_failed_oldest_age_seconds",
    help: "Seconds since the first of them was refused.",
    labels: ["kind", "reason"],
    samples: byReason(
      ({ failed }) => failed,
      ({ oldestSeconds }) => oldestSeconds,
    ),
  },
  {
    name: "billing_outbox_entries",
    help: "Changes that are not published yet.",
    labels: [],
    samples: plain(({ outbox }) => outbox.count),
  },
  {
    name: "billing_outbox_oldest_age_seconds",
    help: "Seconds since the oldest of them was recorded.",
    labels: [],
    samples: plain(({ outbox }) => outbox.oldestSeconds),
  },
  {
    name: "billing_webhook_deliveries_pending",
    help: "Deliveries of events that are not finished.",
    labels: [],
    samples: plain(({ deliveries }) => deliveries.pending),
  },
  {
    name: "billing_webhook_delivery_lag_seconds",
    help: "Seconds by which the next attempt of a delivery is overdue at most.",
    labels: [],
    samples: plain(({ deliveries }) => deliveries.lagSeconds),
  },
  {
    name: "billing_webhook_endpoints",
    help: "Webhook endpoints by state: healthy, failing or disabled.",
    labels: ["state"],
    samples: byState(({ endpoints }) => endpoints),
  },
  {
    name: "billing_ledger_connections",
    help: "Ledger connections by state: connected, paused or disconnected.",
    labels: ["state"],
    samples: byState(({ connections }) => connections),
  },
  {
    name: "billing_ledger_day_calls_left_lowest",
    help: "The fewest calls of a day that a ledger reported as left, over all connections.",
    labels: [],
    samples: plain(({ lowestDayCalls }) => lowestDayCalls),
  },
];

/** Registers the gauges. */
export function watchBacklog({
  registry,
  read,
  onError,
  maxAgeMs = defaultMaxAgeMs,
}: BacklogParts): void {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  const refresh = async (): Promise<void> => {
    const beganMs = performance.now();
    const backlog = await read().catch((error: unknown) => {
      onError(error);
      return null;
    });
    for (const { gauge, samples } of gauges) show(gauge, backlog === null ? [] : samples(backlog));
    show(up, [[{}, backlog === null ? 0 : 1]]);
    readAtMs = performance.now();
    show(readSeconds, [[{}, (readAtMs - beganMs) / 1000]]);
  };
  // A scrape collects all gauges at once, and each waits for the one read.
  const collect = async (): Promise<void> => {
    if (performance.now() - readAtMs < maxAgeMs) return;
    reading ??= refresh().finally(() => {
      reading = null;
    });
    await reading;
  };
  const create = (name: string, help: string, labelNames: readonly string[] = []): Gauge =>
    new Gauge({ name, help, labelNames: [...labelNames], registers: [registry], collect });
  const up = create("billing_backlog_up", "1 if the last read of the backlog succeeded.");
  const readSeconds = create("billing_backlog_read_seconds", "Seconds that the last read took.");
  const gauges = backlogGauges.map(({ name, help, labels, samples }) => {
    return { gauge: create(name, help, labels), samples };
  });
}

/** Replaces all samples of a gauge. */
function show(gauge: Gauge, samples: readonly Sample[]): void {
  gauge.reset();
  // A gauge without labels would show 0.
  if (samples.length === 0) gauge.remove({});
  for (const [labels, value] of samples) gauge.set(labels, value);
}
