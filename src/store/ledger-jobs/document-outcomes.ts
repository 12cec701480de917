/** Records the outcomes of leased jobs and of their documents in one statement. */
import type { ReferenceDataKind } from "../../domain/billing/ledger-validation.ts";
import { lockInOrder } from "../database/lock-order.ts";
import { DatabaseError, inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { type ObservedAllocation, saveObservedNote } from "../documents/credit-note-state.ts";
import { planAllocations } from "./credit-allocations.ts";
import { doneMark, outcomesChannel } from "./job-notifications.ts";

/** A leased job and its attempt. Only the attempt that holds the lease may record an outcome. */
export interface Held {
  readonly jobId: string;
  readonly attempt: number;
}

/**
 * The outcome of a job with nothing in the ledger. Delays count from now. `isRemembered`: the
 * ledger would repeat its answer for the same idempotency key (LEDGER-10). `isNumberTaken`: it refused
 * the number and showed no document with it.
 */
export type UndoneOutcome = Held & {
  readonly isRemembered?: true;
  readonly isNumberTaken?: true;
} & (
    | {
        readonly kind: "refused";
        readonly reason: string;
        readonly message: string;
        /**
         * The reference data by which we refused it, null without any. Absent if the ledger
         * refused.
         */
        readonly evaluatedBy?: ReferenceDataKind | null;
      }
    /** Nothing was sent, or nothing was created for sure. Send it again after `delayMs`. */
    | {
        readonly kind: "again";
        readonly delayMs: number;
        readonly countsAsAttempt: boolean;
        readonly reason: string;
      }
    /**
     * The answer was lost. Look it up after `delayMs`, when the first request can no longer take
     * effect.
     */
    | {
        readonly kind: "uncertain";
        readonly delayMs: number;
        readonly countsAsAttempt?: false;
        readonly reason: string;
      }
  );

/** The ledger's id of one of our lines. */
export interface NamedLine {
  readonly id: string;
  readonly ledgerLineId: string;
}

/** The outcome of a leased job. One that is done has the document as the ledger has it. */
export type Settlement =
  | UndoneOutcome
  | (Held & {
      readonly kind: "invoice_done";
      readonly ledgerId: string;
      readonly status: string;
      /** Sum of its lines in the ledger. Absent if unknown. */
      readonly subtotal?: string;
      readonly total: string;
      readonly amountDue: string;
      readonly sent: boolean;
      /** The ledger's change time (ISO 8601). Absent if unknown. */
      readonly updatedAt?: string;
      /** The lines whose ids in the ledger are known. */
      readonly lines: readonly NamedLine[];
    })
  | (Held & {
      readonly kind: "credit_note_done";
      readonly ledgerId: string;
      readonly status: string;
      readonly subtotal?: string;
      readonly total: string;
      readonly remainingCredit: string;
      readonly sent: boolean;
      readonly updatedAt?: string;
      /** Allocations that a person made before our note was found again. */
      readonly allocations: readonly ObservedAllocation[];
    })
  | (Held & { readonly kind: "contact_done"; readonly ledgerId: string });

/** The members of `doneRecord` and `undoneRecord`, as the columns of a record `r`. */
export const jobRecordType = `job_id uuid, attempt int, state text, reason text, message text, delay_ms bigint, uncount int,
    rekey int, number_taken int`;

/** SQL: what record `r` changes in its job `o`. */
export const recordedJob = `state = r.state, reason = r.reason, message = coalesce(r.message, o.message),
    attempts = o.attempts - r.uncount, key_variant = o.key_variant + coalesce(r.rekey, 0),
    number_taken = o.number_taken + coalesce(r.number_taken, 0),
    not_before = CASE WHEN r.state = 'ready' THEN now() + r.delay_ms * interval '1 millisecond' ELSE o.not_before END,
    lease_until = CASE WHEN r.state = 'uncertain' THEN now() + r.delay_ms * interval '1 millisecond' END,
    finished_at = CASE WHEN r.state IN ('done', 'refused') THEN now() END`;

/** SQL: only the attempt that holds the lease of job `o` records an outcome. */
export const heldJob = `o.id = r.job_id AND o.state IN ('sending', 'uncertain') AND o.attempts = r.attempt`;

const recordStatement = `
WITH result AS (
  SELECT * FROM jsonb_to_recordset($2) AS r(${jobRecordType}, ledger_id text, status text, subtotal numeric, total numeric, amount_due numeric,
    remaining numeric, sent boolean, updated_at timestamptz, lines jsonb)
), op AS (
  UPDATE ledger_jobs o SET ${recordedJob}
  FROM result r WHERE o.organisation_id = $1 AND ${heldJob}
  RETURNING o.id, o.kind, o.subscription_id, o.invoice_id, o.credit_note_id, o.customer_id, r.state, r.message, r.ledger_id, r.status,
    r.subtotal, r.total, r.amount_due, r.remaining, r.sent, r.updated_at, r.lines
), invoice AS (
  UPDATE invoices i SET status = coalesce(op.status, 'not_in_external'), ledger_invoice_id = coalesce(op.ledger_id, i.ledger_invoice_id),
    total = coalesce(op.total, i.total), amount_due = coalesce(op.amount_due, i.amount_due), sent = coalesce(op.sent, i.sent),
    ledger_subtotal = coalesce(op.subtotal, i.ledger_subtotal),
    ledger_updated_at = op.updated_at, ledger_reported_at = now(),
    sync_error = CASE WHEN op.state = 'refused' THEN op.message END
  FROM op WHERE i.organisation_id = $1 AND i.id = op.invoice_id AND op.state IN ('done', 'refused') AND i.status = 'scheduled'
), line AS (
  UPDATE invoice_lines l SET ledger_line_id = named.ledger_line_id
  FROM op CROSS JOIN LATERAL jsonb_to_recordset(op.lines) AS named(id uuid, ledger_line_id text)
  WHERE l.organisation_id = $1 AND l.invoice_id = op.invoice_id AND l.id = named.id
), credit_note AS (
  -- Of a new one all of its credit is left, with its tax. What is used is elsewhere, until its allocations are saved.
  UPDATE credit_notes n SET status = coalesce(op.status, 'not_in_external'),
    ledger_credit_note_id = coalesce(op.ledger_id, n.ledger_credit_note_id), total = coalesce(op.total, n.total),
    remaining_credit = coalesce(op.remaining, n.remaining_credit),
    applied_elsewhere = coalesce(op.total - op.remaining, n.applied_elsewhere), sent = coalesce(op.sent, n.sent),
    ledger_subtotal = coalesce(op.subtotal, n.ledger_subtotal),
    ledger_updated_at = op.updated_at, ledger_reported_at = now(),
    sync_error = CASE WHEN op.state = 'refused' THEN op.message END
  FROM op WHERE n.organisation_id = $1 AND n.id = op.credit_note_id AND op.state IN ('done', 'refused') AND n.status = 'scheduled'
  RETURNING n.id, n.subscription_id, op.id AS job_id
), customer AS (
  UPDATE customers c SET ledger_contact_id = op.ledger_id
  FROM op WHERE c.organisation_id = $1 AND c.id = op.customer_id AND op.state = 'done'
), dropped AS (
  DELETE FROM customers c USING op
  WHERE c.organisation_id = $1 AND c.id = op.customer_id AND op.state = 'refused' AND c.ledger_contact_id IS NULL
)
SELECT pg_notify('${outcomesChannel}', string_agg(CASE WHEN state = 'done' THEN '${doneMark}' ELSE '' END || id, ',')),
  array_agg(DISTINCT subscription_id) FILTER (WHERE status = 'approved' AND subscription_id IS NOT NULL) AS credited,
  (SELECT json_agg(credit_note) FROM credit_note) AS notes
FROM op HAVING count(*) > 0`;

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
  settlements: readonly Settlement[],
): Promise<readonly string[]> {
  if (settlements.length === 0) return [];
  try {
    return await recordTogether(pool, organisationId, settlements);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const [only] = settlements;
    if (settlements.length > 1) {
      const planned: string[] = [];
      for (const settlement of settlements) {
        planned.push(...(await recordOutcomes(pool, organisationId, [settlement])));
      }
      return planned;
    }
    if (only === undefined || !isDone(only)) throw error;
    // Our note must be recorded wherever its credit is.
    if (isUsed(only)) return recordOutcomes(pool, organisationId, [{ ...only, allocations: [] }]);
    return recordOutcomes(pool, organisationId, [unwritable(only)]);
  }
}

async function recordTogether(
  pool: Pool,
  organisationId: string,
  settlements: readonly Settlement[],
): Promise<readonly string[]> {
  const values = [organisationId, JSON.stringify(settlements.map(outcomeRecord))];
  const query = { name: "record_outcomes", text: recordStatement, values };
  const used = settlements.filter(isUsed);
  return inTransaction(pool, async (client) => {
    await lockInOrder(client, organisationId, {
      // Contacts have no subscription, and an import may run at the same time.
      organisation: settlements.some(({ kind }) => kind === "contact_done"),
      jobIds: settlements.map(({ jobId }) => jobId),
      ledgerInvoiceIds: used.flatMap(({ allocations }) =>
        allocations.map(({ invoiceId }) => invoiceId),
      ),
    });
    const { rows } = await client.query<FinishedRow>(query);
    const credited = rows[0]?.credited ?? [];
    await saveUsed(client, organisationId, used, rows[0]?.notes ?? []);
    return planAllocations(client, organisationId, credited);
  });
}

/** Subscriptions of approved documents, and the recorded notes. Null if there are none. */
interface FinishedRow {
  credited: string[] | null;
  notes: { id: string; subscription_id: string; job_id: string }[] | null;
}

/** Writes the allocations of notes whose credit was used before they were found again. */
async function saveUsed(
  client: Transaction,
  organisationId: string,
  used: readonly UsedNote[],
  settled: NonNullable<FinishedRow["notes"]>,
): Promise<void> {
  const notes = used.flatMap((note) => {
    const row = settled.find(({ job_id }) => job_id === note.jobId);
    return row === undefined ? [] : [{ ...row, note }];
  });
  for (const { id, note } of notes)
    await saveObservedNote(client, organisationId, id, note, "found");
}

type UsedNote = Settlement & { readonly kind: "credit_note_done" };

/** A note that already has allocations. */
function isUsed(settlement: Settlement): settlement is UsedNote {
  return settlement.kind === "credit_note_done" && settlement.allocations.length > 0;
}

function isDone({ kind }: Settlement): boolean {
  return kind === "invoice_done" || kind === "credit_note_done" || kind === "contact_done";
}

/** An invalid value or a constraint (SQLSTATE classes 22 and 23). A retry would not help. */
export function isUnwritable(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? "");
}

/** Why a document that the ledger has is refused here. */
export const unwritableAnswer = {
  reason: "validation",
  message: "The ledger's answer fits no record here.",
} as const;

function unwritable({ kind, jobId, attempt }: Settlement): Settlement {
  const why =
    kind === "contact_done"
      ? { reason: "already_imported", message: "The contact is a customer already." }
      : unwritableAnswer;
  return { kind: "refused", jobId, attempt, ...why };
}

function outcomeRecord(settlement: Settlement): object {
  switch (settlement.kind) {
    case "invoice_done": {
      const { ledgerId, status, subtotal, total, amountDue, sent, updatedAt } = settlement;
      const lines = settlement.lines.map(({ id, ledgerLineId }) => ({
        id,
        ledger_line_id: ledgerLineId,
      }));
      const told = { status, subtotal, total, amount_due: amountDue, sent, updated_at: updatedAt };
      return { ...doneRecord(settlement), ledger_id: ledgerId, ...told, lines };
    }
    case "credit_note_done": {
      const { ledgerId, status, subtotal, total, remainingCredit, sent, updatedAt } = settlement;
      const told = {
        status,
        subtotal,
        total,
        remaining: remainingCredit,
        sent,
        updated_at: updatedAt,
      };
      return { ...doneRecord(settlement), ledger_id: ledgerId, ...told };
    }
    case "contact_done":
      return { ...doneRecord(settlement), ledger_id: settlement.ledgerId };
    default:
      return undoneRecord(settlement);
  }
}

/** The record of a job that is done. */
export function doneRecord({ jobId, attempt }: Held): object {
  return { job_id: jobId, attempt, state: "done", delay_ms: 0, uncount: 0 };
}

/** The record of a job with nothing in the ledger. */
export function undoneRecord(settlement: UndoneOutcome): object {
  const { jobId, attempt } = settlement;
  const answered = {
    rekey: Number(settlement.isRemembered ?? false),
    number_taken: Number(settlement.isNumberTaken ?? false),
  };
  const own = { job_id: jobId, attempt, reason: plain(settlement.reason), ...answered };
  const record = { ...own, delay_ms: 0, uncount: 0 };
  switch (settlement.kind) {
    case "refused":
      return { ...record, state: "refused", message: plain(settlement.message) };
    case "again":
      return {
        ...record,
        state: "ready",
        delay_ms: settlement.delayMs,
        uncount: uncounted(settlement),
      };
    case "uncertain":
      return {
        ...record,
        state: "uncertain",
        delay_ms: settlement.delayMs,
        uncount: uncounted(settlement),
      };
  }
}

function uncounted({ countsAsAttempt }: { readonly countsAsAttempt?: boolean }): number {
  return countsAsAttempt === false ? 1 : 0;
}

/** Removes from another system's text what PostgreSQL cannot store. */
export function plain(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
