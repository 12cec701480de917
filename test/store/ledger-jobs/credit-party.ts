/**
 * A fixture of subscriptions with invoices and credit notes whose outcomes the test decides. There
 * is no ledger. It plans, claims and records their allocations.
 */
import type pg from "pg";
import { formatDecimal, parseDecimal, subtract, sum } from "../../../src/domain/money/decimal.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import type { ObservedAllocation } from "../../../src/store/documents/allocation-changes.ts";
import {
  type AllocationToSend,
  claimAllocation,
  type ObservedCreditState,
  recordAllocation,
} from "../../../src/store/ledger-jobs/allocations.ts";
import { claimCreditNotes, claimInvoices } from "../../../src/store/ledger-jobs/claim-jobs.ts";
import {
  type PairToRetry,
  planAllocations,
} from "../../../src/store/ledger-jobs/credit-allocations.ts";
import type { PostingOutcome } from "../../../src/store/ledger-jobs/document-outcomes.ts";
import { recordOutcomes } from "../../../src/store/ledger-jobs/record-outcomes.ts";
import { addOrganisation } from "../../support/organisation-builder.ts";
import { tables } from "../../support/rows.ts";
import {
  addSubscription,
  anId,
  issueCredit,
  issueInvoice,
} from "../../worker/activities/issue-credit.ts";

/** A subscription in a separate organisation. */
export interface Party {
  readonly pool: pg.Pool;
  readonly organisationId: string;
  readonly tenantId: string;
  readonly subscriptionId: string;
}

/** Adds a subscription with its customer and plan. */
export async function addParty(pool: pg.Pool): Promise<Party> {
  const organisationId = await addOrganisation(pool, { currency: "NZD" });
  const values = [organisationId, newId(), newId()];
  await pool.query(
    `WITH customer AS (
      INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
      VALUES ($2, $1, 'ACME', 'Acme', 'a@acme.example', 'active', 'contact')
    ) INSERT INTO plans (id, organisation_id, code, name, type, currency, price, status)
      VALUES ($3, $1, 'team', 'Team', 'per_unit', 'NZD', 10, 'active')`,
    values,
  );
  return {
    pool,
    organisationId,
    tenantId: "",
    subscriptionId: await addSubscription(pool, organisationId),
  };
}

/** The outcome of an invoice. Without `due` and `total` it is unpaid and has no tax. */
interface InvoiceTaken {
  readonly status: string;
  readonly due?: string;
  readonly total?: string;
}

/** Posts an invoice over this amount, approved by default. Returns the planned subscriptions. */
export async function addInvoice(
  party: Party,
  amount: string,
  outcome: InvoiceTaken = { status: "approved" },
): Promise<readonly string[]> {
  const { pool, organisationId, subscriptionId } = party;
  await issueInvoice(pool, organisationId, subscriptionId, amount);
  return recordOutcomes(pool, organisationId, await takenInvoices(party, amount, outcome));
}

/** Claims the waiting invoices and returns their outcomes. */
export async function takenInvoices(
  { pool, organisationId }: Party,
  amount: string,
  outcome: InvoiceTaken,
): Promise<readonly PostingOutcome[]> {
  const { ready } = await claimInvoices(pool, organisationId, 60_000);
  const { status, due = amount, total = amount } = outcome;
  return ready.map(({ id, attempts, lines }) => ({
    jobId: id,
    attempt: attempts,
    kind: "invoice_done",
    ledgerId: anId(),
    status,
    total,
    amountDue: due,
    sent: false,
    lines: lines.map((line) => ({ id: line.id, ledgerLineId: `line of ${line.id}` })),
  }));
}

/** Posts an approved credit note over this amount. Returns the planned subscriptions. */
export async function addNote(party: Party, amount: string): Promise<readonly string[]> {
  const { pool, organisationId, subscriptionId } = party;
  await issueCredit(pool, organisationId, subscriptionId, amount);
  return recordOutcomes(pool, organisationId, await takenNotes(party, amount));
}

/** Claims the waiting credit notes and returns their outcomes, with the allocations `used`. */
export async function takenNotes(
  { pool, organisationId }: Party,
  total: string,
  status = "approved",
  ...used: readonly ObservedAllocation[]
): Promise<readonly PostingOutcome[]> {
  const { ready } = await claimCreditNotes(pool, organisationId, 60_000);
  return ready.map(({ id, attempts }) => ({
    jobId: id,
    attempt: attempts,
    kind: "credit_note_done",
    ledgerId: anId(),
    status,
    total,
    remainingCredit: leftOf(total, used),
    sent: false,
    allocations: used,
  }));
}

/** Returns the allocations of an organisation as `state amount note invoice`. */
export async function planned({ pool, organisationId }: Party): Promise<readonly string[]> {
  const { rows } = await pool.query<{ text: string }>(
    `SELECT concat_ws(' ', o.state, round(o.amount, 2), n.number, i.number) AS text
      FROM ledger_jobs o JOIN credit_notes n ON n.id = o.credit_note_id
        JOIN invoices i ON i.id = o.invoice_id
      WHERE o.organisation_id = $1 AND o.kind = 'allocate_credit' ORDER BY o.seq`,
    [organisationId],
  );
  return rows.map(({ text }) => text);
}

/** Plans the subscription's next allocation. An operator retries the pair `retried`. */
export function plan(
  { pool, organisationId, subscriptionId }: Party,
  retried?: PairToRetry,
): Promise<readonly string[]> {
  return inTransaction(pool, (client) =>
    planAllocations(client, organisationId, [subscriptionId], retried),
  );
}

/** Claims the subscription's allocation, which must be there. */
export async function take(
  { pool, organisationId, subscriptionId }: Party,
  leaseMs = 60_000,
): Promise<AllocationToSend> {
  const taken = await claimAllocation(pool, organisationId, subscriptionId, leaseMs);
  if (taken === null) throw new Error("there is nothing to take");
  return taken;
}

/** An observed note over `total` with these allocations. The rest of its credit is left. */
export function observedCredit(
  total: string,
  status: string,
  ...allocations: readonly ObservedAllocation[]
): ObservedCreditState {
  return {
    note: { status, total, remainingCredit: leftOf(total, allocations), sent: false, allocations },
    invoice: null,
  };
}

function leftOf(total: string, used: readonly ObservedAllocation[]): string {
  return formatDecimal(
    subtract(parseDecimal(total), sum(used.map(({ amount }) => parseDecimal(amount)))),
  );
}

/** Credit on the invoice with this id in the ledger. */
export function creditOn(invoiceId: string, amount: string): ObservedAllocation {
  return { id: anId(), invoiceId, amount, date: "2026-04-11" };
}

/** A claimed allocation as the ledger shows it once it is done. */
export function entry(
  { invoiceLedgerId, amount }: AllocationToSend,
  id = anId(),
): ObservedAllocation {
  return { id, invoiceId: invoiceLedgerId, amount, date: "2026-04-11" };
}

/** Returns the ledger's id of the organisation's invoice with this number. */
export async function ledgerIdOf({ pool, organisationId }: Party, number: string): Promise<string> {
  const invoice = await tables(pool).invoice.findFirst({ where: { organisationId, number } });
  return invoice?.ledgerInvoiceId ?? "";
}

/** Records a claimed allocation as done, with the observed state. */
export function recordDone(
  { pool, organisationId, subscriptionId }: Party,
  { id, attempts }: AllocationToSend,
  observed: ObservedCreditState,
): Promise<void> {
  const outcome = { kind: "done", jobId: id, attempt: attempts } as const;
  return recordAllocation(pool, organisationId, subscriptionId, {
    outcome,
    amount: null,
    observed,
  });
}

/** Records a claimed allocation as refused, with the observed state. */
export function recordRefused(
  { pool, organisationId, subscriptionId }: Party,
  { id, attempts }: AllocationToSend,
  observed: ObservedCreditState | null,
): Promise<void> {
  const outcome = {
    kind: "refused",
    jobId: id,
    attempt: attempts,
    reason: "period_locked",
    message: "The lock date has passed.",
  } as const;
  return recordAllocation(pool, organisationId, subscriptionId, {
    outcome,
    amount: null,
    observed,
  });
}
