/**
 * Amendments of invoices that the ledger has, as their workflow works them off: one operation at a time, taken under a
 * lease with all that the ledger must be told. The states are those of `operations.ts`. An amendment reads the ledger's
 * invoice first and compares, so that an `uncertain` one is simply tried again once its first request can no longer
 * take effect.
 */
import { strict as assert } from "node:assert";
import type pg from "pg";
import type { LineKind } from "../../domain/billing/invoice.ts";
import type { LedgerReferenceData, ReferenceDataKind } from "../../domain/billing/ledger-validation.ts";
import type { Encryption } from "../database/encryption.ts";
import { type ConnectionState, pauseConnection, readConnection } from "../ledger-connection/connections.ts";
import { invalidateReferenceData, loadReferenceData } from "../ledger-connection/reference-data.ts";
import { movedReason } from "./abandon-amendment.ts";
import { type AmendmentOutcome, recordAmendment } from "./amendment-outcomes.ts";
import { outcomesChannel } from "./job-notifications.ts";
import type { LineToSend } from "./jobs.ts";

/**
 * A line of the invoice. `amending`: it was added or re-priced here and is not yet so in the ledger; `ledger_line_id`
 * is its id there, null where the ledger has never told it: a line that is to be added.
 */
export interface AmendmentLine extends LineToSend {
  readonly kind: LineKind;
  readonly amending: boolean;
  readonly ledger_line_id: string | null;
}

/**
 * A taken amendment: the invoice as the ledger knows it, and all its lines in order. `joins`: it only adds lines to a
 * draft.
 */
export interface AmendmentToSend {
  readonly id: string;
  readonly attempts: number;
  readonly joins: boolean;
  /** Somebody waits for it. */
  readonly is_awaited: boolean;
  /** An operator asks again: what the ledger offers is for the ledger to say. */
  readonly skip_validation: boolean;
  readonly subscription_id: string;
  readonly invoice_id: string;
  readonly number: string;
  readonly ledger_id: string;
  readonly lines: readonly AmendmentLine[];
}

/**
 * How an amendment stands. `outcome`: `done`, `moved` (its lines are on an invoice of their own), `refused`,
 * `abandoned`, and null while it waits: then it can be taken in `nextInMs`, and `reason` is what went wrong last.
 */
export interface AmendmentState {
  readonly number: string;
  readonly attempts: number;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly nextInMs: number | null;
}

/** What amending asks of one organisation's data. */
export interface AmendmentScope {
  /** The connection with its secret opened, or null where there is none. */
  connection(): Promise<ConnectionState | null>;
  /** What the ledger offers, as far as it is known well enough to refuse by it. */
  offer(): Promise<LedgerReferenceData>;
  /** Has these kinds of what it offers read again: a refusal was about them. */
  doubt(kinds: readonly ReferenceDataKind[]): Promise<void>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  /** How the amendment stands; null where there is none. */
  look(jobId: string): Promise<AmendmentState | null>;
  /** The amendment under a lease, or null where it is settled, put off, or somebody else's now. */
  take(jobId: string, leaseMs: number): Promise<AmendmentToSend | null>;
  /** Puts the amendment off, unless somebody is at it; who waits for it is told. */
  reschedule(jobId: string, pauseMs: number, reason: string): Promise<void>;
  /**
   * Writes what became of it, unless it is another attempt's by now. True where held credit is to be put on an invoice
   * now.
   */
  settle(amendment: AmendmentToSend, settlement: AmendmentOutcome): Promise<boolean>;
}

/** Opens an organisation for amending. */
export type OpenAmendments = (organisationId: string) => AmendmentScope;

/** Amending over a pool; `sealing` opens the connections' secrets. */
export function createAmendments(pool: pg.Pool, sealing: Encryption): OpenAmendments {
  return (organisationId) => ({
    connection: () => readConnection(pool, sealing, organisationId),
    offer: () => loadReferenceData(pool, organisationId),
    doubt: (kinds) => invalidateReferenceData(pool, organisationId, kinds, "refused_by"),
    pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
    look: (jobId) => look(pool, organisationId, jobId),
    take: (jobId, leaseMs) => take(pool, organisationId, jobId, leaseMs),
    reschedule: (jobId, pauseMs, reason) => reschedule(pool, organisationId, jobId, pauseMs, reason),
    settle: (amendment, settlement) => recordAmendment(pool, organisationId, amendment, settlement),
  });
}

interface StateRow {
  number: string;
  attempts: number;
  state: string;
  reason: string | null;
  next_in_ms: number | null;
}

async function look(pool: pg.Pool, organisationId: string, jobId: string): Promise<AmendmentState | null> {
  const { rows } = await pool.query<StateRow>({
    name: "look_at_amendment",
    text: `SELECT i.number, o.attempts, o.state, o.reason,
        CASE WHEN o.finished_at IS NULL THEN greatest(0, ceil(1000 * extract(epoch FROM
          CASE WHEN o.state = 'ready' THEN o.not_before ELSE o.lease_until END - now()))) END::float8 AS next_in_ms
      FROM ledger_jobs o JOIN invoices i ON i.organisation_id = $1 AND i.id = o.invoice_id
      WHERE o.organisation_id = $1 AND o.id = $2 AND o.kind = 'amend_invoice'`,
    values: [organisationId, jobId],
  });
  const row = rows[0];
  if (row === undefined) return null;
  const { number, attempts, state, reason, next_in_ms: nextInMs } = row;
  const isMoved = state === "done" && reason === movedReason;
  const outcome = nextInMs !== null ? null : isMoved ? movedReason : state;
  return { number, attempts, outcome, reason, nextInMs };
}

const takeText = `
WITH taken AS (
  UPDATE ledger_jobs t SET state = CASE WHEN t.state = 'ready' THEN 'sending' ELSE 'uncertain' END,
    first_sent_at = coalesce(t.first_sent_at, now()), lease_until = now() + $3 * interval '1 millisecond',
    attempts = t.attempts + 1
  WHERE t.organisation_id = $1 AND t.id = $2 AND t.kind = 'amend_invoice'
    AND (t.state = 'ready' AND t.not_before <= now() OR t.state IN ('sending', 'uncertain') AND t.lease_until < now())
  RETURNING t.id, t.attempts, t.joins, t.skip_validation, coalesce(t.awaited_until > now(), false) AS is_awaited, t.subscription_id, t.invoice_id
)
SELECT taken.*, i.number, i.ledger_invoice_id AS ledger_id,
  (SELECT json_agg(json_build_object('id', l.id, 'amending', l.amending, 'ledger_line_id', l.ledger_line_id,
    'kind', l.kind, 'name', l.name, 'description', l.description, 'units', l.units, 'unit_price', l.unit_price::text,
    'amount', l.amount::text, 'revenue_account', l.revenue_account, 'tax_type', l.tax_type) ORDER BY l.position)
    FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = i.id) AS lines
FROM taken JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id`;

async function take(
  pool: pg.Pool,
  organisationId: string,
  jobId: string,
  leaseMs: number,
): Promise<AmendmentToSend | null> {
  const { rows } = await pool.query<AmendmentToSend & { readonly ledger_id: string | null }>({
    name: "take_amendment",
    text: takeText,
    values: [organisationId, jobId, leaseMs],
  });
  const [taken] = rows;
  if (taken === undefined) return null;
  assert(taken.ledger_id, "an amended invoice was in the ledger");
  return taken;
}

async function reschedule(
  pool: pg.Pool,
  organisationId: string,
  jobId: string,
  pauseMs: number,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "reschedule_amendment",
    text: `WITH until AS (SELECT now() + $3 * interval '1 millisecond' AS instant), op AS (
        UPDATE ledger_jobs o SET reason = $4, state = CASE WHEN o.state = 'ready' THEN 'ready' ELSE 'uncertain' END,
          not_before = CASE WHEN o.state = 'ready' THEN greatest(o.not_before, until.instant) ELSE o.not_before END,
          lease_until = CASE WHEN o.state = 'ready' THEN o.lease_until ELSE until.instant END
        FROM until
        WHERE o.organisation_id = $1 AND o.id = $2 AND o.kind = 'amend_invoice'
          AND (o.state = 'ready' OR o.state IN ('sending', 'uncertain') AND o.lease_until < now()) RETURNING o.id
      ) SELECT pg_notify('${outcomesChannel}', op.id::text) FROM op`,
    values: [organisationId, jobId, pauseMs, reason],
  });
}
