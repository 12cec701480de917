/**
 * Writes a decided creation: the subscription, its periods, its invoices under reserved numbers,
 * and a job for each document. SQL: one statement takes the numbers of a counter, which it holds
 * until its commit (INVARIANT-2).
 */
import { startOfDay } from "../../domain/calendar/civil-date.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { CreationDecision } from "../../domain/subscriptions/create.ts";
import { isDatabaseError, uniqueViolation } from "../database/errors.ts";
import { newId } from "../database/ids.ts";
import {
  inTransaction,
  type Pool,
  repeatBrokenOff,
  type Transaction,
  tracing,
} from "../database/pool.ts";
import type { Executor } from "../database/prisma/client.ts";
import { identifier, joinSql, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import {
  decimalText,
  documentNumber,
  insertLines,
  invoiceRecord,
  invoiceRecordType,
  lineRecords,
  lineRecordType,
} from "../documents/invoice-writes.ts";
import { sheetRecords } from "../documents/line-facts.ts";
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

/** The columns of the subscription that a creation sets, besides its organisation. */
const subscriptionColumns = [
  "id",
  "customer_id",
  "plan_id",
  "status",
  "currency",
  "interval_unit",
  "interval_count",
  "timezone",
  "start_date",
  "billing_day",
  "renewal_date",
  "end_date",
  "units",
  "minimum_units",
  "discount_percent",
  "price_override",
  "end_after_cycles",
  "label",
  "invoice_reference",
  "request_hash",
  "requested_by",
  "due_at",
  "created_at",
] as const;

const written = joinSql(subscriptionColumns.map(identifier), ", ");
const ofRecord = joinSql(
  subscriptionColumns.map((column) => sql`r.${identifier(column)}`),
  ", ",
);

// The organisation and the customer are locked before they are compared, so that their values are
// the current ones. The counter waits for the sheets, as the order of locks wants it.
const save = command({
  name: "save_creation",
  planned: "once",
  text: sql`
WITH organisation AS (
  SELECT o.id, o.number_prefix, o.setup_mode, o.catalogue_version FROM organisations o
  WHERE o.id = $1 FOR SHARE
), customer AS (
  SELECT c.id FROM organisation o JOIN customers c ON c.organisation_id = o.id
  WHERE c.id = $2 AND c.status = 'active' FOR SHARE OF c
), creation AS (
  SELECT r.*, o.number_prefix
  FROM organisation o, customer c, jsonb_populate_record(NULL::subscriptions, $5) r
  WHERE o.setup_mode = $3 AND o.catalogue_version = $4
), sheet AS (
  INSERT INTO price_sheets (organisation_id, name, content)
  SELECT $1, r.name, r.content
  FROM creation, jsonb_to_recordset($11) AS r(name text, content text) ORDER BY r.name
  ON CONFLICT DO NOTHING RETURNING name
), counter AS (
  UPDATE document_counters d SET next = d.next + $6::int
  FROM creation, (SELECT count(*) FROM sheet) AS saved
  WHERE d.organisation_id = $1 AND d.kind = 'invoice' AND $6 > 0
  RETURNING d.next - $6 AS first
), subscription AS (
  INSERT INTO subscriptions (organisation_id, ${written})
  SELECT $1, ${ofRecord} FROM creation r
  RETURNING id
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units, billed_by, setup_mode)
  SELECT $1, s.id, r.index, nullif(r.index, 0) - 1, r.start_date, r.end_date, r.billed_units,
    r.billed_by, r.setup_mode
  FROM creation s, jsonb_populate_recordset(NULL::periods, $7) r ORDER BY r.index
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, reference, type,
    status, currency, subtotal, total, amount_due, issue_date, due_date, period_index, period_start,
    period_end, created_at)
  SELECT r.id, $1, s.customer_id, s.id,
    ${documentNumber(sql`s.number_prefix`, sql`k.first + r.position`)}, r.reference, r.type,
    'scheduled', r.currency, r.subtotal, r.subtotal, r.subtotal, r.issue_date, r.due_date,
    r.period_index, r.period_start, r.period_end, s.created_at
  FROM creation s, counter k, jsonb_to_recordset($8) AS r(${invoiceRecordType})
  ORDER BY r.position
), line AS (
  ${insertLines}
  FROM creation, jsonb_to_recordset($9) AS r(${lineRecordType}) ORDER BY r.invoice_id, r.position
), operation AS (
  INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
    awaited_until)
  SELECT r.job_id, $1, 'create_invoice', 'ready', s.id, r.id, $10
  FROM creation s, jsonb_to_recordset($8) AS r(id uuid, job_id uuid, position int)
  ORDER BY r.position
)
SELECT FROM subscription`,
});

/**
 * Writes a decided creation completely or not at all. The same statement takes the document
 * numbers, so that none is skipped (INVARIANT-2). It locks the organisation as it was when decided,
 * so that nothing is issued after Setup Mode is switched on. The id comes from the idempotency key
 * (IDEMPOTENCY-7).
 */
export async function saveCreation(
  pool: Pool,
  organisationId: string,
  creation: CreationToSave,
): Promise<CreationSave> {
  try {
    return await repeatBrokenOff(() => writeCreation(tracing(pool), organisationId, creation));
  } catch (error) {
    if (isExisting(error)) return "exists";
    throw error;
  }
}

/** Whether the error is that another request with the same identity was faster. */
function isExisting(error: unknown): boolean {
  return isDatabaseError(error, uniqueViolation, "subscriptions_pkey");
}

/** Writes a decided creation in one statement. Throws what `isExisting` recognises. */
async function writeCreation(
  executor: Executor,
  organisationId: string,
  creation: CreationToSave,
): Promise<Exclude<CreationSave, "exists">> {
  const { decision, first } = creation;
  const documents = [
    { ...first, draft: decision.invoice },
    { invoiceId: newId(), jobId: newId(), draft: decision.renewalInvoice },
  ].flatMap(({ draft, ...ids }) => (draft === null ? [] : [{ ...ids, draft }]));
  const invoices = documents.map(({ invoiceId, jobId, draft }, position) => ({
    ...invoiceRecord(invoiceId, position, draft),
    job_id: jobId,
  }));
  const { subscriptionId } = creation;
  const lines = documents.flatMap(({ invoiceId, draft }) =>
    lineRecords({ id: invoiceId, subscriptionId }, draft.lines),
  );
  const written = documents.map(({ draft }) => ({ subscriptionId, lines: draft.lines }));
  const saved = await save(
    executor,
    organisationId,
    decision.subscription.customerId,
    creation.setupMode,
    creation.catalogueVersion,
    JSON.stringify(subscriptionRecord(creation)),
    documents.length,
    JSON.stringify(periodRecords(decision)),
    JSON.stringify(invoices),
    JSON.stringify(lines),
    creation.awaitedUntil,
    JSON.stringify(sheetRecords(written)),
  );
  return saved === 1 ? "saved" : "changed";
}

function subscriptionRecord({
  subscriptionId,
  requestHash,
  requestedBy,
  decision: { subscription, dueDate },
}: CreationToSave): Readonly<Record<(typeof subscriptionColumns)[number], unknown>> {
  return {
    id: subscriptionId,
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
    request_hash: `\\x${Buffer.from(requestHash).toString("hex")}`,
    requested_by: requestedBy ?? null,
    due_at: dueDate === null ? null : startOfDay(subscription.timezone, dueDate),
    created_at: subscription.createdAt,
  };
}

function periodRecords({ firstPeriod, renewalPeriod }: CreationDecision): object[] {
  return [firstPeriod, renewalPeriod]
    .filter((period) => period !== null)
    .map(({ index, start, end, billedUnits, billedBy, setupMode }) => ({
      index,
      start_date: start,
      end_date: end,
      billed_units: billedUnits,
      billed_by: billedBy,
      setup_mode: setupMode,
    }));
}

/** What runs in the transaction of a creation, before its write and after it. */
interface AroundCreation {
  readonly onBegun: (tx: Transaction) => Promise<void>;
  readonly onSaved: (tx: Transaction) => Promise<void>;
}

/** Writes the creation as `saveCreation` does, in a transaction with other reads and writes. */
export async function saveCreationWith(
  pool: Pool,
  organisationId: string,
  creation: CreationToSave,
  { onBegun, onSaved }: AroundCreation,
): Promise<CreationSave> {
  try {
    return await inTransaction(pool, async (tx) => {
      await onBegun(tx);
      const saved = await writeCreation(tx, organisationId, creation);
      if (saved !== "saved") return saved;
      await onSaved(tx);
      return "saved";
    });
  } catch (error) {
    if (isExisting(error)) return "exists";
    throw error;
  }
}
