/** A fixture of a connected organisation without a ledger: the test says what was observed. */
import type pg from "pg";
import type { ObservedCreditNote } from "../../../src/store/ledger-sync/sync-credit-notes.ts";
import type { ObservedInvoice } from "../../../src/store/ledger-sync/sync-invoices.ts";
import { createLedgerSync, type LedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import { setSyncDue } from "../../support/ledger-sync-builder.ts";
import { addParty, type Party } from "../ledger-jobs/credit-party.ts";

/** The interval of incremental syncs in these tests. */
export const syncIntervalMs = 900_000;

/** The ledger sync over a pool. No secret is decrypted. */
export function ledgerSyncOf(pool: pg.Pool): LedgerSync {
  const refuse = (): never => {
    throw new Error("no secret is decrypted here");
  };
  return createLedgerSync(pool, { encrypt: refuse, decrypt: refuse }, syncIntervalMs);
}

/** The ledger sync of one organisation. */
export const open = (pool: pg.Pool, { organisationId }: Pick<Party, "organisationId">) =>
  ledgerSyncOf(pool).open(organisationId);

/** Whether the organisation is among those to sync. */
export async function isFound(pool: pg.Pool, { organisationId }: Party): Promise<boolean> {
  return (await ledgerSyncOf(pool).find(null, 1_000)).includes(organisationId);
}

/** Adds a subscription of an organisation connected for an hour. Its first sync is due. */
export async function addConnectedParty(pool: pg.Pool): Promise<Party> {
  const party = await addParty(pool);
  await pool.query(
    `INSERT INTO ledger_connections (organisation_id, kind, tenant_id, base_url, identity_url,
        client_id, encrypted_secret, encryption_key_id, created_at)
      VALUES ($1::uuid, 'xero', $1::text, 'http://127.0.0.1', 'http://127.0.0.1', 'client',
        '\\x00', 'key', now() - interval '1 hour')`,
    [party.organisationId],
  );
  const { organisationId } = party;
  await setSyncDue(pool, { organisationId, tenantId: organisationId });
  return party;
}

/** Returns the database's clock. Data requested from the ledger now is as new as that. */
export async function clockOf({ pool }: Party): Promise<string> {
  const { rows } = await pool.query<{ at: string }>("SELECT clock_timestamp()::text AS at");
  return rows[0]?.at ?? "";
}

/** Returns the instant of a change in the ledger, `afterMs` after the first one. */
export function ledgerTime(afterMs: number): string {
  return new Date(Date.parse("2026-04-11T10:00:00.000Z") + afterMs).toISOString();
}

/** An observed invoice: approved over 100 and unpaid, with these changes. */
export function observedInvoice(
  id: string,
  changes: Partial<ObservedInvoice> = {},
): ObservedInvoice {
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

/** An observed credit note: approved over 100 and unused, with these changes. */
export function observedNote(
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

/** Describes the document with this number: `status due-or-left of total` and its sync error. */
export async function describeDocument(
  { pool, organisationId }: Party,
  number: string,
): Promise<string | undefined> {
  const { rows } = await pool.query<{ text: string }>(
    `SELECT concat_ws(' ', status, round(amount_due, 2), 'of', round(total, 2), sync_error) AS text
      FROM invoices WHERE organisation_id = $1 AND number = $2
      UNION ALL
      SELECT concat_ws(' ', status, round(remaining_credit, 2), 'of', round(total, 2), sync_error)
      FROM credit_notes WHERE organisation_id = $1 AND number = $2`,
    [organisationId, number],
  );
  return rows[0]?.text;
}

/** Returns the pending notifications as `kind id`. */
export async function notificationsOf({ pool, organisationId }: Party): Promise<readonly string[]> {
  const { rows } = await pool.query<{ text: string }>(
    `SELECT kind || ' ' || ledger_id AS text FROM ledger_notifications
      WHERE organisation_id = $1 ORDER BY kind, ledger_id`,
    [organisationId],
  );
  return rows.map(({ text }) => text);
}

/** Returns the ledger's id of the organisation's credit note with this number. */
export async function noteIdOf({ pool, organisationId }: Party, number: string): Promise<string> {
  const text = `SELECT ledger_credit_note_id AS id FROM credit_notes WHERE organisation_id = $1
      AND number = $2`;
  const { rows } = await pool.query<{ id: string }>(text, [organisationId, number]);
  return rows[0]?.id ?? "";
}
