/**
 * Caches each organisation's ledger reference data, so that documents can be validated before the
 * ledger is called. It is read again in the background, and invalidated as soon as the ledger
 * contradicts it. POSTING-5. SQL, because each statement decides by several stored instants and
 * the database's clock, and a claim covers all organisations.
 */

import {
  type LedgerReferenceData,
  type ReferenceDataKind,
  referenceDataKinds,
  unknownReferenceData,
} from "../../domain/ledger/validation.ts";
import { columns } from "../../gen/columns.ts";
import { binding } from "../database/bind.ts";
import type { Encryption } from "../database/encryption.ts";
import { orderedUpdate } from "../database/lock-order.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { arrayOf, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { pauseConnection, readConnection } from "./connections.ts";

/**
 * The max age of reference data. A refresh is four calls a quarter of a day, and the smallest daily
 * limit is a thousand calls.
 */
const maxAge = sql`interval '6 hours'`;

/**
 * The max age at which reference data may reject a document. A rejection is final until an operator
 * retries, and a repair in the ledger since the last read is unknown here. Above this age the
 * ledger decides. If it rejects, the list is read, so that later documents are validated here.
 */
const trustedAge = sql`interval '30 minutes'`;

/**
 * The least gap between two reads of a list that rejections cause. A document that is always
 * rejected must not use up the ledger's daily limit.
 */
const readingGap = sql`interval '15 minutes'`;

/**
 * The age of a connection at which its lists are first read in the background. Before that the
 * operator who created it reads them for the mapping.
 */
const firstReading = sql`interval '5 minutes'`;

/** How long a claimed read is reserved for the process that claimed it. */
const readingPause = sql`interval '5 minutes'`;

const dataKind = columns.ledgerReferenceData.kind.as<ReferenceDataKind>();

const loadTrusted = query({
  name: "load_reference_data",
  planned: "once",
  text: sql`
    SELECT o.kind, o.data
    FROM
      ledger_reference_data o
      JOIN ledger_connections c ON c.organisation_id = $1 AND c.tenant_id = o.tenant_id
    WHERE
      o.organisation_id = $1
      AND o.fetched_at > now() - ${trustedAge}
      AND (o.invalidated_at IS NULL OR o.invalidated_at < o.fetched_at)
  `,
  row: { kind: dataKind, data: columns.ledgerReferenceData.data.present() },
});

/**
 * Returns the ledger's reference data, as far as it is recent enough to reject a document by it.
 */
export async function loadReferenceData(
  pool: Pool,
  organisationId: string,
): Promise<LedgerReferenceData> {
  const rows = await loadTrusted(pool, organisationId);
  const known = Object.fromEntries(rows.map(({ kind, data }) => [kind, data]));
  return { ...unknownReferenceData, ...known };
}

const save = command({
  name: "save_reference_data",
  text: sql`
    INSERT INTO ledger_reference_data AS o (
      organisation_id, kind, tenant_id, data, fetched_at, next_read_at
    )
    VALUES ($1, $2, $3, $4, now() - $5 * interval '1 millisecond', now() + ${maxAge})
    ON CONFLICT (organisation_id, kind) DO UPDATE
      SET
        tenant_id = excluded.tenant_id,
        data = excluded.data,
        fetched_at = excluded.fetched_at,
        next_read_at = CASE
          WHEN o.invalidated_at >= excluded.fetched_at THEN o.next_read_at
          ELSE excluded.next_read_at
        END
      WHERE
        o.fetched_at IS NULL
        OR o.fetched_at <= excluded.fetched_at
        OR o.tenant_id <> excluded.tenant_id
  `,
});

/** How lists are locked and updated together. */
const listRows = { table: sql`ledger_reference_data`, key: [sql`kind`] };

/**
 * Why a kind is invalidated: the ledger contradicted it, a document was refused by it, or an
 * operator repaired the ledger.
 */
export type Invalidation = "contradicted" | "refused_by" | "mended";

const invalidate = orderedUpdate({
  ...listRows,
  name: "invalidate_reference_data",
  where: sql`kind = ANY ($2)`,
  set: sql`invalidated_at = CASE WHEN $4 THEN clock_timestamp() ELSE invalidated_at END,
    next_read_at = least(next_read_at, CASE WHEN $3 THEN now()
      WHEN fetched_at IS NOT NULL THEN greatest(now(), fetched_at + ${readingGap}) END)`,
});

/**
 * Invalidates these kinds, so that they are read again. Data that was contradicted or repaired
 * rejects nothing until then. A repair is read at once, otherwise a while after the last read. If
 * no data is stored there is nothing to contradict, and the next read keeps its time.
 */
export async function invalidateReferenceData(
  client: Pool | Transaction,
  organisationId: string,
  kinds: readonly ReferenceDataKind[],
  why: Invalidation,
): Promise<void> {
  if (kinds.length === 0) return;
  await invalidate(client, organisationId, kinds, why === "mended", why !== "refused_by");
}

const reschedule = orderedUpdate({
  ...listRows,
  name: "reschedule_reference_data",
  where: sql`kind = ANY ($2) AND NOT coalesce(
    greatest(fetched_at, invalidated_at) > now() - $4 * interval '1 millisecond', false)`,
  set: sql`next_read_at = now() + $3 * interval '1 millisecond',
    data = CASE WHEN NOT $5 THEN data END, fetched_at = CASE WHEN NOT $5 THEN fetched_at END`,
});

/** A read that failed, `ageMs` after it began, and the delay until the next attempt. */
interface FailedReading {
  readonly pauseMs: number;
  readonly ageMs: number;
  /** The ledger does not let us read it. Data read before can no longer reject anything. */
  readonly isForbidden: boolean;
}

/** The tenant that data was read from, and how long ago. */
interface ReadFrom {
  readonly tenantId: string;
  readonly ageMs: number;
}

/** Creates the store of reference data over a pool. */
export function createReferenceDataStore(pool: Pool) {
  return {
    /**
     * Stores data of a kind, read `ageMs` ago from the tenant that was connected. Data that was
     * read later stays. An invalidation since then stays.
     */
    save: <Kind extends ReferenceDataKind>(
      organisationId: string,
      kind: Kind,
      data: NonNullable<LedgerReferenceData[Kind]>,
      { tenantId, ageMs }: ReadFrom,
    ) => save(pool, organisationId, kind, tenantId, JSON.stringify(data), ageMs),
  };
}

/** Data access of the background read of all organisations. */
export type ReferenceDataReading = ReturnType<typeof createReferenceDataReading>;

/** Creates the background read over a pool. `encryption` decrypts the connections' secrets. */
export function createReferenceDataReading(pool: Pool, encryption: Encryption) {
  return {
    ...createReferenceDataStore(pool),
    /**
     * Claims reference data to read, at most `atMost` kinds. Covers organisations whose ledger
     * takes calls, and kinds that were never read, are too old or were invalidated. Another process
     * can claim them after five minutes, unless they were stored or rescheduled.
     */
    takeDue: (atMost: number) => claimDue(pool, referenceDataKinds, atMost),
    /**
     * Reschedules kinds that could not be read, requested `ageMs` ago. If reading was forbidden the
     * data no longer counts as known. Data stored or invalidated since takes precedence.
     */
    reschedule: (
      organisationId: string,
      kinds: readonly ReferenceDataKind[],
      { pauseMs, ageMs, isForbidden }: FailedReading,
    ) => reschedule(pool, organisationId, kinds, pauseMs, ageMs, isForbidden),
    connection: (organisationId: string) => readConnection(pool, encryption, organisationId),
    pause: binding(pool)(pauseConnection),
  };
}

const dueReferenceData = {
  organisationId: columns.ledgerReferenceData.organisationId.present(),
  kinds: arrayOf(dataKind),
};

/** The kinds to read from one organisation's ledger. */
export type DueReferenceData = RowOf<typeof dueReferenceData>;

const claimDue = query({
  name: "claim_due_reference_data",
  text: sql`
    WITH
      due AS (
        SELECT c.organisation_id, k.kind, c.tenant_id
        FROM
          ledger_connections c
          CROSS JOIN unnest($1::text[]) AS k (kind)
          LEFT JOIN ledger_reference_data o
            ON o.organisation_id = c.organisation_id AND o.kind = k.kind
        WHERE
          c.disconnected_at IS NULL
          AND (c.paused_until IS NULL OR c.paused_until <= now())
          AND coalesce(o.next_read_at, c.created_at + ${firstReading}) <= now()
        ORDER BY o.next_read_at NULLS FIRST
        LIMIT $2
      ),
      taken AS (
        INSERT INTO ledger_reference_data AS o (organisation_id, kind, tenant_id, next_read_at)
        SELECT organisation_id, kind, tenant_id, now() + ${readingPause}
        FROM due
        ORDER BY organisation_id, kind
        ON CONFLICT (organisation_id, kind) DO UPDATE
          SET next_read_at = excluded.next_read_at
          WHERE o.next_read_at <= now()
        RETURNING organisation_id, kind
      )
    SELECT organisation_id, array_agg(kind) AS kinds
    FROM taken
    GROUP BY organisation_id
  `,
  row: dueReferenceData,
});
