/**
 * The outcomes of leased posting jobs, and what each changes in its job. An outcome is recorded
 * together with the job's document, by the attempt that holds the lease (POSTING-2).
 */

import type { AnsweredRequest } from "../../domain/ledger/answered-request.ts";
import type { ReferenceDataKind } from "../../domain/ledger/validation.ts";
import { sqlState } from "../database/errors.ts";
import { sql } from "../database/sql/sql.ts";
import type { ObservedInvoiceState, ObservedNoteState } from "../documents/credit-note-state.ts";

/**
 * A leased job and its attempt. Only the attempt that holds the lease may record an outcome.
 * `answered` is the request that decided. Absent if none was sent.
 */
export interface JobAttempt {
  readonly jobId: string;
  readonly attempt: number;
  readonly answered?: AnsweredRequest;
}

/**
 * The outcome of a job with nothing in the ledger. Delays count from now. `isRemembered`: the
 * ledger would repeat its answer for the same idempotency key (LEDGER-10). `isNumberTaken`: it
 * refused the number and showed no document with it. `isRenumbered`: a foreign document has the
 * number, and ours takes the next one (POSTING-9).
 */
export type UndoneOutcome = JobAttempt & {
  readonly isRemembered?: true;
  readonly isNumberTaken?: true;
  readonly isRenumbered?: true;
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
     * The answer was lost. Search for the document after `delayMs`, when the first request can no
     * longer take effect.
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

/** A line as the JSON record of a statement. */
export function lineRecord({ id, ledgerLineId }: NamedLine): object {
  return { id, ledger_line_id: ledgerLineId };
}

/** The outcome of a leased job. One that is done has the document as the ledger has it. */
export type PostingOutcome =
  | UndoneOutcome
  | (JobAttempt &
      ObservedInvoiceState & {
        readonly kind: "invoice_done";
        readonly ledgerId: string;
        /** The lines whose ids in the ledger are known. */
        readonly lines: readonly NamedLine[];
      })
  /** Its allocations are those that a person made before our note was found again. */
  | (JobAttempt &
      ObservedNoteState & { readonly kind: "credit_note_done"; readonly ledgerId: string })
  | (JobAttempt & { readonly kind: "contact_done"; readonly ledgerId: string });

/** SQL: the members of `doneRecord` and `undoneRecord`, as the columns of a record `r`. */
export const jobRecordType = sql`job_id uuid, attempt int, state text, reason text, message text,
    delay_ms bigint, uncount int, rekey int, number_taken int,
    renumbered int`;

/** SQL: what record `r` changes in its job `o`. */
export const recordedJob = sql`state = r.state, reason = r.reason,
    message = coalesce(r.message, o.message), attempts = o.attempts - r.uncount,
    key_variant = o.key_variant + coalesce(r.rekey, 0),
    number_taken = o.number_taken + coalesce(r.number_taken, 0),
    renumbered = o.renumbered + coalesce(r.renumbered, 0),
    not_before = CASE WHEN r.state = 'ready' THEN now() + r.delay_ms * interval '1 millisecond'
      ELSE o.not_before END,
    lease_until = CASE WHEN r.state = 'uncertain'
      THEN now() + r.delay_ms * interval '1 millisecond' END,
    finished_at = CASE WHEN r.state IN ('done', 'refused') THEN now() END`;

/** SQL: only the attempt that holds the lease of job `o` records an outcome. */
export const leasedJob = sql`o.id = r.job_id AND o.state IN ('sending', 'uncertain')
    AND o.attempts = r.attempt`;

/** An invalid value or a constraint (SQLSTATE classes 22 and 23). A retry would not help. */
export function isUnwritable(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? "");
}

/** Why a document that the ledger has is refused here. */
export const unwritableAnswer = {
  reason: "validation",
  message: "The ledger's answer fits no record here.",
} as const;

/** The record of a job that is done. */
export function doneRecord({ jobId, attempt }: JobAttempt): object {
  return { job_id: jobId, attempt, state: "done", delay_ms: 0, uncount: 0 };
}

/** The record of a job with nothing in the ledger. */
export function undoneRecord(outcome: UndoneOutcome): object {
  const { jobId, attempt } = outcome;
  const answered = {
    rekey: Number(outcome.isRemembered ?? false),
    number_taken: Number(outcome.isNumberTaken ?? false),
    renumbered: Number(outcome.isRenumbered ?? false),
  };
  const attemptRecord = { job_id: jobId, attempt, reason: plain(outcome.reason), ...answered };
  const record = { ...attemptRecord, delay_ms: 0, uncount: 0 };
  switch (outcome.kind) {
    case "refused":
      return { ...record, state: "refused", message: plain(outcome.message) };
    case "again":
      return { ...record, state: "ready", ...delayed(outcome) };
    case "uncertain":
      return { ...record, state: "uncertain", ...delayed(outcome) };
  }
}

function delayed(outcome: UndoneOutcome & { readonly kind: "again" | "uncertain" }): object {
  return { delay_ms: outcome.delayMs, uncount: outcome.countsAsAttempt === false ? 1 : 0 };
}

/** What a ledger reported of an invoice. */
interface ReportedInvoice {
  readonly status: string;
  readonly total: string | null;
  readonly amountDue: string | null;
  readonly sent: boolean | null;
  readonly updatedAt: string;
}

/** Returns it as values of a statement, which are null where nothing was reported. */
export function reportedValues(invoice: Partial<ReportedInvoice> | null): readonly unknown[] {
  const { status, total, amountDue, sent, updatedAt } = invoice ?? {};
  return [status, total, amountDue, sent, updatedAt].map((value) => value ?? null);
}

/** Removes from another system's text what PostgreSQL cannot store. */
export function plain(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
