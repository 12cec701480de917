/**
 * Rolls back an amendment whose invoice can no longer be edited. Bills its lines on new documents
 * in the same transaction. SQL, because each step moves or restores many lines, or computes from
 * the invoice's lines and jobs what it leaves.
 */

import { strict as assert } from "node:assert";
import { presenceOf } from "../../../domain/billing/document-presence.ts";
import type { BillingState, PeriodState } from "../../../domain/model/billing-state.ts";
import {
  billClosedAmendment,
  type ClosedDecision,
} from "../../../domain/subscriptions/abandoned-amendment.ts";
import { loadStates } from "../../billing/billing-state.ts";
import { savePeriods, shareOrganisation } from "../../billing/locked-subscription.ts";
import { lockSubscriptions } from "../../database/lock-order.ts";
import type { Transaction } from "../../database/pool.ts";
import { sql } from "../../database/sql/sql.ts";
import { command } from "../../database/sql/statement.ts";
import { stands } from "../../documents/document-presence.ts";
import { withIds } from "../../documents/document-writes.ts";
import { type Issuing, issueDocuments } from "../../documents/issue-documents.ts";
import {
  driftOf,
  identityColumns,
  identityRecord,
  ledgerNumber,
} from "../../documents/ledger-drift.ts";
import { appendLines } from "../../documents/save-amendment.ts";
import { plain, reportedValues } from "../document-outcomes.ts";
import { endLeasedJob, lockLeasedJob } from "../job-lease.ts";
import type { AmendmentAttempt, AmendmentOutcome } from "./amendment-outcomes.ts";
import { isAddedLine, lackingChanges, loadClosed, movedReason } from "./closed-amendment.ts";

type Closing = AmendmentOutcome & { readonly kind: "closed" };

/** The issued documents. An id is null if no such document was issued. */
interface IssuedIds {
  readonly invoiceId: string | null;
  readonly creditNoteId: string | null;
  readonly jobIds: readonly string[];
}

/**
 * Bills the added lines and what a re-pricing lacks on an invoice, or a credit note if negative.
 * Restores plan line and billed units, and moves the unit changes to the new documents. The job is
 * `done` if anything was issued, else `refused`. False if another attempt has the job.
 */
export async function closeAmendment(
  client: Transaction,
  organisationId: string,
  amendment: AmendmentAttempt,
  closing: Closing,
): Promise<boolean> {
  const { id, attempts, subscriptionId } = amendment;
  // The lock order of every change of a subscription (INVARIANT-5).
  const { organisation } = await shareOrganisation(client, organisationId);
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  const leased = await lockLeasedJob(client, organisationId, id, attempts);
  if (leased === null) return false;
  const { invoiceId, awaitedUntil } = leased;
  assert(invoiceId, "an amendment has an invoice");
  const { isRepriceable, invoice } = closing;
  const known = { isRepriceable, stands: presenceOf(invoice) === "stands" };
  const { closed, now } = await loadClosed(client, organisationId, invoiceId, known);
  const [state] = await loadStates(client, organisation, { ids: [subscriptionId], now });
  assert(state, "an amended invoice is a subscription's");
  const decision = billClosedAmendment(state, closed);
  const issuing = { createdAt: now, awaitedUntil };
  const issued = await issue(client, state, invoiceId, decision, issuing);
  if (closed.repricing !== null)
    await restorePrice(client, organisationId, subscriptionId, invoiceId, decision.period);
  const isBilled = issued.jobIds.length > 0;
  await leaveInvoice(client, organisationId, invoiceId, closing, isBilled);
  await endLeasedJob(client, organisationId, id, attempts, {
    state: isBilled ? "done" : "refused",
    reason: isBilled ? movedReason : plain(closing.reason),
    message: plain(closing.message),
  });
  const documents = [issued.invoiceId, isRepriceable, issued.creditNoteId, issued.jobIds];
  await moveChanges(client, organisationId, subscriptionId, invoiceId, ...documents);
  return true;
}

// A deferred line follows its invoice line to the new invoice.
const moveLines = command({
  name: "move_lines",
  text: sql`
    WITH
      moved AS (
        SELECT l.id, row_number() OVER (ORDER BY l.position) - 1 AS position
        FROM invoice_lines l
        WHERE l.organisation_id = $1 AND l.invoice_id = $2 AND ${isAddedLine}
      ),
      line AS (
        UPDATE invoice_lines l
        SET
          invoice_id = $3,
          position = moved.position,
          amending = false
        FROM moved
        WHERE l.organisation_id = $1 AND l.id = moved.id
        RETURNING l.kind, l.period_end, l.from_units, l.to_units
      ),
      used AS (
        UPDATE usage_bills b
        SET invoice_id = $3
        WHERE
          b.organisation_id = $1
          AND b.invoice_id = $2
          AND EXISTS (SELECT 1 FROM line WHERE line.kind = 'usage')
      )
    UPDATE deferred_lines d
    SET invoice_id = $3
    FROM line
    WHERE
      d.organisation_id = $1
      AND d.invoice_id = $2
      AND (d.period_end, d.from_units, d.to_units) = (
        line.period_end, line.from_units, line.to_units
      )
  `,
});

/**
 * Issues the decided documents. The lines to add keep their ids and come first on the new invoice.
 */
async function issue(
  client: Transaction,
  { organisation: { id: organisationId }, subscription: { id: subscriptionId } }: BillingState,
  fromId: string,
  { invoice, creditNote }: ClosedDecision,
  issuing: Issuing,
): Promise<IssuedIds> {
  const lines = invoice?.lines ?? [];
  const documents = {
    invoices: withIds(subscriptionId, [invoice && { draft: { ...invoice, lines: [] } }]),
    creditNotes: withIds(subscriptionId, [creditNote && { draft: creditNote }]),
  };
  const others = [{ subscriptionId, lines }];
  await issueDocuments(client, organisationId, { ...documents, others }, issuing);
  const [own] = documents.invoices;
  const [note] = documents.creditNotes;
  if (own !== undefined) {
    await moveLines(client, organisationId, fromId, own.id);
    await appendLines(client, organisationId, own, lines, false);
  }
  const jobIds = [...documents.invoices, ...documents.creditNotes].map(({ jobId }) => jobId);
  return { invoiceId: own?.id ?? null, creditNoteId: note?.id ?? null, jobIds };
}

const restoreLine = command({
  name: "restore_price",
  text: sql`
    WITH
      line AS (
        UPDATE invoice_lines l
        SET
          units = (i.amending_from ->> 'units')::int,
          description = i.amending_from ->> 'description',
          unit_price = (i.amending_from ->> 'unit_price')::numeric,
          amount = (i.amending_from ->> 'amount')::numeric,
          amending = false,
          facts = i.amending_from ->> 'facts'
        FROM invoices i
        WHERE
          i.organisation_id = $1
          AND i.id = $2
          AND l.organisation_id = $1
          AND l.invoice_id = i.id
          AND l.kind = 'plan'
      )
    UPDATE invoices
    SET amending_from = NULL
    WHERE organisation_id = $1 AND id = $2
  `,
});

/** Restores the ledger's plan line, and saves the invoice's period to match. */
async function restorePrice(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
  invoiceId: string,
  period: PeriodState,
): Promise<void> {
  await restoreLine(client, organisationId, invoiceId);
  await savePeriods(client, organisationId, [{ subscriptionId, period }]);
}

// Removed stays removed. While the ledger lacks a line of an earlier amendment, the invoice keeps
// that error. If a retry cleared it, the job's message replaces it.
const leave = command({
  name: "leave_invoice",
  text: sql`
    UPDATE invoices d
    SET
      status = CASE WHEN $3 = 'not_in_external' AND NOT ${stands(sql`d`)} THEN d.status ELSE $3 END,
      total = coalesce($4, d.total),
      amount_due = coalesce($5, d.amount_due),
      sent = coalesce($6, d.sent),
      due_date = coalesce(r.due_date, d.due_date),
      ledger_drift = ${driftOf("invoices")},
      ledger_number = ${ledgerNumber},
      ledger_updated_at = coalesce($7, d.ledger_updated_at),
      ledger_reported_at = now(),
      ledger_subtotal = coalesce($10, d.ledger_subtotal),
      subtotal = (
        SELECT coalesce(sum(l.amount), 0)
        FROM invoice_lines l
        WHERE l.organisation_id = $1 AND l.invoice_id = d.id
      ),
      sync_error = CASE
        WHEN $3 = 'not_in_external'
        OR NOT $9 THEN $8
        WHEN EXISTS (
          SELECT 1
          FROM invoice_lines l
          WHERE l.organisation_id = $1 AND l.invoice_id = d.id AND l.amending
        ) THEN coalesce(
          d.sync_error,
          (
            SELECT o.message
            FROM ledger_jobs o
            WHERE
              o.organisation_id = $1
              AND o.invoice_id = d.id
              AND o.kind = 'amend_invoice'
              AND o.state = 'refused'
            ORDER BY o.seq DESC
            LIMIT 1
          ),
          $8
        )
      END
    FROM jsonb_to_record($11) AS r (${identityColumns})
    WHERE d.organisation_id = $1 AND d.id = $2
  `,
});

async function leaveInvoice(
  client: Transaction,
  organisationId: string,
  invoiceId: string,
  { message, invoice }: Closing,
  isBilled: boolean,
): Promise<void> {
  const identity = JSON.stringify(identityRecord(invoice));
  const values = [plain(message), isBilled, invoice.subtotal ?? null, identity];
  await leave(client, organisationId, invoiceId, ...reportedValues(invoice), ...values);
}

// A change that another invoice billed keeps that invoice. `$5`: the plan line can still be
// amended. Then only changes whose lines moved follow them.
const moveChanges = command({
  name: "move_unit_changes",
  text: sql`
    UPDATE unit_changes c
    SET
      invoice_id = CASE
        WHEN c.invoice_id IS NULL
        OR c.invoice_id = $3 THEN $4
        ELSE c.invoice_id
      END,
      renewal_invoice_id = CASE
        WHEN $5 THEN c.renewal_invoice_id
        ELSE nullif(c.renewal_invoice_id, $3)
      END,
      credit_note_id = coalesce(c.credit_note_id, $6),
      job_ids = c.job_ids || $7::uuid[]
    WHERE
      c.organisation_id = $1
      AND c.id IN (${lackingChanges})
      AND (
        NOT $5
        OR c.to_units > c.from_units
        AND c.to_units IN (
          SELECT l.to_units FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = $4
        )
      )
  `,
});
