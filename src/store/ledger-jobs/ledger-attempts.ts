/**
 * The attempts at ledger jobs of documents, for operators (ADMIN-6). A document that the ledger
 * took at its first attempt has none, so that issuing costs nothing more. SQL, because one
 * statement writes those of a batch, and trims them.
 */
import type { Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { type JobAttempt, plain } from "./document-outcomes.ts";

/** The outcome of an attempt, in the words of the jobs' outcomes. */
export interface AttemptToSave extends JobAttempt {
  readonly kind: string;
  /** A word, or a text of ours or the ledger's. */
  readonly reason?: string;
  readonly message?: string;
}

/** What came of an attempt. */
export type AttemptOutcome = "done" | "refused" | "retried" | "uncertain";

function outcomeOf(kind: string): AttemptOutcome {
  if (kind === "again") return "retried";
  return kind === "refused" || kind === "uncertain" ? kind : "done";
}

/** As many as a person reads, and about two hours of retries. */
const keptAttempts = 20;

// Written after the jobs, so that only outcomes of the attempt that held the lease are kept.
const save = command({
  name: "save_ledger_attempts",
  text: sql`
    WITH
      attempt AS (
        SELECT
          coalesce(j.credit_note_id, j.invoice_id) AS document_id,
          j.kind,
          r.*
        FROM
          jsonb_to_recordset($2) AS r (
            job_id uuid, attempt int, outcome text, reason text, message text, http_status int,
            correlation_id text, duration_ms int
          )
          JOIN ledger_jobs j ON j.organisation_id = $1 AND j.id = r.job_id
        WHERE j.attempts = r.attempt AND num_nonnulls(j.credit_note_id, j.invoice_id) > 0
      ),
      trimmed AS (
        DELETE FROM ledger_attempts a
        USING attempt n
        WHERE
          a.organisation_id = $1
          AND a.document_id = n.document_id
          AND a.seq <= (
            SELECT b.seq
            FROM ledger_attempts b
            WHERE b.organisation_id = $1 AND b.document_id = n.document_id
            ORDER BY b.seq DESC
            LIMIT 1 OFFSET ${keptAttempts - 1}
          )
      )
    INSERT INTO ledger_attempts
      (
        organisation_id, document_id, job_kind, outcome, reason, message, http_status,
        correlation_id, duration_ms
      )
    SELECT
      $1, document_id, kind, outcome, reason,
      nullif(message, ''),
      http_status, correlation_id, duration_ms
    FROM attempt
  `,
});

/** Saves attempts, in the transaction that recorded them. One that sent nothing is left out. */
export async function saveAttempts(
  client: Transaction,
  organisationId: string,
  attempts: readonly AttemptToSave[],
): Promise<void> {
  // The first attempts that succeed would be nearly all of the table.
  const kept = attempts.flatMap(({ jobId, attempt, kind, answered, reason, message }) => {
    const outcome = outcomeOf(kind);
    if (answered === undefined || (outcome === "done" && attempt === 1)) return [];
    const isWord = reason === undefined || /^[a-z_]+$/.test(reason);
    return {
      job_id: jobId,
      attempt,
      outcome,
      reason: isWord ? reason : null,
      message: plain(message ?? (isWord ? "" : reason)),
      http_status: answered.status,
      correlation_id: answered.correlationId,
      duration_ms: answered.durationMs,
    };
  });
  if (kept.length > 0) await save(client, organisationId, JSON.stringify(kept));
}
