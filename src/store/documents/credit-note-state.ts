/**
 * Writes observed credit notes, allocations and invoices (DOCUMENT-2, INVARIANT-3). Writes are SQL,
 * because they sum, write many rows, or keep the ledger's instants to the microsecond.
 */

import { parseDecimal } from "../../domain/money/decimal.ts";
import { newId } from "../database/ids.ts";
import { lockRow } from "../database/lock-order.ts";
import type { Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import {
  changesOfDue,
  compareAllocations,
  type KnownAllocation,
  type ObservedAllocation,
  queueSync,
  reduceDue,
} from "./allocation-changes.ts";
import {
  driftOf,
  identityColumns,
  identityRecord,
  ledgerNumber,
  type ObservedIdentity,
} from "./ledger-drift.ts";

/**
 * SQL text of the error of an invoice whose observed state does not fit the columns here. Only an
 * observation writes it.
 */
export const unfitText = sql`'The ledger''s values fit no record here.'`;

/** A credit note in the ledger. `remainingCredit` is the ledger's number. */
export interface ObservedNoteState extends ObservedIdentity {
  readonly status: string;
  /** Sum of its lines in the ledger. Absent if unknown. */
  readonly subtotal?: string;
  readonly total: string;
  readonly remainingCredit: string;
  readonly sent: boolean;
  /** The ledger's change time (ISO 8601). Absent if unknown. */
  readonly updatedAt?: string;
  readonly allocations: readonly ObservedAllocation[];
}

/** An invoice in the ledger. */
export interface ObservedInvoiceState
  extends Omit<ObservedNoteState, "remainingCredit" | "allocations"> {
  readonly amountDue: string;
}

/** Why a note was read: our allocation, a search after a lost answer, or a person's change. */
type NoteReason = "own" | "found" | "synced";

// A removed allocation keeps its amount.
const saveAllocations = command({
  name: "save_allocations",
  text: sql`
    WITH
      row AS (
        SELECT *
        FROM
          jsonb_to_recordset($3) AS r (
            id uuid, invoice_id uuid, amount numeric, date date, status text,
            ledger_allocation_id text
          )
      ),
      changed AS (
        UPDATE allocations a
        SET
          status = row.status,
          sync_status = 'synced',
          amount = coalesce(row.amount, a.amount),
          date = coalesce(row.date::timestamp AT TIME ZONE 'UTC', a.date),
          ledger_allocation_id = coalesce(row.ledger_allocation_id, a.ledger_allocation_id)
        FROM row
        WHERE a.organisation_id = $1 AND a.credit_note_id = $2 AND a.id = row.id
        RETURNING a.id
      )
    INSERT INTO allocations
      (
        id, organisation_id, credit_note_id, invoice_id, amount, date, status, sync_status,
        ledger_allocation_id
      )
    SELECT
      row.id, $1, $2, row.invoice_id, row.amount,
      row.date::timestamp AT TIME ZONE 'UTC',
      'active',
      'synced',
      row.ledger_allocation_id
    FROM row
    WHERE
      row.status = 'active'
      AND NOT EXISTS (
        SELECT 1
        FROM changed
        WHERE changed.id = row.id
      )
  `,
});

const saveNote = command({
  name: "save_observed_note",
  text: sql`
    UPDATE credit_notes d
    SET
      status = $3,
      total = $4::numeric,
      sent = $5,
      remaining_credit = $6::numeric,
      ledger_updated_at = coalesce($7, d.ledger_updated_at),
      ledger_reported_at = now(),
      ledger_subtotal = coalesce($8, d.ledger_subtotal),
      ledger_drift = ${driftOf("credit_notes")},
      ledger_number = ${ledgerNumber},
      sync_error = CASE WHEN d.status <> 'not_in_external' THEN d.sync_error END,
      applied_elsewhere = $4::numeric - $6::numeric - (
        SELECT coalesce(sum(a.amount), 0)
        FROM allocations a
        WHERE a.organisation_id = $1 AND a.credit_note_id = d.id AND a.status = 'active'
      )
    FROM jsonb_to_record($9) AS r (${identityColumns})
    WHERE d.organisation_id = $1 AND d.id = $2
  `,
});

/**
 * Writes an observed note and its allocations to invoices here. Remaining credit is the ledger's.
 * The rest is applied elsewhere: to unknown invoices or a refund. Own allocations reduce what is
 * due of the invoice. Others' may be in it already, so the invoice is read again. Returns true if
 * any allocation is new, changed or gone.
 */
export async function saveObservedNote(
  client: Transaction,
  organisationId: string,
  creditNoteId: string,
  note: ObservedNoteState,
  why: NoteReason,
): Promise<boolean> {
  await lockRow(client, "credit_notes", organisationId, creditNoteId);
  const { known, invoiceIds } = await loadKnown(
    client,
    organisationId,
    creditNoteId,
    note.allocations,
  );
  const observed = note.allocations.filter(({ invoiceId }) => invoiceIds.has(invoiceId));
  const { added, kept, gone } = compareAllocations(known, observed);
  const rows = [
    ...added.map((one) => ({
      ...record(one),
      id: newId(),
      invoice_id: invoiceIds.get(one.invoiceId),
      status: "active",
    })),
    ...kept.map((one) => ({
      ...record(one.observed),
      id: one.known.id,
      invoice_id: one.known.invoiceId,
      ledger_allocation_id: one.observed.id === "" ? one.known.ledgerId : one.observed.id,
      status: "active",
    })),
    ...gone.map((one) => ({ id: one.id, invoice_id: one.invoiceId, status: "removed" })),
  ];
  await saveAllocations(client, organisationId, creditNoteId, JSON.stringify(rows));
  const changes = changesOfDue(invoiceIds, { added, kept, gone });
  if (why !== "synced") await reduceDue(client, organisationId, changes);
  const isOnlyOurs = why === "own" && changes.size === 1 && added.length === 1;
  if (!isOnlyOurs) await queueSync(client, organisationId, [...changes.keys()]);
  await saveNote(
    client,
    organisationId,
    creditNoteId,
    note.status,
    note.total,
    note.sent,
    note.remainingCredit,
    note.updatedAt ?? null,
    note.subtotal ?? null,
    JSON.stringify(identityRecord(note)),
  );
  return added.length + gone.length + changes.size > 0;
}

function record({ id, amount, date }: ObservedAllocation): object {
  return { amount, date, ledger_allocation_id: id === "" ? null : id };
}

/** The note's allocations here, and the ids here of all its invoices by the ledger's ids. */
async function loadKnown(
  client: Transaction,
  organisationId: string,
  creditNoteId: string,
  observed: readonly ObservedAllocation[],
) {
  const allocations = await db(client).allocation.findMany({
    where: { organisationId, creditNoteId },
    orderBy: [{ createdAt: "asc" }, { id: "asc" }],
    select: { id: true, ledgerAllocationId: true, invoiceId: true, amount: true, status: true },
  });
  const ofLedger = { ledgerInvoiceId: { in: observed.map(({ invoiceId }) => invoiceId) } };
  const ofNote = { id: { in: allocations.map(({ invoiceId }) => invoiceId) } };
  const invoices = await db(client).invoice.findMany({
    where: { organisationId, OR: [ofLedger, ofNote] },
    select: { id: true, ledgerInvoiceId: true },
  });
  const ledgerIds = new Map(invoices.map(({ id, ledgerInvoiceId }) => [id, ledgerInvoiceId ?? ""]));
  const known = allocations.map(
    ({ amount, status, invoiceId, ...row }): KnownAllocation => ({
      id: row.id,
      ledgerId: row.ledgerAllocationId,
      invoiceId,
      invoiceLedgerId: ledgerIds.get(invoiceId) ?? "",
      amount: parseDecimal(amount.toFixed(4)),
      isActive: status === "active",
    }),
  );
  return { known, invoiceIds: new Map([...ledgerIds].map(([id, ledgerId]) => [ledgerId, id])) };
}

const saveInvoice = command({
  name: "save_observed_invoice",
  text: sql`
    UPDATE invoices d
    SET
      status = $3,
      total = $4,
      amount_due = $5,
      sent = $6,
      ledger_reported_at = now(),
      due_date = coalesce(r.due_date, d.due_date),
      ledger_updated_at = coalesce($7, d.ledger_updated_at),
      ledger_subtotal = coalesce($8, d.ledger_subtotal),
      ledger_drift = ${driftOf("invoices")},
      ledger_number = ${ledgerNumber},
      sync_error = nullif(d.sync_error, ${unfitText})
    FROM jsonb_to_record($9) AS r (${identityColumns})
    WHERE d.organisation_id = $1 AND d.id = $2
  `,
});

/**
 * Writes an invoice's observed status, amounts and due date, and its drift. Its lines stay ours.
 */
export async function saveObservedInvoice(
  client: Transaction,
  organisationId: string,
  invoiceId: string,
  observed: ObservedInvoiceState,
): Promise<void> {
  await saveInvoice(
    client,
    organisationId,
    invoiceId,
    observed.status,
    observed.total,
    observed.amountDue,
    observed.sent,
    observed.updatedAt ?? null,
    observed.subtotal ?? null,
    JSON.stringify(identityRecord(observed)),
  );
}
