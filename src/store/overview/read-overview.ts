/**
 * Reads the stored figures of an organisation and the state of its ledger. SQL, because it goes by
 * the database's clock.
 */
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { bool, json, pick, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import type { Figures } from "./figures.ts";

const overviewRow = {
  figures: json<Figures>().orNull(),
  asOf: columns.overview.asOf,
  isConnected: bool,
  isDisconnected: bool,
  ...pick(columns.ledgerConnection, "disconnectedReason", "pausedReason", "pausedUntil"),
  ...pick(columns.ledgerSyncCursor, "syncedAt", "dayMost"),
  ...pick(columns.ledgerBudget, "dayRemaining", "dayObservedAt"),
};

// What a ledger reported more than a day ago is about another day.
const readRow = query({
  name: "read_overview",
  text: sql`
    SELECT
      v.figures, v.as_of,
      c.organisation_id IS NOT NULL AS is_connected,
      c.disconnected_at IS NOT NULL AS is_disconnected,
      c.disconnected_reason,
      CASE WHEN c.paused_until > now() THEN c.paused_reason END AS paused_reason,
      CASE WHEN c.paused_until > now() THEN c.paused_until END AS paused_until,
      s.synced_at, b.day_remaining, b.day_observed_at,
      greatest(s.day_most, b.day_remaining) AS day_most
    FROM
      organisations o
      LEFT JOIN overviews v ON v.organisation_id = o.id
      LEFT JOIN ledger_connections c ON c.organisation_id = o.id
      LEFT JOIN ledger_sync_cursors s ON s.organisation_id = o.id
      LEFT JOIN ledger_budgets b
        ON b.organisation_id = o.id AND b.day_observed_at > now() - interval '1 day'
    WHERE o.id = $1
  `,
  row: overviewRow,
});

// At most once a minute, so that a page which is open writes little.
const noteRead = command({
  name: "note_overview_read",
  text: sql`
    UPDATE overviews v
    SET read_at = now()
    WHERE v.organisation_id = $1 AND (v.read_at IS NULL OR v.read_at < now() - interval '1 minute')
  `,
});

/** The figures of an organisation, and the state of its ledger. */
export type Overview = RowOf<typeof overviewRow>;

/** Reads it, and notes that somebody did. Null for an organisation that does not exist. */
export async function readOverview(pool: Pool, organisationId: string): Promise<Overview | null> {
  const [row] = await readRow(pool, organisationId);
  if (row === undefined) return null;
  await noteRead(pool, organisationId);
  return row;
}
