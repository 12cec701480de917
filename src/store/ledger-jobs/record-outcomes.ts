/**
 * Records the outcomes of leased posting jobs with their documents. SQL, because one statement
 * writes up to fifty jobs, their documents and the ledger's line ids, and notifies their callers
 * (POSTING-3).
 */

import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { arrayOf, json, uuid } from "../database/sql/columns.ts";
import { literal, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { saveObservedNote } from "../documents/credit-note-state.ts";
import { planAllocations } from "./credit-allocations.ts";
import {
  doneRecord,
  isUnwritable,
  jobRecordType,
  leasedJob,
  lineRecord,
  type PostingOutcome,
  recordedJob,
  undoneRecord,
  unwritableAnswer,
} from "./document-outcomes.ts";
import { outcomesChannel } from "./job-notifications.ts";
import { saveAttempts } from "./ledger-attempts.ts";
import { renumber } from "./renumber.ts";

/** A recorded credit note and its job. */
interface RecordedNote {
  readonly id: string;
  readonly jobId: string;
}

const record = query({
  name: "record_outcomes",
  planned: "once",
  text: sql`
WITH result AS (
  SELECT * FROM jsonb_to_recordset($2) AS r(${jobRecordType}, ledger_id text, status text,
    subtotal numeric, total numeric, amount_due numeric, remaining numeric, sent boolean,
    updated_at timestamptz, ledger_number text, lines jsonb)
), job AS (
  UPDATE ledger_jobs o SET ${recordedJob}
  FROM result r WHERE o.organisation_id = $1 AND ${leasedJob}
  RETURNING o.id, o.kind, o.subscription_id, o.invoice_id, o.credit_note_id, o.customer_id,
    r.state, r.message, r.ledger_id, r.status, r.subtotal, r.total, r.amount_due, r.remaining,
    r.sent, r.updated_at, r.ledger_number, r.lines
), invoice AS (
  UPDATE invoices i SET status = coalesce(job.status, 'not_in_external'),
    ledger_invoice_id = coalesce(job.ledger_id, i.ledger_invoice_id),
    ledger_number = job.ledger_number,
    total = coalesce(job.total, i.total), amount_due = coalesce(job.amount_due, i.amount_due),
    sent = coalesce(job.sent, i.sent),
    ledger_subtotal = coalesce(job.subtotal, i.ledger_subtotal),
    ledger_updated_at = job.updated_at, ledger_reported_at = now(),
    sync_error = CASE WHEN job.state = 'refused' THEN job.message END
  FROM job WHERE i.organisation_id = $1 AND i.id = job.invoice_id
    AND job.state IN ('done', 'refused') AND i.status = 'scheduled'
), line AS (
  UPDATE invoice_lines l SET ledger_line_id = named.ledger_line_id
  FROM job CROSS JOIN LATERAL jsonb_to_recordset(job.lines) AS named(id uuid, ledger_line_id text)
  WHERE l.organisation_id = $1 AND l.invoice_id = job.invoice_id AND l.id = named.id
), credit_note AS (
  -- All credit of a new note is left, with its tax. Used credit counts as applied elsewhere until
  -- its allocations are saved.
  UPDATE credit_notes n SET status = coalesce(job.status, 'not_in_external'),
    ledger_credit_note_id = coalesce(job.ledger_id, n.ledger_credit_note_id),
    ledger_number = job.ledger_number,
    total = coalesce(job.total, n.total),
    remaining_credit = coalesce(job.remaining, n.remaining_credit),
    applied_elsewhere = coalesce(job.total - job.remaining, n.applied_elsewhere),
    sent = coalesce(job.sent, n.sent),
    ledger_subtotal = coalesce(job.subtotal, n.ledger_subtotal),
    ledger_updated_at = job.updated_at, ledger_reported_at = now(),
    sync_error = CASE WHEN job.state = 'refused' THEN job.message END
  FROM job WHERE n.organisation_id = $1 AND n.id = job.credit_note_id
    AND job.state IN ('done', 'refused') AND n.status = 'scheduled'
  RETURNING n.id, job.id AS job_id
), customer AS (
  UPDATE customers c SET ledger_contact_id = job.ledger_id
  FROM job WHERE c.organisation_id = $1 AND c.id = job.customer_id AND job.state = 'done'
), dropped AS (
  DELETE FROM customers c USING job
  WHERE c.organisation_id = $1 AND c.id = job.customer_id AND job.state = 'refused'
    AND c.ledger_contact_id IS NULL
)
SELECT r.credited, r.notes FROM (
  SELECT
    string_agg(id::text, ',') AS ids,
    array_agg(DISTINCT subscription_id)
      FILTER (WHERE status = 'approved' AND subscription_id IS NOT NULL) AS credited,
    (SELECT json_agg(json_build_object('id', n.id, 'jobId', n.job_id)) FROM credit_note n) AS notes
  FROM job HAVING count(*) > 0
) r, pg_notify(${literal(outcomesChannel)}, r.ids)`,
  row: {
    /** Subscriptions of approved documents. Null if there are none. */
    credited: arrayOf(uuid).orNull(),
    notes: json<readonly RecordedNote[]>().orNull(),
  },
});

/**
 * Records outcomes of leased jobs and their documents in one statement, and notifies waiting
 * callers. Jobs that another attempt holds are left alone. If one cannot be written, the others are
 * written one by one. A document whose answer does not fit the columns here is refused, so that an
 * operator sees it. Returns the subscriptions with newly planned allocations, whose workflows must
 * be started.
 */
export async function recordOutcomes(
  pool: Pool,
  organisationId: string,
  outcomes: readonly PostingOutcome[],
): Promise<readonly string[]> {
  if (outcomes.length === 0) return [];
  try {
    return await recordBatch(pool, organisationId, outcomes);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const [only] = outcomes;
    if (outcomes.length > 1) {
      const planned: string[] = [];
      for (const outcome of outcomes)
        planned.push(...(await recordOutcomes(pool, organisationId, [outcome])));
      return planned;
    }
    if (only === undefined || !only.kind.endsWith("_done")) throw error;
    // Our note must be recorded wherever its credit is.
    if (isUsed(only)) return recordOutcomes(pool, organisationId, [{ ...only, allocations: [] }]);
    return recordOutcomes(pool, organisationId, [unwritable(only)]);
  }
}

async function recordBatch(
  pool: Pool,
  organisationId: string,
  outcomes: readonly PostingOutcome[],
): Promise<readonly string[]> {
  const records = JSON.stringify(outcomes.map(outcomeRecord));
  const used = outcomes.filter(isUsed);
  return inTransaction(pool, async (client) => {
    await lockInOrder(client, organisationId, {
      // Contacts have no subscription, and an import may run at the same time.
      organisation: outcomes.some(({ kind }) => kind === "contact_done"),
      jobIds: outcomes.map(({ jobId }) => jobId),
      ledgerInvoiceIds: used.flatMap(({ allocations }) =>
        allocations.map(({ invoiceId }) => invoiceId),
      ),
    });
    const [recorded] = await record(client, organisationId, records);
    await saveAttempts(client, organisationId, outcomes);
    await saveUsed(client, organisationId, used, recorded?.notes ?? []);
    const renumbered = outcomes.filter((one) => one.kind === "again" && one.isRenumbered === true);
    await renumber(
      client,
      organisationId,
      renumbered.map(({ jobId }) => jobId),
    );
    return planAllocations(client, organisationId, recorded?.credited ?? []);
  });
}

/** Writes the allocations of notes whose credit was used before they were found again. */
async function saveUsed(
  client: Transaction,
  organisationId: string,
  used: readonly UsedNote[],
  recorded: readonly RecordedNote[],
): Promise<void> {
  for (const note of used) {
    const row = recorded.find(({ jobId }) => jobId === note.jobId);
    if (row !== undefined) await saveObservedNote(client, organisationId, row.id, note, "found");
  }
}

type UsedNote = PostingOutcome & { readonly kind: "credit_note_done" };

/** A note that already has allocations. */
function isUsed(outcome: PostingOutcome): outcome is UsedNote {
  return outcome.kind === "credit_note_done" && outcome.allocations.length > 0;
}

function unwritable({ kind, jobId, attempt }: PostingOutcome): PostingOutcome {
  const why =
    kind === "contact_done"
      ? { reason: "already_imported", message: "The contact is a customer already." }
      : unwritableAnswer;
  return { kind: "refused", jobId, attempt, ...why };
}

function outcomeRecord(outcome: PostingOutcome): object {
  switch (outcome.kind) {
    case "invoice_done":
    case "credit_note_done": {
      const { ledgerId, status, subtotal, total, sent, updatedAt, ledgerNumber } = outcome;
      const document = {
        ledger_id: ledgerId,
        status,
        subtotal,
        total,
        sent,
        updated_at: updatedAt,
        ledger_number: ledgerNumber,
      };
      const left =
        outcome.kind === "invoice_done"
          ? { amount_due: outcome.amountDue, lines: outcome.lines.map(lineRecord) }
          : { remaining: outcome.remainingCredit };
      return { ...doneRecord(outcome), ...document, ...left };
    }
    case "contact_done":
      return { ...doneRecord(outcome), ledger_id: outcome.ledgerId };
    default:
      return undoneRecord(outcome);
  }
}
