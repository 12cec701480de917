/**
 * Builds subscriptions with invoices and credit notes that wait to be posted. Reads their credit
 * here and in the ledger, which must be the same.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { InvoiceDraft } from "../../../src/domain/model/invoice.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { issueDocuments } from "../../../src/store/documents/issue-documents.ts";

/** An organisation, and where it is in the ledger. */
export interface CreditOrganisation {
  readonly organisationId: string;
  readonly tenantId: string;
}

/** Documents of these tests are of this day. */
const day = civilDate("2026-04-10");

/** A revenue account and a tax type of the demo ledger: 20 % on top of every amount. */
const revenue = { revenueAccount: "200", taxType: "OUTPUT2" } as const;

/** Adds a subscription of ACME with its first period and nothing due. Returns its id. */
export async function addSubscription(pool: pg.Pool, organisationId: string): Promise<string> {
  const id = newId();
  await pool.query(
    `WITH subscription AS (
      INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
        interval_unit, interval_count, timezone,
        start_date, billing_day, renewal_date, units, minimum_units, discount_percent, due_at,
        request_hash)
      SELECT $2, $1, c.id, p.id, 'active', p.currency, 'month', 1, 'Pacific/Auckland',
        '2026-04-01', 1, '2026-05-01', 10, 0, 0, '9999-01-01', '\\x00'
      FROM customers c, plans p
      WHERE c.organisation_id = $1 AND c.code = 'ACME' AND p.organisation_id = $1
        AND p.code = 'team' RETURNING id
    )
    INSERT INTO periods (organisation_id, subscription_id, index, start_date, end_date,
      billed_units)
    SELECT $1, id, 0, '2026-04-01', '2026-05-01', 10 FROM subscription`,
    [organisationId, id],
  );
  return id;
}

/** Issues an invoice of one line over this amount. The ledger will add its tax. */
export async function issueInvoice(
  pool: pg.Pool,
  organisationId: string,
  subscriptionId: string,
  amount: string,
): Promise<{ readonly id: string; readonly jobId: string }> {
  const ids = { id: newId(), jobId: newId() };
  const subtotal = parseDecimal(amount);
  const line = {
    kind: "usage",
    name: "Calls",
    description: "",
    units: null,
    quantity: null,
    unitPrice: null,
  } as const;
  const nothing = { period: null, proration: null, chargeId: null, meterId: null } as const;
  const draft: InvoiceDraft = {
    type: "usage",
    reference: "",
    currency: "NZD",
    issueDate: day,
    dueDate: day,
    period: null,
    periodIndex: 0,
    lines: [
      {
        ...line,
        ...nothing,
        ...revenue,
        amount: subtotal,
        facts: { r: "charge/1", q: 1, m: amount, g: ids.id },
      },
    ],
    subtotal,
  };
  const issuing = { createdAt: new Date(), awaitedUntil: null };
  const documents = { invoices: [{ ...ids, subscriptionId, draft }], creditNotes: [] };
  await inTransaction(pool, (client) => issueDocuments(client, organisationId, documents, issuing));
  return ids;
}

/** Issues a credit note of one line over this amount. The ledger will add its tax. */
export async function issueCredit(
  pool: pg.Pool,
  organisationId: string,
  subscriptionId: string,
  amount: string,
): Promise<{ readonly id: string; readonly jobId: string }> {
  const ids = { id: newId(), jobId: newId() };
  const subtotal = parseDecimal(amount);
  const line = {
    name: "Scale",
    description: "10 to 11 seats",
    effectiveDate: day,
    meterId: null,
    ...revenue,
    amount: subtotal,
    facts: { r: "reversal_credit/1", l: [amount], y: [], o: [] },
  } as const;
  const draft = { reference: "", currency: "NZD", issueDate: day, lines: [line], subtotal };
  const issuing = { createdAt: new Date(), awaitedUntil: null };
  const documents = { invoices: [], creditNotes: [{ ...ids, subscriptionId, draft }] };
  await inTransaction(pool, (client) => issueDocuments(client, organisationId, documents, issuing));
  return ids;
}

/** A credit note here or in the ledger: amounts with two places, allocations in order. */
export interface CreditBook {
  readonly number: string;
  readonly status: string;
  readonly total: string;
  readonly remaining: string;
  readonly allocations: readonly { readonly invoice: string; readonly amount: string }[];
}

/** An invoice as we or the ledger have it. */
interface DueBook {
  readonly number: string;
  readonly status: string;
  readonly due: string;
}

/** Our statuses in the ledger's words. */
const statusWords = `CASE t.status WHEN 'approved' THEN 'AUTHORISED' WHEN 'paid' THEN 'PAID'
  ELSE upper(t.status) END`;

/** Returns the organisation's credit notes here. */
export async function ourCredit(
  pool: pg.Pool,
  { organisationId }: CreditOrganisation,
): Promise<readonly CreditBook[]> {
  const { rows } = await pool.query<CreditBook>(
    `SELECT t.number, ${statusWords} AS status, round(t.total, 2)::text AS total,
      round(t.remaining_credit, 2)::text AS remaining,
        (SELECT coalesce(json_agg(json_build_object('invoice', i.number, 'amount', round(a.amount,
          2)::text) ORDER BY i.number), '[]')
          FROM allocations a JOIN invoices i ON i.id = a.invoice_id WHERE a.credit_note_id = t.id
            AND a.status = 'active') AS allocations
      FROM credit_notes t WHERE t.organisation_id = $1 ORDER BY t.number`,
    [organisationId],
  );
  return rows;
}

/** Returns the organisation's credit notes in the ledger. */
export async function bookedCredit(
  pool: pg.Pool,
  { tenantId }: CreditOrganisation,
): Promise<readonly CreditBook[]> {
  const { rows } = await pool.query<CreditBook>(
    `SELECT n.number, n.status, n.total::text AS total,
      (n.total - n.amount_allocated)::text AS remaining,
        (SELECT coalesce(json_agg(json_build_object('invoice', i.number, 'amount', a.amount::text)
          ORDER BY i.number), '[]')
          FROM demo_ledger.credit_allocations a
            JOIN demo_ledger.invoices i ON i.invoice_id = a.invoice_id
          WHERE a.credit_note_id = n.credit_note_id) AS allocations
      FROM demo_ledger.credit_notes n WHERE n.tenant_id = $1 ORDER BY n.number`,
    [tenantId],
  );
  return rows;
}

/** What our rows say is due of the organisation's invoices. */
export async function ourDue(
  pool: pg.Pool,
  { organisationId }: CreditOrganisation,
): Promise<readonly DueBook[]> {
  const { rows } = await pool.query<DueBook>(
    `SELECT t.number, ${statusWords} AS status, round(t.amount_due, 2)::text AS due
      FROM invoices t WHERE t.organisation_id = $1 ORDER BY t.number`,
    [organisationId],
  );
  return rows;
}

/** Returns the organisation's invoices in the ledger, with what is due. */
async function bookedDue(
  pool: pg.Pool,
  { tenantId }: CreditOrganisation,
): Promise<readonly DueBook[]> {
  const { rows } = await pool.query<DueBook>(
    `SELECT number, status, (total - amount_paid - amount_credited)::text AS due
      FROM demo_ledger.invoices WHERE tenant_id = $1 ORDER BY number`,
    [tenantId],
  );
  return rows;
}

/** Returns the planned allocations of an organisation in order, amounts with two places. */
export async function plannedCredit(
  pool: pg.Pool,
  { organisationId }: CreditOrganisation,
): Promise<readonly Record<string, unknown>[]> {
  const { rows } = await pool.query(
    `SELECT o.state, round(o.amount, 2)::text AS amount, n.number AS note, i.number AS invoice,
      o.reason, o.message
      FROM ledger_jobs o JOIN credit_notes n ON n.id = o.credit_note_id
        JOIN invoices i ON i.id = o.invoice_id
      WHERE o.organisation_id = $1 AND o.kind = 'allocate_credit' ORDER BY o.seq`,
    [organisationId],
  );
  return rows;
}

/** A bookkeeper creates a foreign invoice in the ledger, like our newest one there. */
export async function bookInvoice(
  pool: pg.Pool,
  { tenantId }: CreditOrganisation,
  number: string,
): Promise<void> {
  await pool.query(
    `INSERT INTO demo_ledger.invoices
      SELECT (jsonb_populate_record(i, jsonb_build_object('invoice_id', gen_random_uuid(),
        'number', $2::text, 'url', NULL))).*
      FROM demo_ledger.invoices i WHERE tenant_id = $1 ORDER BY number DESC LIMIT 1`,
    [tenantId, number],
  );
}

/** A bookkeeper uses credit of the tenant's one note on the invoice with this number. */
export async function spendCredit(
  pool: pg.Pool,
  { tenantId }: CreditOrganisation,
  amount: string,
  invoice: string,
): Promise<void> {
  await pool.query(
    `WITH note AS (
        UPDATE demo_ledger.credit_notes SET amount_allocated = amount_allocated + $2,
          status = CASE WHEN amount_allocated + $2 = total THEN 'PAID' ELSE status END
        WHERE tenant_id = $1 RETURNING credit_note_id
      ), invoice AS (
        UPDATE demo_ledger.invoices SET amount_credited = amount_credited + $2,
          status = CASE WHEN amount_paid + amount_credited + $2 = total THEN 'PAID' ELSE status END
        WHERE tenant_id = $1 AND number = $3 RETURNING invoice_id
      )
      INSERT INTO demo_ledger.credit_allocations (allocation_id, tenant_id, credit_note_id,
        invoice_id, amount, allocated_on)
      SELECT gen_random_uuid(), $1, credit_note_id, invoice_id, $2, '2026-04-11'
      FROM note, invoice`,
    [tenantId, amount, invoice],
  );
}

/** Expects the same credit and amounts due here and in the ledger, and returns them. */
export async function expectSameCredit(
  pool: pg.Pool,
  organisation: CreditOrganisation,
): Promise<{ readonly notes: readonly CreditBook[]; readonly invoices: readonly DueBook[] }> {
  const [notes, invoices] = [await ourCredit(pool, organisation), await ourDue(pool, organisation)];
  expect(await bookedCredit(pool, organisation)).toEqual(notes);
  expect(await bookedDue(pool, organisation)).toEqual(invoices);
  return { notes, invoices };
}

/** An id of the ledger that nobody has. */
export function anId(): string {
  return randomUUID();
}
