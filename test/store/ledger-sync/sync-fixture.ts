/** An organisation whose ledger is connected, without any ledger: what people did there is what a test says. */
import type pg from "pg";
import type { ObservedCreditNote } from "../../../src/store/ledger-sync/sync-credit-notes.ts";
import type { ObservedInvoice } from "../../../src/store/ledger-sync/sync-invoices.ts";
import { createLedgerSync, type LedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import { addParty, type Party } from "../ledger-jobs/credit-party.ts";

/** The time between two sweeps in these tests. */
export const syncIntervalMs = 900_000;

/** Following over a pool; no secret is opened. */
export function mirroringOf(pool: pg.Pool): LedgerSync {
  const refuse = (): never => {
    throw new Error("no secret is opened here");
  };
  return createLedgerSync(pool, { encrypt: refuse, decrypt: refuse }, syncIntervalMs);
}

/** A subscription of an organisation that has been connected for an hour, and whose first sweep is due. */
export async function addConnectedParty(pool: pg.Pool): Promise<Party> {
  const party = await addParty(pool);
  await pool.query(
    `INSERT INTO ledger_connections (organisation_id, kind, tenant_id, base_url, identity_url, client_id, encrypted_secret, encryption_key_id, created_at)
      VALUES ($1::uuid, 'xero', $1::text, 'http://127.0.0.1', 'http://127.0.0.1', 'client', '\\x00', 'key', now() - interval '1 hour')`,
    [party.organisationId],
  );
  await pool.query(
    "INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at) VALUES ($1::uuid, $1::text, now()) ON CONFLICT (organisation_id) DO UPDATE SET next_sync_at = now()",
    [party.organisationId],
  );
  return party;
}

/** The database's clock: what is asked of the ledger from then on is as new as that. */
export async function clockOf({ pool }: Party): Promise<string> {
  const { rows } = await pool.query<{ at: string }>("SELECT clock_timestamp()::text AS at");
  return rows[0]?.at ?? "";
}

/** The instant of a ledger's change that came so many milliseconds after the first one. */
export function ledgerTime(afterMs: number): string {
  return new Date(Date.parse("2026-04-11T10:00:00.000Z") + afterMs).toISOString();
}

/** An invoice as it was looked at: approved over 100, nothing paid, unless told otherwise. */
export function invoiceLooked(id: string, changes: Partial<ObservedInvoice> = {}): ObservedInvoice {
  return {
    id,
    status: "approved",
    total: "100",
    amountDue: "100",
    sent: false,
    updatedAt: ledgerTime(0),
    ...changes,
  };
}

/** A note as it was looked at: approved over 100, all of it left, unless told otherwise. */
export function noteLooked(
  id: string,
  changes: Partial<ObservedCreditNote> = {},
): ObservedCreditNote {
  const amounts = { total: "100", remainingCredit: "100" };
  return {
    id,
    status: "approved",
    ...amounts,
    sent: false,
    allocations: [],
    updatedAt: ledgerTime(0),
    ...changes,
  };
}

/** The document with this number: `status due-or-left of-total`, with what is wrong with it. */
export async function told(
  { pool, organisationId }: Party,
  number: string,
): Promise<string | undefined> {
  const { rows } = await pool.query<{ told: string }>(
    `SELECT concat_ws(' ', status, round(amount_due, 2), 'of', round(total, 2), sync_error) AS told FROM invoices
        WHERE organisation_id = $1 AND number = $2
      UNION ALL SELECT concat_ws(' ', status, round(remaining_credit, 2), 'of', round(total, 2), sync_error) FROM credit_notes
        WHERE organisation_id = $1 AND number = $2`,
    [organisationId, number],
  );
  return rows[0]?.told;
}

/** What is to be looked at again, as `kind id`. */
export async function hintsOf({ pool, organisationId }: Party): Promise<readonly string[]> {
  const { rows } = await pool.query<{ hint: string }>(
    "SELECT kind || ' ' || ledger_id AS hint FROM ledger_notifications WHERE organisation_id = $1 ORDER BY kind, ledger_id",
    [organisationId],
  );
  return rows.map(({ hint }) => hint);
}

/** The ledger's id of the organisation's credit note with this number. */
export async function noteIdOf({ pool, organisationId }: Party, number: string): Promise<string> {
  const text =
    "SELECT ledger_credit_note_id AS id FROM credit_notes WHERE organisation_id = $1 AND number = $2";
  const { rows } = await pool.query<{ id: string }>(text, [organisationId, number]);
  return rows[0]?.id ?? "";
}
