/**
 * Creates subscriptions. One read loads the facts for the decision. One statement writes the
 * subscription, its periods, its invoices under reserved numbers, and a job for each document. SQL:
 * the hot path, in which a number is a claim of a counter.
 */
import { startOfDay } from "../../domain/calendar/civil-date.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { CreationDecision, CreationFacts } from "../../domain/subscriptions/create.ts";
import {
  type OrganisationRow,
  organisationColumns,
  readOrganisation,
} from "../access/organisation-settings.ts";
import {
  type ChargeRow,
  chargeListing,
  type PlanRow,
  planListing,
  readCharge,
  readPlan,
} from "../catalogue/catalogue.ts";
import { type CustomerRow, customerListing, readCustomer } from "../customers/customers.ts";
import type { Executor } from "../database/client.ts";
import { newId } from "../database/ids.ts";
import {
  type AnyRow,
  isDatabaseError,
  type Pool,
  queryInTrace,
  repeatBrokenOff,
  type Statement,
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

/** The keys of everything that a creation looks up. */
export interface CreationQuery {
  readonly subscriptionId: string;
  readonly customerCode: string;
  readonly planCode: string;
  readonly chargeCodes: readonly string[];
}

/**
 * The facts. `requestHash` is of the request that created this subscription, null if there is none
 * yet.
 */
export interface LoadedCreation {
  readonly facts: Omit<CreationFacts, "now">;
  readonly requestHash: Buffer | null;
  /**
   * The catalogue version of the facts. The decision is saved only if that version is still
   * current.
   */
  readonly catalogueVersion: string;
}

interface FactsRow extends OrganisationRow {
  catalogue_version: string;
  request_hash: Buffer | null;
  customer: CustomerRow | null;
  plan: PlanRow | null;
  charges: ChargeRow[] | null;
}

const factsText = `SELECT ${organisationColumns}, o.catalogue_version::text,
  (SELECT s.request_hash FROM subscriptions s WHERE s.organisation_id = $1
    AND s.id = $2) AS request_hash,
  (SELECT row_to_json(r) FROM (SELECT ${customerListing.columns} FROM customers t
    WHERE t.organisation_id = $1 AND t.code = $3 AND ${customerListing.shown}) r) AS customer,
  (SELECT row_to_json(r) FROM (SELECT ${planListing.columns} FROM plans t
    WHERE t.organisation_id = $1 AND t.code = $4) r) AS plan,
  (SELECT json_agg(row_to_json(r)) FROM (SELECT ${chargeListing.columns} FROM charges t
    WHERE t.organisation_id = $1 AND t.code = ANY ($5)) r) AS charges
  FROM organisations o WHERE o.id = $1`;

/** Loads the facts of a creation in one read (CREATE-1). */
export async function loadCreation(
  executor: Executor,
  organisationId: string,
  query: CreationQuery,
): Promise<LoadedCreation> {
  const { rows } = await executor.query<FactsRow>({
    name: "load_creation",
    text: factsText,
    values: [
      organisationId,
      query.subscriptionId,
      query.customerCode,
      query.planCode,
      query.chargeCodes,
    ],
  });
  const row = rows[0];
  if (row === undefined) throw new Error(`organisation ${organisationId} is gone`);
  const charges = (row.charges ?? []).map((charge) => readCharge(charge));
  return {
    requestHash: row.request_hash,
    catalogueVersion: row.catalogue_version,
    facts: {
      organisation: readOrganisation(row),
      customer: row.customer === null ? null : readCustomer(row.customer),
      plan: row.plan === null ? null : readPlan(row.plan),
      charges: new Map(charges.map((charge) => [charge.code, charge])),
    },
  };
}

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

const saveText = `
WITH organisation AS (
  SELECT o.id, o.number_prefix FROM organisations o JOIN customers c ON c.organisation_id = o.id
  WHERE o.id = $1 AND o.setup_mode = $2 AND o.catalogue_version = $11 AND c.id = $12
    AND c.status = 'active'
  FOR SHARE
), counter AS (
  UPDATE document_counters d SET next = d.next + $3 FROM organisation o
  WHERE d.organisation_id = o.id AND d.kind = 'invoice' AND $3 > 0 RETURNING d.next - $3 AS first
), subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone,
    start_date, billing_day, renewal_date, end_date, units, minimum_units, discount_percent,
      price_override, end_after_cycles,
    label, invoice_reference, request_hash, requested_by, due_at, created_at)
  SELECT r.id, o.id, r.customer_id, r.plan_id, r.status, r.currency, r.interval_unit,
    r.interval_count, r.timezone,
    r.start_date, r.billing_day, r.renewal_date, r.end_date, r.units, r.minimum_units,
      r.discount_percent, r.price_override,
    r.end_after_cycles, r.label, r.invoice_reference, $4::bytea, $13::uuid, r.due_at, r.created_at
  FROM organisation o, jsonb_to_record($5) AS r(id uuid, customer_id uuid, plan_id uuid,
    status text, currency text,
    interval_unit text, interval_count int, timezone text, start_date date, billing_day int,
      renewal_date date, end_date date,
    units int, minimum_units int, discount_percent numeric, price_override numeric,
      end_after_cycles int, label text,
    invoice_reference text, due_at timestamptz, created_at timestamptz)
  RETURNING id, customer_id, created_at
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units, setup_mode)
  SELECT $1, s.id, r.index, nullif(r.index, 0) - 1, r.start_date, r.end_date, r.billed_units, $2
  FROM subscription s, jsonb_to_recordset($6) AS r(index int, start_date date, end_date date,
    billed_units int)
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, reference, type,
    status, currency, subtotal,
    total, amount_due, issue_date, due_date, period_index, period_start, period_end, created_at)
  SELECT r.id, o.id, s.customer_id, s.id,
    ${documentNumber("o.number_prefix", "k.first + r.position")},
    r.reference, r.type, 'scheduled', r.currency, r.subtotal, r.subtotal, r.subtotal, r.issue_date,
      r.due_date, r.period_index,
    r.period_start, r.period_end, s.created_at
  FROM organisation o, subscription s, counter k, jsonb_to_recordset($7) AS r(${invoiceRecordType})
  ORDER BY r.position
), line AS (
  ${insertLines}
  FROM organisation o, jsonb_to_recordset($8) AS r(${lineRecordType})
), operation AS (
  INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
    awaited_until)
  SELECT r.id, o.id, 'create_invoice', 'ready', s.id, r.invoice_id, $10::timestamptz
  FROM organisation o, subscription s, jsonb_to_recordset($9) AS r(id uuid, invoice_id uuid,
    position int) ORDER BY r.position
)
SELECT count(*)::int AS saved FROM subscription`;

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
    const query = creationQuery(organisationId, creation);
    return isSaved(await repeatBrokenOff(() => queryInTrace(pool, query))) ? "saved" : "changed";
  } catch (error) {
    if (isDatabaseError(error, uniqueViolation, "subscriptions_pkey")) return "exists";
    throw error;
  }
}

/** Whether the statement of `creationQuery` wrote the subscription. */
export function isSaved({ rows }: { readonly rows: readonly AnyRow[] }): boolean {
  return rows[0]?.saved === 1;
}

/** Returns the statement that writes a decided creation. */
export function creationQuery(organisationId: string, creation: CreationToSave): Statement {
  const { decision, subscriptionId, first } = creation;
  const invoices = [
    { ...first, draft: decision.invoice },
    { invoiceId: newId(), jobId: newId(), draft: decision.renewalInvoice },
  ].flatMap(({ draft, ...ids }, position) => (draft === null ? [] : [{ ...ids, position, draft }]));
  return {
    name: "save_creation",
    text: saveText,
    values: [
      organisationId,
      creation.setupMode,
      invoices.length,
      creation.requestHash,
      JSON.stringify(subscriptionRecord(subscriptionId, decision)),
      JSON.stringify(periodRecords(decision)),
      JSON.stringify(
        invoices.map(({ invoiceId, position, draft }) => invoiceRecord(invoiceId, position, draft)),
      ),
      JSON.stringify(
        invoices.flatMap(({ invoiceId, draft }) => lineRecords(invoiceId, draft.lines)),
      ),
      JSON.stringify(
        invoices.map(({ jobId, invoiceId, position }) => ({
          id: jobId,
          invoice_id: invoiceId,
          position,
        })),
      ),
      creation.awaitedUntil,
      creation.catalogueVersion,
      decision.subscription.customerId,
      creation.requestedBy ?? null,
    ],
  };
}

function subscriptionRecord(id: string, { subscription, dueDate }: CreationDecision): object {
  return {
    id,
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

function periodRecords({ firstPeriod, renewalPeriod }: CreationDecision): object[] {
  return [firstPeriod, renewalPeriod]
    .filter((period) => period !== null)
    .map(({ index, start, end, billedUnits }) => ({
      index,
      start_date: start,
      end_date: end,
      billed_units: billedUnits,
    }));
}
