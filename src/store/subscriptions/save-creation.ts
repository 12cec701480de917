/**
 * Writes a decided creation: the subscription, its periods, its invoices under reserved numbers,
 * and a job for each document. SQL: one statement takes the numbers of a counter, which it holds
 * until its commit (INVARIANT-2).
 */
import { startOfDay } from "../../domain/calendar/civil-date.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { CreationDecision } from "../../domain/subscriptions/create.ts";
import { columns } from "../../gen/columns.ts";
import { columnSet } from "../database/column-set.ts";
import { isDatabaseError, uniqueViolation } from "../database/errors.ts";
import {
  inTransaction,
  type Pool,
  repeatBrokenOff,
  type Transaction,
  tracing,
} from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { columnsOf, namesOf, sql } from "../database/sql/sql.ts";
import { command, type Executor } from "../database/sql/statement.ts";
import {
  decimalText,
  insertDocuments,
  insertJobs,
  insertLines,
  invoiceColumns,
  invoiceLineColumns,
  invoiceLineRecords,
  invoiceRecord,
  jobColumns,
  withIds,
} from "../documents/document-writes.ts";
import { insertSheets, sheetColumns, sheetRecords } from "../documents/line-facts.ts";
import type { InvoiceIds } from "../documents/unsent-invoices.ts";
import type { RequestToSave } from "./saved-requests.ts";

/**
 * `exists`: another request with the same identity was faster. `changed`: since the facts were
 * loaded, Setup Mode or the catalogue changed, or the customer became inactive.
 */
export type CreationSave = "saved" | "exists" | "changed";

/**
 * What a creation writes in addition to its decision. `first` has the first invoice's ids, created
 * early so that a caller can watch its job.
 */
export interface CreationToSave extends Omit<RequestToSave, "requestId"> {
  readonly subscriptionId: string;
  readonly setupMode: boolean;
  readonly catalogueVersion: string;
  readonly decision: CreationDecision;
  readonly first: InvoiceIds;
}

/** The columns of the subscription that a creation sets, besides its organisation. */
const subscriptionColumns = {
  ...pick(columns.subscription, "id", "customerId", "planId", "status", "currency", "timezone"),
  ...pick(columns.subscription, "intervalUnit", "intervalCount", "startDate", "billingDay"),
  ...pick(columns.subscription, "renewalDate", "endDate", "units", "minimumUnits", "label"),
  ...pick(columns.subscription, "discountPercent", "priceOverride", "endAfterCycles"),
  ...pick(columns.subscription, "invoiceReference", "requestHash", "requestedBy", "dueAt"),
  ...pick(columns.subscription, "createdAt"),
};

const periodColumns = {
  ...pick(columns.period, "index", "startDate", "endDate", "billedUnits", "billedBy", "setupMode"),
};

const subscriptions = columnSet(subscriptionColumns, 7);
const periods = columnSet(periodColumns, subscriptions.next);
const invoices = columnSet({ ...invoiceColumns, ...jobColumns }, periods.next);
const lines = columnSet(invoiceLineColumns, invoices.next);
const sheets = columnSet(sheetColumns, lines.next);

const record = sql`r`;

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
  SELECT r.* FROM organisation o, customer c, ${subscriptions.source(record)}
  WHERE o.setup_mode = $3 AND o.catalogue_version = $4
), sheet AS (
  ${insertSheets(sql`creation, ${sheets.source(record)}`)} RETURNING name
), counter AS (
  UPDATE document_counters d SET next = d.next + $5::int
  FROM creation, (SELECT count(*) FROM sheet) AS saved
  WHERE d.organisation_id = $1 AND d.kind = 'invoice' AND $5 > 0
  RETURNING d.next - $5 AS first
), subscription AS (
  INSERT INTO subscriptions (organisation_id, ${namesOf(subscriptionColumns)})
  SELECT $1, ${columnsOf(record, subscriptionColumns)} FROM creation r
  RETURNING id
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, previous_index,
    ${namesOf(periodColumns)})
  SELECT $1, s.id, nullif(r.index, 0) - 1, ${columnsOf(record, periodColumns)}
  FROM creation s, ${periods.source(record)} ORDER BY r.index
), invoice AS (
  ${insertDocuments("invoice", invoiceColumns, sql`s.created_at`)}
  FROM creation s, organisation o, counter k, ${invoices.source(record)} ORDER BY r.position
), line AS (
  ${insertLines("invoice", invoiceLineColumns)} FROM creation, ${lines.source(record)}
  ORDER BY r.invoice_id, r.position
), operation AS (
  ${insertJobs("invoice", sql`$6`)} FROM creation, ${invoices.source(record)} ORDER BY r.position
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
  { subscriptionId, decision, first, ...creation }: CreationToSave,
): Promise<Exclude<CreationSave, "exists">> {
  const { subscription, dueDate, firstPeriod, renewalPeriod } = decision;
  const { customerId, timezone, interval } = subscription;
  const { invoice, renewalInvoice } = decision;
  const issued = withIds(subscriptionId, [
    invoice && { id: first.invoiceId, jobId: first.jobId, draft: invoice },
    renewalInvoice && { draft: renewalInvoice },
  ]);
  const written = issued.map(({ draft }) => ({ subscriptionId, lines: draft.lines }));
  const row = {
    ...subscription,
    id: subscriptionId,
    intervalUnit: interval.unit,
    intervalCount: interval.count,
    discountPercent: formatDecimal(subscription.discountPercent),
    priceOverride: decimalText(subscription.priceOverride),
    requestHash: creation.requestHash,
    requestedBy: creation.requestedBy,
    dueAt: dueDate === null ? null : startOfDay(timezone, dueDate),
  };
  const begun = [firstPeriod, renewalPeriod].filter((period) => period !== null);
  const saved = await save(
    executor,
    organisationId,
    customerId,
    creation.setupMode,
    creation.catalogueVersion,
    issued.length,
    creation.awaitedUntil,
    ...subscriptions.arrays([row]),
    ...periods.arrays(
      begun.map(({ start, end, ...period }) => ({ ...period, startDate: start, endDate: end })),
    ),
    ...invoices.arrays(issued.map(invoiceRecord)),
    ...lines.arrays(issued.flatMap((one) => invoiceLineRecords(one, one.draft.lines))),
    ...sheets.arrays(sheetRecords(written)),
  );
  return saved === 1 ? "saved" : "changed";
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
