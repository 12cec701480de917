/**
 * Observes what the worker records: one log line and one sample for each document that was posted
 * or refused and for each attempt of a delivery, and a span in the trace that left the job.
 */
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { DeliveryStore } from "../../store/events/deliveries.ts";
import type { OpenAmendments } from "../../store/ledger-jobs/amendments/amendments.ts";
import type { ClaimedJob, ClaimedJobs } from "../../store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../store/ledger-jobs/document-outcomes.ts";
import type { OpenPosting, PostingStore } from "../../store/ledger-jobs/posting-store.ts";
import type { LeasedTermination } from "../../store/subscriptions/end-lease.ts";
import type { OpenTerminations } from "../../store/subscriptions/end-removals.ts";
import type { Log } from "../telemetry/log.ts";
import { continuedFrom, readTraceparent } from "../telemetry/trace-parent.ts";
import type { WorkerMetrics } from "../telemetry/worker-metrics.ts";

interface Observers {
  readonly log: Pick<Log, "info">;
  readonly metrics: Pick<WorkerMetrics, "jobs" | "deliveries">;
}

/** A claimed job with the id of its document, and when this process claimed it. */
interface Claimed {
  readonly kind: string;
  readonly traceparent: string | null;
  readonly document: object;
  readonly claimedAt: Date;
}

/** Returns the store of posting with its recorded outcomes observed. */
export function observedPosting(open: OpenPosting, observers: Observers): OpenPosting {
  return (organisationId) => {
    const store = open(organisationId);
    const claimed = new Map<string, Claimed>();
    const noted = async <T extends ClaimedJob>(
      taking: Promise<ClaimedJobs<T>>,
    ): Promise<ClaimedJobs<T>> => {
      const jobs = await taking;
      const claimedAt = new Date();
      for (const job of [...jobs.ready, ...jobs.uncertain]) {
        const { id, kind, traceparent } = job;
        claimed.set(id, { kind, traceparent, document: documentOf(job), claimedAt });
      }
      return jobs;
    };
    const record: PostingStore["record"] = async (outcomes) => {
      const credited = await store.record(outcomes);
      for (const outcome of outcomes) {
        const job = claimed.get(outcome.jobId);
        if (job !== undefined) reportOutcome(observers, organisationId, job, outcome);
      }
      return credited;
    };
    return {
      ...store,
      claimContacts: (leaseMs) => noted(store.claimContacts(leaseMs)),
      claimInvoices: (leaseMs) => noted(store.claimInvoices(leaseMs)),
      claimCreditNotes: (leaseMs) => noted(store.claimCreditNotes(leaseMs)),
      record,
    };
  };
}

/** The ids of a job's document. Its other columns may be personal data. */
function documentOf(job: object): object {
  const ids = ["invoiceId", "creditNoteId", "customerId"];
  return Object.fromEntries(Object.entries(job).filter(([name]) => ids.includes(name)));
}

/** What became of a job, as log and metrics name it. */
const words = {
  done: "a document was posted to the ledger",
  refused: "the ledger refused a document",
  again: "a document will be sent again",
  uncertain: "the ledger's answer was lost: the document will be looked up",
} as const;

function reportOutcome(
  { log, metrics }: Observers,
  organisationId: string,
  { kind, traceparent, document, claimedAt }: Claimed,
  outcome: PostingOutcome,
): void {
  const { jobId, attempt } = outcome;
  const result = outcome.kind.endsWith("_done") ? "done" : (outcome.kind as keyof typeof words);
  metrics.jobs.inc({ kind, outcome: result });
  const traceId = readTraceparent(traceparent)?.traceId;
  // A reason of a retry may have the ledger's own words. The reason of a refusal is a word of ours.
  const reason = outcome.kind === "refused" ? { reason: outcome.reason } : {};
  log.info(
    { ...(traceId && { traceId }), organisationId, jobId, kind, ...document, attempt, ...reason },
    words[result],
  );
  if (traceparent === null) return;
  const active = trace.getActiveSpan();
  const span = trace.getTracer("billing").startSpan(
    `post ${kind}`,
    {
      kind: SpanKind.INTERNAL,
      startTime: claimedAt,
      attributes: { "billing.job_id": jobId, "billing.outcome": result },
      // The run that carried it may have begun in another request's trace.
      links: active === undefined ? [] : [{ context: active.spanContext() }],
    },
    continuedFrom(traceparent),
  );
  if (result !== "done") span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Returns the store of deliveries with its recorded attempts observed. */
export function observedDeliveries(
  store: DeliveryStore,
  { log, metrics }: Observers,
): DeliveryStore {
  return {
    ...store,
    record: async (key, attempts) => {
      const recorded = await store.record(key, attempts);
      for (const { deliveryId, status, latencyMs, verdict, traceparent } of attempts.attempts) {
        metrics.deliveries.inc({ outcome: verdict });
        // One run delivers events of many traces, so the line has that of its event.
        const traceId = readTraceparent(traceparent)?.traceId;
        log.info(
          {
            ...(traceId && { traceId }),
            ...key,
            deliveryId,
            status,
            latencyMs: Math.round(latencyMs),
          },
          verdict === "delivered" ? "an event was delivered" : "a delivery failed",
        );
      }
      return recorded;
    },
  };
}

/** Returns the store of amendments with its recorded outcomes observed. */
export function observedAmendments(open: OpenAmendments, observers: Observers): OpenAmendments {
  return (organisationId) => {
    const store = open(organisationId);
    return {
      ...store,
      record: async (amendment, outcome) => {
        const hasCredit = await store.record(amendment, outcome);
        const { id: jobId, invoiceId, subscriptionId, attempts: attempt } = amendment;
        const ids = { organisationId, jobId, invoiceId, subscriptionId, attempt };
        observers.metrics.jobs.inc({ kind: "amend_invoice", outcome: outcome.kind });
        observers.log.info(
          { ...ids, ...(outcome.kind === "refused" && { reason: outcome.reason }) },
          amendmentWords[outcome.kind],
        );
        return hasCredit;
      },
    };
  };
}

const amendmentWords = {
  done: "an invoice was amended in the ledger",
  refused: "the ledger refused an amendment",
  closed: "an invoice was closed: its amendment is billed on another invoice",
  again: "an amendment will be sent again",
  uncertain: "the ledger's answer was lost: the invoice will be read",
} as const;

/** Returns the store of terminations with their refusals and ends observed. */
export function observedTerminations(
  open: OpenTerminations,
  { log, metrics }: Observers,
): OpenTerminations {
  const report = (
    organisationId: string,
    leased: LeasedTermination,
    outcome: "done" | "refused",
  ) => {
    const { terminationId: jobId, subscriptionId } = leased;
    metrics.jobs.inc({ kind: "end_subscription", outcome });
    const line = outcome === "done" ? "a subscription was ended" : "the ledger refused an end";
    log.info({ organisationId, jobId, subscriptionId }, line);
  };
  return (organisationId) => {
    const store = open(organisationId);
    return {
      ...store,
      refuse: async (leased, refused) => {
        const written = await store.refuse(leased, refused);
        if (written !== null) report(organisationId, leased, "refused");
        return written;
      },
      finish: async (leased, when) => {
        const written = await store.finish(leased, when);
        if (written !== null) report(organisationId, leased, "done");
        return written;
      },
    };
  };
}
