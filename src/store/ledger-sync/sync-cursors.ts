/**
 * Finds the organisations whose ledger is to be read now, and creates their sync cursors. SQL,
 * because it reads over all organisations, and compares instants by the database's clock.
 */
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";

/**
 * SQL: when the first sync of connection `c` is due: at a random time within one interval, and not
 * before the connection is one interval old. If many syncs start at the same moment, as after an
 * upgrade, their first runs are spread over one interval.
 */
export const firstSyncAt = (syncIntervalMs: Sql): Sql => sql`greatest(
    c.created_at + ${syncIntervalMs} * interval '1 millisecond',
    now() + random() * ${syncIntervalMs} * interval '1 millisecond')`;

// Connected, and not paused.
const callable = sql`ledger_connections c
    LEFT JOIN ledger_sync_cursors s ON s.organisation_id = c.organisation_id
  WHERE c.disconnected_at IS NULL
    AND coalesce(greatest(c.paused_until, s.not_before) <= now(), true)`;

const callableText = (condition: Sql): Sql =>
  sql`SELECT c.organisation_id FROM ${callable} AND ${condition}
    ORDER BY c.organisation_id LIMIT $2`;

const organisation = pick(columns.ledgerConnection, "organisationId");

const hasNotification = sql`EXISTS (SELECT FROM ledger_notifications h
    WHERE h.organisation_id = c.organisation_id AND h.try_at <= now())`;

// Planned for its values: a page begins after the last one.
const findDue = query({
  name: "find_due_syncs",
  text: callableText(sql`($1::uuid IS NULL OR c.organisation_id > $1)
    AND (s.next_sync_at <= now() OR ${hasNotification})`),
  row: organisation,
});

/**
 * The organisations whose ledger is to be read now, by rising id after `after`. It reads across
 * organisations and returns ids only.
 */
export async function findDueSyncs(
  pool: Pool,
  after: string | null,
  limit: number,
  syncIntervalMs: number,
): Promise<readonly string[]> {
  if (after === null) await createCursors(pool, syncIntervalMs);
  const rows = await findDue(pool, after, limit);
  return rows.map(({ organisationId }) => organisationId);
}

const findNotified = query({
  name: "find_with_notifications",
  planned: "once",
  text: callableText(sql`c.organisation_id = ANY ($1::uuid[]) AND ${hasNotification}`),
  row: organisation,
});

/** Of these organisations, those with a due notification whose ledger may be called now. */
export async function findWithNotifications(
  pool: Pool,
  organisationIds: readonly string[],
): Promise<readonly string[]> {
  const rows = await findNotified(pool, organisationIds, null);
  return rows.map(({ organisationId }) => organisationId);
}

const createCursors = command({
  name: "create_sync_cursors",
  text: sql`
    INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at)
    SELECT c.organisation_id, c.tenant_id, ${firstSyncAt(sql`$1::float8`)}
    FROM ledger_connections c
    WHERE
      c.disconnected_at IS NULL
      AND NOT EXISTS (
        SELECT
        FROM ledger_sync_cursors s
        WHERE s.organisation_id = c.organisation_id
      )
    ON CONFLICT DO NOTHING
  `,
});
