/** Shows operators the state of an organisation's ledger sync, and requests a new sync. */
import type { Pool } from "../../database/pool.ts";
import type { Actor, Changes } from "../changes.ts";

/** The state of the ledger sync. The counts are of the sync under way, or of the last one. */
export interface LedgerSyncView {
  readonly beganAt: Date | null;
  readonly endedAt: Date | null;
  readonly isWaiting: boolean;
  readonly problem: string | null;
  readonly notBefore: Date | null;
  readonly customersChanged: number;
  readonly creditNotesChanged: number;
  readonly invoicesChanged: number;
  readonly hints: number;
  /** How many change notifications failed in their last attempt, with the reason of one of them. */
  readonly notificationsProblem: string | null;
}

/** The ledger sync for operators. Null stands for an organisation that is not connected. */
export interface LedgerSyncAdminStore {
  get(organisationId: string): Promise<LedgerSyncView | null>;
  /**
   * Makes a full sync due, including the notifications that failed. Returns the instant from which
   * a sync answers this request.
   */
  ask(actor: Actor, organisationId: string): Promise<Date | null>;
}

interface SyncRow {
  began_at: Date | null;
  ended_at: Date | null;
  is_waiting: boolean;
  problem: string | null;
  not_before: Date | null;
  customers: number;
  credit_notes: number;
  invoices: number;
  hints: number;
  notifications_problem: string | null;
}

/** Creates the store of the ledger sync over changes. */
export function createLedgerSyncAdminStore(pool: Pool, { run }: Changes): LedgerSyncAdminStore {
  return {
    get: async (organisationId) => {
      const { rows } = await pool.query<SyncRow>({
        name: "get_ledger_sync",
        text: getText,
        values: [organisationId],
      });
      return rows[0] === undefined ? null : readSync(rows[0]);
    },
    ask: (actor, organisationId) =>
      run(actor, async (transaction) => {
        const rows = await transaction.$queryRaw<{ requested_at: Date }[]>`
          INSERT INTO ledger_sync_cursors AS s (organisation_id, tenant_id, next_sync_at, requested_at)
            SELECT organisation_id, tenant_id, now(), clock_timestamp() FROM ledger_connections WHERE organisation_id = ${organisationId}::uuid
          ON CONFLICT (organisation_id) DO UPDATE SET next_sync_at = now(), requested_at = clock_timestamp(),
            not_before = NULL, reason = NULL, failures = 0
          RETURNING s.requested_at`;
        const askedAt = rows[0]?.requested_at ?? null;
        if (askedAt === null) return { result: null, changes: [] };
        // The operator may have repaired what made these notifications fail.
        await transaction.$executeRaw`UPDATE ledger_notifications h SET try_at = now() FROM (
            SELECT kind, ledger_id FROM ledger_notifications WHERE organisation_id = ${organisationId}::uuid AND reason IS NOT NULL
            ORDER BY kind, ledger_id FOR UPDATE) AS unfollowed
          WHERE h.organisation_id = ${organisationId}::uuid AND h.kind = unfollowed.kind AND h.ledger_id = unfollowed.ledger_id`;
        const target = {
          targetKind: "ledger_connection",
          targetId: organisationId,
          organisationId,
        } as const;
        return {
          result: askedAt,
          changes: [{ ...target, before: {}, after: { syncAskedAt: askedAt } }],
        };
      }),
  };
}

// An incremental sync that fails is retried when it is due.
const getText = `
SELECT s.began_at, s.swept_at AS ended_at, s.sync_kind IS NOT NULL OR coalesce(s.next_sync_at <= now(), false) AS is_waiting,
  CASE WHEN greatest(c.paused_until, s.not_before) > now() THEN coalesce(CASE WHEN c.paused_until > now() THEN c.paused_reason END, s.reason)
    WHEN c.disconnected_at IS NULL AND s.sync_kind IS NOT NULL AND s.next_sync_at > now() THEN s.reason
    ELSE c.disconnected_reason END AS problem,
  CASE WHEN greatest(c.paused_until, s.not_before) > now() THEN greatest(c.paused_until, s.not_before)
    WHEN c.disconnected_at IS NULL AND s.sync_kind IS NOT NULL AND s.next_sync_at > now() THEN s.next_sync_at END AS not_before,
  coalesce(s.contacts_changed, 0) AS customers, coalesce(s.credit_notes_changed, 0) AS credit_notes,
  coalesce(s.invoices_changed, 0) AS invoices,
  (SELECT count(*)::int FROM ledger_notifications h WHERE h.organisation_id = c.organisation_id) AS hints,
  (SELECT concat(count(*), ' cannot be followed: ', min(h.reason)) FROM ledger_notifications h
    WHERE h.organisation_id = c.organisation_id AND h.reason IS NOT NULL HAVING count(*) > 0) AS notifications_problem
FROM ledger_connections c LEFT JOIN ledger_sync_cursors s ON s.organisation_id = c.organisation_id WHERE c.organisation_id = $1`;

function readSync(row: SyncRow): LedgerSyncView {
  return {
    beganAt: row.began_at,
    endedAt: row.ended_at,
    isWaiting: row.is_waiting,
    problem: row.problem,
    notBefore: row.not_before,
    customersChanged: row.customers,
    creditNotesChanged: row.credit_notes,
    invoicesChanged: row.invoices,
    hints: row.hints,
    notificationsProblem: row.notifications_problem,
  };
}
