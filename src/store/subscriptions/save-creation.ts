/**
 * Writes decided creations: the subscription, its periods, its invoices under reserved numbers, and
 * a job for each document. One statement writes one creation or several of an organisation, since
 * each commit holds the organisation's counter of numbers. SQL: the hot path, in which a number is
 * a claim of a counter.
 */
import { startOfDay } from "../../domain/calendar/civil-date.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { CreationDecision } from "../../domain/subscriptions/create.ts";
import type { Statement } from "../database/connection.ts";
import { newId } from "../database/ids.ts";
import { plannedOnce } from "../database/planned-once.ts";
import {
  isDatabaseError,
  type Pool,
  queryInTrace,
  repeatBrokenOff,
  uniqueViolation,
} from "../database/pool.ts";
import {
  decimalText,
  documentNumber,
  insertLines,
  invoiceRecord,
  invoiceRecordType,
  lineRecords,
  lineRecordType,
} from "../documents/invoice-writes.ts";
import type { InvoiceIds } from "../documents/unsent-invoices.ts";

/**
 * `exists`: another request with the same identity was faster. `changed`: since the facts were
 * loaded, Setup Mode or the catalogue changed, or the customer became inactive.
 */
export type CreationSave = "saved" | "exists" | "changed";

/**
 * What a creation writes in addition to its decision. `first` has the first invoice's ids, created
 * early so that a caller can watch its job.
 */
export interface CreationToSave {
  readonly subscriptionId: string;
  readonly requestHash: Uint8Array;
  /** The API key, or the operator's token. */
  readonly requestedBy?: string;
  readonly setupMode: boolean;
  readonly catalogueVersion: string;
  readonly decision: CreationDecision;
  readonly first: InvoiceIds;
  readonly awaitedUntil: Date;
}

// The organisation and the customers are locked before they are compared, so that their values are
// the current ones. `counted` is how many invoices the earlier creations of the statement have.
const saveText = `
WITH organisation AS (
  SELECT o.id, o.number_prefix, o.setup_mode, o.catalogue_version FROM organisations o
  WHERE o.id = $1 FOR SHARE
), customer AS (
  SELECT c.id FROM organisation o JOIN customers c ON c.organisation_id = o.id
  WHERE c.id = ANY ($2::uuid[]) AND c.status = 'active' ORDER BY c.id FOR SHARE OF c
), creation AS (
  SELECT r.*, (sum(r.invoices) OVER (ORDER BY r.n) - r.invoices)::int AS counted
  FROM organisation o, jsonb_to_recordset($3) AS r(n int, invoices int, setup_mode boolean,
    catalogue_version bigint, request_hash text, requested_by uuid, awaited_until timestamptz,
    id uuid, customer_id uuid, plan_id uuid, status text, currency text, interval_unit text,
    interval_count int, timezone text, start_date date, billing_day int, renewal_date date,
    end_date date, units int, minimum_units int, discount_percent numeric,
    price_override numeric, end_after_cycles int, label text, invoice_reference text,
    due_at timestamptz, created_at timestamptz)
  WHERE r.setup_mode = o.setup_mode AND r.catalogue_version = o.catalogue_version
    AND r.customer_id IN (SELECT id FROM customer)
), counter AS (
  UPDATE document_counters d SET next = d.next + t.invoices
  FROM (SELECT sum(invoices)::int AS invoices FROM creation) t
  WHERE d.organisation_id = $1 AND d.kind = 'invoice' AND t.invoices > 0
  RETURNING d.next - t.invoices AS first
), subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone, start_date, billing_day, renewal_date, end_date,
    units, minimum_units, discount_percent, price_override, end_after_cycles, label,
    invoice_reference, request_hash, requested_by, due_at, created_at)
  SELECT r.id, $1, r.customer_id, r.plan_id, r.status, r.currency, r.interval_unit,
    r.interval_count, r.timezone, r.start_date, r.billing_day, r.renewal_date, r.end_date,
    r.units, r.minimum_units, r.discount_percent, r.price_override, r.end_after_cycles, r.label,
    r.invoice_reference, decode(r.request_hash, 'hex'), r.requested_by, r.due_at, r.created_at
  FROM creation r ORDER BY r.n
  RETURNING id
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units, setup_mode)
  SELECT $1, s.id, r.index, nullif(r.index, 0) - 1, r.start_date, r.end_date, r.billed_units,
    r.setup_mode
  FROM jsonb_to_recordset($4) AS r(subscription_id uuid, index int, start_date date,
    end_date date, billed_units int, setup_mode boolean)
  JOIN creation s ON s.id = r.subscription_id ORDER BY s.n, r.index
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, reference, type,
    status, currency, subtotal,
    total, amount_due, issue_date, due_date, period_index, period_start, period_end, created_at)
  SELECT r.id, o.id, s.customer_id, s.id,
    ${documentNumber("o.number_prefix", "k.first + s.counted + r.position")},
    r.reference, r.type, 'scheduled', r.currency, r.subtotal, r.subtotal, r.subtotal, r.issue_date,
      r.due_date, r.period_index,
    r.period_start, r.period_end, s.created_at
  FROM organisation o, counter k,
    jsonb_to_recordset($5) AS r(subscription_id uuid, ${invoiceRecordType})
  JOIN creation s ON s.id = r.subscription_id ORDER BY s.n, r.position
), line AS (
  ${insertLines}
  FROM jsonb_to_recordset($6) AS r(subscription_id uuid, ${lineRecordType})
  JOIN creation s ON s.id = r.subscription_id ORDER BY s.n, r.invoice_id, r.position
), operation AS (
  INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
    awaited_until)
  SELECT r.id, $1, 'create_invoice', 'ready', s.id, r.invoice_id, s.awaited_until
  FROM jsonb_to_recordset($7) AS r(subscription_id uuid, id uuid, invoice_id uuid, position int)
  JOIN creation s ON s.id = r.subscription_id ORDER BY s.n, r.position
)
SELECT id FROM subscription`;

/**
 * Writes each decided creation completely or not at all. The same statement takes the document
 * numbers, so that none is skipped (INVARIANT-2). It locks the organisation as it was when decided,
 * so that nothing is issued after Setup Mode is switched on. The id comes from the idempotency key
 * (IDEMPOTENCY-7). `exists` can only be the result of a creation alone: several that contain one
 * are rejected.
 */
export async function saveCreations(
  pool: Pool,
  organisationId: string,
  creations: readonly CreationToSave[],
): Promise<readonly CreationSave[]> {
  try {
    const query = creationsQuery(organisationId, creations);
    return readSaved(await repeatBrokenOff(() => queryInTrace(pool, query)), creations);
  } catch (error) {
    if (creations.length === 1 && isExisting(error)) return ["exists"];
    throw error;
  }
}

/** Whether the error is that another request with the same identity was faster. */
export function isExisting(error: unknown): boolean {
  return isDatabaseError(error, uniqueViolation, "subscriptions_pkey");
}

/** Reads which creations the statement of `creationsQuery` wrote. */
export function readSaved(
  { rows }: { readonly rows: readonly { readonly id?: string }[] },
  creations: readonly CreationToSave[],
): readonly CreationSave[] {
  const saved = new Set(rows.map(({ id }) => id));
  return creations.map(({ subscriptionId }) => (saved.has(subscriptionId) ? "saved" : "changed"));
}

/** Returns the statement that writes decided creations, in this order of their numbers. */
export function creationsQuery(
  organisationId: string,
  creations: readonly CreationToSave[],
): Statement {
  const documents = creations.flatMap(({ subscriptionId, decision, first }) =>
    [
      { ...first, draft: decision.invoice },
      { invoiceId: newId(), jobId: newId(), draft: decision.renewalInvoice },
    ].flatMap(({ draft, ...ids }, position) =>
      draft === null ? [] : [{ ...ids, subscription_id: subscriptionId, position, draft }],
    ),
  );
  return plannedOnce({
    name: "save_creation",
    text: saveText,
    values: [
      organisationId,
      creations.map(({ decision }) => decision.subscription.customerId),
      JSON.stringify(creations.map(creationRecord)),
      JSON.stringify(creations.flatMap(periodRecords)),
      JSON.stringify(
        documents.map(({ subscription_id, invoiceId, position, draft }) => ({
          subscription_id,
          ...invoiceRecord(invoiceId, position, draft),
        })),
      ),
      JSON.stringify(
        documents.flatMap(({ subscription_id, invoiceId, draft }) =>
          lineRecords(invoiceId, draft.lines).map((line) => ({ subscription_id, ...line })),
        ),
      ),
      JSON.stringify(
        documents.map(({ subscription_id, jobId, invoiceId, position }) => ({
          subscription_id,
          id: jobId,
          invoice_id: invoiceId,
          position,
        })),
      ),
    ],
  });
}

function creationRecord(creation: CreationToSave, n: number): object {
  const { decision } = creation;
  const { subscription, dueDate } = decision;
  return {
    n,
    invoices: [decision.invoice, decision.renewalInvoice].filter((draft) => draft !== null).length,
    setup_mode: creation.setupMode,
    catalogue_version: creation.catalogueVersion,
    request_hash: Buffer.from(creation.requestHash).toString("hex"),
    requested_by: creation.requestedBy ?? null,
    awaited_until: creation.awaitedUntil,
    id: creation.subscriptionId,
    customer_id: subscription.customerId,
    plan_id: subscription.planId,
    status: subscription.status,
    currency: subscription.currency,
    interval_unit: subscription.interval.unit,
    interval_count: subscription.interval.count,
    timezone: subscription.timezone,
    start_date: subscription.startDate,
    billing_day: subscription.billingDay,
    renewal_date: subscription.renewalDate,
    end_date: subscription.endDate,
    units: subscription.units,
    minimum_units: subscription.minimumUnits,
    discount_percent: formatDecimal(subscription.discountPercent),
    price_override: decimalText(subscription.priceOverride),
    end_after_cycles: subscription.endAfterCycles,
    label: subscription.label,
    invoice_reference: subscription.invoiceReference,
    due_at: dueDate === null ? null : startOfDay(subscription.timezone, dueDate),
    created_at: subscription.createdAt,
  };
}

function periodRecords({ subscriptionId, decision }: CreationToSave): object[] {
  const { firstPeriod, renewalPeriod }: CreationDecision = decision;
  return [firstPeriod, renewalPeriod]
    .filter((period) => period !== null)
    .map(({ index, start, end, billedUnits, setupMode }) => ({
      subscription_id: subscriptionId,
      index,
      start_date: start,
      end_date: end,
      billed_units: billedUnits,
      setup_mode: setupMode,
    }));
}
