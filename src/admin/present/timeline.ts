/** Presents the entries of a subscription's timeline, each with a sentence for people. ADMIN-12 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  TimelineEntrySchema,
  TimelineEventSchema,
} from "../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import type {
  TimelineDetail,
  TimelineDocument,
  TimelineEntry,
} from "../../store/admin/timeline/timeline.ts";
import { documentKinds, requesterKinds, timelineKinds } from "./enums.ts";

/** The addresses of an entry. Null without a page. */
interface Pages {
  readonly ledgerUrl: string | null;
  readonly workflowUrl: string | null;
}

/** An entry with its sentence and its addresses. `id` is its position. */
export function presentTimelineEntry(
  entry: TimelineEntry,
  { ledgerUrl, workflowUrl }: Pages,
): MessageInitShape<typeof TimelineEntrySchema> {
  const { at, kind, detail, document, requester } = entry;
  return {
    id: `${entry.micros}.${entry.rank}.${entry.id}`,
    at: at.toISOString(),
    kind: timelineKinds[kind],
    summary: sentenceOf(entry),
    requester: requester ? { ...requester, kind: requesterKinds[requester.kind] } : undefined,
    reason: entry.reason ?? detail.reason ?? undefined,
    message: detail.message ?? undefined,
    document: document
      ? { ...document, kind: documentKinds[document.kind], ledgerUrl: ledgerUrl ?? undefined }
      : undefined,
    event: presentEvent(detail),
    attempts: detail.attempts || undefined,
    nextAttemptAt: instantOf(detail.nextAttemptAt),
    organisationTime: instantOf(detail.organisationTime),
    workflowUrl: workflowUrl ?? undefined,
  };
}

/** An instant of PostgreSQL's JSON as the contract writes it. */
function instantOf(text: string | null | undefined): string | undefined {
  return text ? new Date(text).toISOString() : undefined;
}

function presentEvent({
  eventId: id,
  type,
  deliveryId: delivery,
  endpointId: endpoint,
  url,
  status,
}: TimelineDetail): MessageInitShape<typeof TimelineEventSchema> | undefined {
  if (id === undefined) return undefined;
  return { id, type: type ?? "", delivery, endpoint, url, status: status ?? undefined };
}

/** What happened, in one sentence without a full stop. */
function sentenceOf({ kind, detail, document }: TimelineEntry): string {
  const { plan, amount, currency, type, url } = detail;
  const money = `${amount} ${currency}`;
  const it = nameOf(document);
  switch (kind) {
    case "created":
      return `Created on plan ${plan}`;
    case "units_changed":
      return unitsSentence(detail);
    case "end_requested":
      return endSentence(detail);
    case "restored":
      return "Restored";
    case "deferred":
      return document === null
        ? `${money} deferred to the next renewal invoice`
        : `${money} deferred to the renewal, billed by ${it}`;
    case "issued":
      return `Issued ${it}${type ? ` (${type})` : ""}, now ${money} without tax`;
    case "amended":
      return `Changed ${it}`;
    case "waiting":
      return `The ledger has not decided on ${subjectOf(detail, it)} yet`;
    case "posted":
      return `The ledger has ${subjectOf(detail, it)}`;
    case "refused":
      return `The ledger refused ${subjectOf(detail, it)}`;
    case "abandoned":
      return `Gave up ${subjectOf(detail, it)}`;
    case "credited":
      return `${detail.reversed ? "Reversed: " : ""}${money} of ${it} applied to ${detail.invoice}`;
    case "paid":
    case "voided":
    case "deleted":
      return `The ledger reports ${it} as ${kind}`;
    case "removed":
      return `Removed ${it} (${detail.outcome})${detail.reissued ? ", and issued it again" : ""}`;
    case "removal_refused":
      return `The ledger refused to remove ${it}`;
    case "kept":
      return `Left ${it} as it is`;
    case "ended":
      return detail.when === "now" ? "Ended" : "Set to end with its period";
    case "end_refused":
      return "The end was refused, and the subscription continues";
    case "parked":
      return "Billing failed and is tried again";
    case "published":
      return `Published ${type}`;
    case "delivered":
      return `${type} accepted by ${url}`;
    case "delivery_failed":
      return `${type} not accepted by ${url}`;
    case "delivery_waiting":
      return `${type} waits for ${url}`;
    case "delivery_ended":
      return `${type} is no longer sent to ${url}`;
    case "operator":
      return `${detail.operator}: ${String(detail.operation).replace(/^.*\//, "")}${
        document === null ? "" : ` of ${document.number}`
      }`;
  }
}

function nameOf(document: TimelineDocument | null): string {
  if (document === null) return "the subscription";
  return `${document.kind === "invoice" ? "invoice" : "credit note"} ${document.number}`;
}

/** What a job asks the ledger for. */
function subjectOf({ jobKind }: TimelineDetail, it: string): string {
  switch (jobKind) {
    case "amend_invoice":
      return `the change of ${it}`;
    case "allocate_credit":
      return `the allocation of ${it}`;
    case "end_subscription":
      return "the removals of the end";
    default:
      return it;
  }
}

function unitsSentence(detail: TimelineDetail): string {
  const { fromUnits, toUnits, invoice, renewalInvoice, creditNote, deferred } = detail;
  const effects = [
    invoice ? `billed by ${invoice}` : "",
    renewalInvoice ? `re-prices ${renewalInvoice}` : "",
    creditNote ? `credited by ${creditNote}` : "",
    deferred ? "deferred to the renewal" : "",
  ].filter((effect) => effect !== "");
  return [`Units from ${fromUnits} to ${toUnits}`, ...effects].join(", ");
}

function endSentence({ when, removals = 0 }: TimelineDetail): string {
  const first = when === "now" ? "End requested" : "End with the period requested";
  if (removals === 0) return first;
  return `${first}, ${removals} ${removals === 1 ? "invoice" : "invoices"} to remove first`;
}
