/**
 * Amends invoices that the ledger has, for their workflow. One job at a time is leased, with
 * everything that the ledger must get. Its states are those in `jobs.ts`. An amendment first reads
 * and compares the ledger's invoice. So an `uncertain` one is simply tried again once its first
 * request can no longer take effect.
 */

import { strict as assert } from "node:assert";
import type { LineKind } from "../../domain/billing/invoice.ts";
import type {
  LedgerReferenceData,
  ReferenceDataKind,
} from "../../domain/billing/ledger-validation.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import {
  type ConnectionState,
  pauseConnection,
  readConnection,
} from "../ledger-connection/connections.ts";
import { invalidateReferenceData, loadReferenceData } from "../ledger-connection/reference-data.ts";
import { movedReason } from "./abandon-amendment.ts";
import { type AmendmentOutcome, recordAmendment } from "./amendment-outcomes.ts";
import { outcomesChannel } from "./job-notifications.ts";
import type { LineToSend } from "./jobs.ts";

/**
 * A line of the invoice. `amending`: added or re-priced here, and not yet so in the ledger.
 * `ledger_line_id` is null if the ledger never reported its id: a line to add.
 */
export interface AmendmentLine extends LineToSend {
  readonly kind: LineKind;
  readonly amending: boolean;
  readonly ledger_line_id: string | null;
}

/**
 * A leased amendment: the invoice as the ledger knows it, and all its lines in order. `joins`: it
 * only adds lines to a draft.
 */
export interface AmendmentToSend {
  readonly id: string;
  readonly attempts: number;
  readonly joins: boolean;
  /** A caller waits for it. */
  readonly is_awaited: boolean;
  /** An operator retries it: our own validation is skipped (ADMIN-6). */
  readonly skip_validation: boolean;
  readonly subscription_id: string;
  readonly invoice_id: string;
  readonly number: string;
  readonly ledger_id: string;
  readonly lines: readonly AmendmentLine[];
}

/**
 * An amendment's state. `outcome` is `done`, `moved` (its lines are on another invoice), `refused`
 * or `abandoned`, and null while it is open. Then it can be taken in `nextInMs`, and `reason` is
 * its last failure.
 */
export interface AmendmentState {
  readonly number: string;
  readonly attempts: number;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly nextInMs: number | null;
}

/** Store of one organisation's amendments. */
export interface AmendmentScope {
  /** The connection with its secret decrypted, or null if there is none. */
  connection(): Promise<ConnectionState | null>;
  /** The cached reference data, as far as it is reliable enough to refuse by (POSTING-5). */
  offer(): Promise<LedgerReferenceData>;
  /** Invalidates these kinds of reference data, because a refusal was about them. */
  doubt(kinds: readonly ReferenceDataKind[]): Promise<void>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  /** Loads the amendment's state. Null if there is none. */
  look(jobId: string): Promise<AmendmentState | null>;
  /** Takes the amendment under a lease. Null if it is decided, rescheduled or leased elsewhere. */
  take(jobId: string, leaseMs: number): Promise<AmendmentToSend | null>;
  /** Reschedules the amendment, unless it is leased, and notifies waiting callers. */
  reschedule(jobId: string, pauseMs: number, reason: string): Promise<void>;
  /**
   * Records the outcome, unless another attempt has the amendment by now. True if held credit must
   * be allocated now.
   */
  settle(amendment: AmendmentToSend, settlement: AmendmentOutcome): Promise<boolean>;
}

/** Opens an organisation's amendments. */
export type OpenAmendments = (organisationId: string) => AmendmentScope;

/** Binds amendments to a pool. `encryption` decrypts the connections' secrets. */
export function createAmendments(pool: Pool, encryption: Encryption): OpenAmendments {
  return (organisationId) => ({
    connection: () => readConnection(pool, encryption, organisationId),
    offer: () => loadReferenceData(pool, organisationId),
    doubt: (kinds) => invalidateReferenceData(pool, organisationId, kinds, "refused_by"),
    pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
    look: (jobId) => look(pool, organisationId, jobId),
    take: (jobId, leaseMs) => take(pool, organisationId, jobId, leaseMs),
    reschedule: (jobId, pauseMs, reason) =>
      reschedule(pool, organisationId, jobId, pauseMs, reason),
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

async function look(
  pool: Pool,
  organisationId: string,
  jobId: string,
): Promise<AmendmentState | null> {
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
  pool: Pool,
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
  pool: Pool,
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
