/** Documents that the ledger does not have, why, and how they are sent again. */
import type pg from "pg";
import { type Decimal, parseDecimal } from "../../domain/decimal.ts";
import type { DocumentStatus } from "../../domain/invoice.ts";
import { isId, newId } from "../ids.ts";
import { type Filter, getOne, type Listing, listPage, type Page, type PageRequest } from "../page.ts";
import type { Actor, Changed, Changes, Transaction } from "./changes.ts";

/** An invoice and what became of its last sending. `nextAttemptAt` is null where it does not wait for its turn. */
export interface AdminDocument {
  readonly id: string;
  readonly number: string;
  readonly status: DocumentStatus;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly currency: string;
  readonly total: Decimal;
  readonly reason: string | null;
  readonly message: string | null;
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

/** Where a document stands with the ledger, as its status tells it. */
export type DocumentState = "failed" | "waiting";

/** `retried`: it waits for the ledger now. `settled`: the ledger has it, or had it. `setup_mode`: nothing is raised now. */
export type RetryOutcome = "retried" | "settled" | "setup_mode";

/** An organisation's documents; null stands for one that does not exist. */
export interface DocumentStore {
  get(organisationId: string, id: string): Promise<AdminDocument | null>;
  list(organisationId: string, state: DocumentState | null, page: PageRequest): Promise<Page<AdminDocument>>;
  retry(actor: Actor, organisationId: string, id: string): Promise<RetryOutcome | null>;
}

interface DocumentRow {
  id: string;
  number: string;
  status: DocumentStatus;
  customer_id: string;
  subscription_id: string;
  currency: string;
  total: string;
  reason: string | null;
  message: string | null;
  attempts: number;
  next_attempt_at: Date | null;
  created_at: Date;
}

const listing: Listing<DocumentRow, AdminDocument> = {
  table: "invoices",
  columns: `t.id, t.number, t.status, t.customer_id, t.subscription_id, t.currency, t.total, t.created_at,
    CASE t.status WHEN 'scheduled' THEN w.reason WHEN 'not_in_external' THEN r.reason END AS reason,
    CASE t.status WHEN 'scheduled' THEN w.message WHEN 'not_in_external' THEN coalesce(r.message, t.sync_error) END AS message,
    coalesce(w.attempts, r.attempts, 0) AS attempts,
    CASE WHEN w.state = 'ready' THEN w.not_before ELSE w.lease_until END AS next_attempt_at`,
  from: `invoices t
    LEFT JOIN operations w ON w.organisation_id = t.organisation_id AND w.invoice_id = t.id AND w.kind = 'create_invoice'
      AND w.state IN ('ready', 'sending', 'uncertain')
    LEFT JOIN LATERAL (SELECT o.reason, o.message, o.attempts FROM operations o
      WHERE o.organisation_id = t.organisation_id AND o.invoice_id = t.id AND o.state = 'refused' ORDER BY o.seq DESC LIMIT 1) r ON true`,
  read: (row) => ({
    id: row.id,
    number: row.number,
    status: row.status,
    customerId: row.customer_id,
    subscriptionId: row.subscription_id,
    currency: row.currency,
    total: parseDecimal(row.total),
    reason: row.reason,
    message: row.message,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    createdAt: row.created_at,
  }),
};

/** The status of each state. decisions §4. */
const statuses = { failed: "not_in_external", waiting: "scheduled" } as const satisfies Record<
  DocumentState,
  DocumentStatus
>;

/** Documents over changes. */
export function createDocumentStore(pool: pg.Pool, { run }: Changes): DocumentStore {
  return {
    get: async (organisationId, id) => (isId(id) ? getOne(pool, organisationId, listing, id) : null),
    list: (organisationId, state, page) => {
      const wanted = state === null ? Object.values(statuses) : [statuses[state]];
      const filters: readonly Filter[] = [{ sql: "t.status = ANY (?)", value: wanted }];
      return listPage(pool, organisationId, listing, filters, page);
    },
    retry: async (actor, organisationId, id) =>
      isId(id) ? run(actor, (transaction) => retry(transaction, organisationId, id)) : null,
  };
}

async function retry(
  transaction: Transaction,
  organisationId: string,
  id: string,
): Promise<Changed<RetryOutcome | null>> {
  await transaction.$executeRaw`SELECT 1 FROM invoices
    WHERE organisation_id = ${organisationId}::uuid AND id = ${id}::uuid FOR NO KEY UPDATE`;
  const invoice = await transaction.invoice.findFirst({ where: { organisationId, id } });
  if (invoice === null) return { result: null, changes: [] };
  const target = { targetKind: "document", targetId: id, organisationId } as const;
  if (invoice.status === "scheduled") {
    const now = new Date();
    const waiting = { organisationId, invoiceId: id, state: "ready", notBefore: { gt: now } };
    const operation = await transaction.operation.findFirst({ where: waiting });
    if (operation === null) return { result: "retried", changes: [] };
    await transaction.operation.updateMany({ where: waiting, data: { notBefore: now } });
    const { number, status } = invoice;
    const before = { number, status, nextAttemptAt: operation.notBefore };
    return { result: "retried", changes: [{ ...target, before, after: { ...before, nextAttemptAt: now } }] };
  }
  if (invoice.status !== "not_in_external" || invoice.ledgerInvoiceId !== null)
    return { result: "settled", changes: [] };
  const organisation = await transaction.organisation.findUniqueOrThrow({ where: { id: organisationId } });
  if (organisation.setupMode) return { result: "setup_mode", changes: [] };
  const { number, status, syncError } = invoice;
  const refusal = await transaction.operation.findFirst({
    where: { organisationId, invoiceId: id, state: "refused" },
    orderBy: { seq: "desc" },
  });
  const isTaken = refusal?.reason === "duplicate_number";
  const newNumber = isTaken ? await reserveNumber(transaction, organisationId, organisation.numberPrefix) : number;
  await mapLines(transaction, organisationId, id, refusal?.reason ?? null);
  await transaction.invoice.updateMany({
    where: { organisationId, id },
    data: { status: "scheduled", syncError: null, number: newNumber },
  });
  await transaction.operation.create({
    data: {
      id: newId(),
      organisationId,
      kind: "create_invoice",
      state: "ready",
      subscriptionId: invoice.subscriptionId,
      invoiceId: id,
    },
  });
  const before = { number, status, syncError };
  const after = { number: newNumber, status: "scheduled", syncError: null };
  return { result: "retried", changes: [{ ...target, before, after }] };
}

/** The next number of the organisation: the one that the document had is another's in the ledger. decisions §6. */
async function reserveNumber(transaction: Transaction, organisationId: string, prefix: string): Promise<string> {
  const { next } = await transaction.documentCounter.update({
    where: { organisationId_kind: { organisationId, kind: "invoice" } },
    data: { next: { increment: 1 } },
  });
  // As in a creation: four digits at least.
  return `${prefix}${String(next - 1n).padStart(4, "0")}`;
}

/**
 * Gives lines the accounts and tax types of now: those that have none, and all of them where the ledger refused what they had.
 * The narrowest mapping counts: the plan's or charge's, then the organisation's.
 */
async function mapLines(
  transaction: Transaction,
  organisationId: string,
  invoiceId: string,
  reason: string | null,
): Promise<void> {
  const all = reason === "account_invalid" || reason === "tax_invalid";
  await transaction.$executeRaw`UPDATE invoice_lines l SET
      revenue_account = coalesce(m.revenue_account, l.revenue_account), tax_type = m.tax_type
    FROM (
      SELECT k.id, coalesce(c.revenue_account, p.revenue_account, o.revenue_account) AS revenue_account,
        coalesce(c.tax_type, p.tax_type, o.tax_type) AS tax_type
      FROM invoice_lines k
      JOIN invoices i ON i.organisation_id = ${organisationId}::uuid AND i.id = k.invoice_id
      JOIN organisations o ON o.id = i.organisation_id
      JOIN subscriptions s ON s.organisation_id = i.organisation_id AND s.id = i.subscription_id
      LEFT JOIN plans p ON p.organisation_id = i.organisation_id AND p.id = s.plan_id AND k.kind IN ('plan', 'proration')
      LEFT JOIN charges c ON c.organisation_id = i.organisation_id AND c.id = k.charge_id
      WHERE k.organisation_id = ${organisationId}::uuid AND k.invoice_id = ${invoiceId}::uuid
    ) m
    WHERE l.organisation_id = ${organisationId}::uuid AND l.id = m.id AND (${all} OR l.revenue_account IS NULL)`;
}
