/**
 * What each organisation's ledger is known to offer, kept so that documents can be judged before it is asked: read again in the
 * background, and doubted as soon as the ledger contradicts it. Facts: facts-ledger section 4, "Pre-flight".
 */
import type pg from "pg";
import { type LedgerReferenceData, type ReferenceDataKind, referenceDataKinds, unknownReferenceData } from "../../domain/billing/ledger-validation.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Client } from "../documents/issue-documents.ts";
import { type ConnectionState, pauseConnection, readConnection } from "./connections.ts";

/** How long what was told counts as fresh: four calls a quarter of a day, of the thousand that the smallest day has. */
const freshFor = "interval '6 hours'";

/**
 * How old it may be to refuse a document by it: a refusal is final until an operator retries, and what somebody has mended in the ledger
 * meanwhile is not known here. Older than that the ledger judges, and what it refuses has its list read, so that the next ones are judged here.
 */
const trustedFor = "interval '30 minutes'";

/** How far apart readings of a list are that refusals ask for: a document that is always refused must not use up the ledger's day. */
const readingGap = "interval '15 minutes'";

/** How old a connection is before its lists are read unasked: whoever has just made it looks at them to map by them. */
const firstReading = "interval '5 minutes'";

/** How long whoever took a reading is waited for. */
const readingPause = "interval '5 minutes'";

/** What the ledger offers, as far as it is known well enough to refuse by it. */
export async function loadReferenceData(pool: pg.Pool, organisationId: string): Promise<LedgerReferenceData> {
  const { rows } = await pool.query<{ kind: ReferenceDataKind; offer: unknown }>({
    name: "read_reference_data",
    text: `SELECT o.kind, o.offer FROM ledger_reference_data o
        JOIN ledger_connections c ON c.organisation_id = $1 AND c.tenant_id = o.tenant_id
      WHERE o.organisation_id = $1 AND o.fetched_at > now() - ${trustedFor} AND (o.invalidated_at IS NULL OR o.invalidated_at < o.fetched_at)`,
    values: [organisationId],
  });
  return { ...unknownReferenceData, ...Object.fromEntries(rows.map(({ kind, offer }) => [kind, offer])) };
}

async function saveReferenceData<Kind extends ReferenceDataKind>(
  pool: pg.Pool,
  organisationId: string,
  kind: Kind,
  offer: NonNullable<LedgerReferenceData[Kind]>,
  { tenantId, ageMs }: { readonly tenantId: string; readonly ageMs: number },
): Promise<void> {
  await pool.query({
    name: "save_reference_data",
    text: `INSERT INTO ledger_reference_data AS o (organisation_id, kind, tenant_id, offer, fetched_at, next_read_at)
      VALUES ($1, $2, $3, $4, now() - $5 * interval '1 millisecond', now() + ${freshFor})
      ON CONFLICT (organisation_id, kind) DO UPDATE SET tenant_id = excluded.tenant_id, offer = excluded.offer, fetched_at = excluded.fetched_at,
        next_read_at = CASE WHEN o.invalidated_at >= excluded.fetched_at THEN o.next_read_at ELSE excluded.next_read_at END
      WHERE o.fetched_at IS NULL OR o.fetched_at <= excluded.fetched_at OR o.tenant_id <> excluded.tenant_id`,
    values: [organisationId, kind, tenantId, JSON.stringify(offer), ageMs],
  });
}

/** Why a kind is to be read again: the ledger contradicted it; something was refused by it; an operator has mended something. */
export type Invalidation = "contradicted" | "refused_by" | "mended";

/**
 * Has these kinds read again. What the ledger contradicted and what was mended refuses nothing until then. A reading follows at once
 * where something was mended, else a while after the last one; where nothing was told by that, nothing is contradicted.
 */
export async function invalidateReferenceData(
  client: pg.Pool | Client,
  organisationId: string,
  kinds: readonly ReferenceDataKind[],
  doubt: Invalidation,
): Promise<void> {
  if (kinds.length === 0) return;
  await client.query({
    name: "invalidate_reference_data",
    text: `WITH held AS (
        SELECT kind FROM ledger_reference_data WHERE organisation_id = $1 AND kind = ANY ($2) ORDER BY kind FOR UPDATE
      )
      UPDATE ledger_reference_data o SET invalidated_at = CASE WHEN $4 THEN clock_timestamp() ELSE invalidated_at END,
        next_read_at = least(next_read_at,
          CASE WHEN $3 THEN now() WHEN fetched_at IS NOT NULL THEN greatest(now(), fetched_at + ${readingGap}) END)
      FROM held WHERE o.organisation_id = $1 AND o.kind = held.kind`,
    values: [organisationId, kinds, doubt === "mended", doubt !== "refused_by"],
  });
}

/**
 * Leaves kinds alone that could not be read, asked for `ageMs` ago; what is forbidden is known no longer. What was told or doubted since
 * counts for more.
 */
async function rescheduleReading(
  pool: pg.Pool,
  organisationId: string,
  kinds: readonly ReferenceDataKind[],
  { pauseMs, ageMs, isForbidden }: FailedReading,
): Promise<void> {
  await pool.query({
    name: "reschedule_reference_data",
    text: `WITH asked AS (SELECT now() - $4 * interval '1 millisecond' AS at), held AS (
        SELECT o.kind FROM ledger_reference_data o, asked WHERE o.organisation_id = $1 AND o.kind = ANY ($2)
          AND NOT coalesce(greatest(o.fetched_at, o.invalidated_at) > asked.at, false) ORDER BY o.kind FOR UPDATE OF o
      )
      UPDATE ledger_reference_data o SET next_read_at = now() + $3 * interval '1 millisecond',
        offer = CASE WHEN NOT $5 THEN offer END, fetched_at = CASE WHEN NOT $5 THEN fetched_at END
      FROM held WHERE o.organisation_id = $1 AND o.kind = held.kind`,
    values: [organisationId, kinds, pauseMs, ageMs, isForbidden],
  });
}

/** A reading that failed, `ageMs` after it began, and for how long it is not tried again. */
export interface FailedReading {
  readonly pauseMs: number;
  readonly ageMs: number;
  /** The ledger does not let us read it: what was told before cannot be held against anything any more. */
  readonly isForbidden: boolean;
}

/** Keeping what is told of an organisation's ledger. */
export interface ReferenceDataStore {
  /**
   * Keeps what the ledger told of a kind, `ageMs` after it was asked, of the tenant that was connected. What was told later stands;
   * what was doubted since is doubted still.
   */
  keep<Kind extends ReferenceDataKind>(
    organisationId: string,
    kind: Kind,
    offer: NonNullable<LedgerReferenceData[Kind]>,
    told: { readonly tenantId: string; readonly ageMs: number },
  ): Promise<void>;
}

/** Keeping offers over a pool. */
export function createReferenceDataStore(pool: pg.Pool): ReferenceDataStore {
  return {
    keep: (organisationId, kind, offer, told) => saveReferenceData(pool, organisationId, kind, offer, told),
  };
}

/** What reading offers asks of the data of all organisations. */
export interface ReferenceDataReading extends ReferenceDataStore {
  /**
   * Takes what is to be read again, at most so many kinds: of each organisation whose ledger takes calls what was never read, is not
   * fresh, or was doubted. Nobody else takes it for five minutes, after which it is due again unless it was kept or put off.
   */
  takeDue(atMost: number): Promise<readonly DueReferenceData[]>;
  /** Leaves these kinds alone for a while, unless something was told of them since, or doubted. */
  reschedule(organisationId: string, kinds: readonly ReferenceDataKind[], failed: FailedReading): Promise<void>;
  /** The connection with its secret opened, or null where there is none. */
  connection(organisationId: string): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(organisationId: string, pauseMs: number, reason: string): Promise<void>;
}

/** Reading offers over a pool; `sealing` opens the connections' secrets. */
export function createReferenceDataReading(pool: pg.Pool, sealing: Encryption): ReferenceDataReading {
  return {
    ...createReferenceDataStore(pool),
    takeDue: (atMost) => claimDueReferenceData(pool, atMost),
    reschedule: (organisationId, kinds, failed) => rescheduleReading(pool, organisationId, kinds, failed),
    connection: (organisationId) => readConnection(pool, sealing, organisationId),
    pause: (organisationId, pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
  };
}

/** What is to be read of one organisation's ledger. */
export interface DueReferenceData {
  readonly organisationId: string;
  readonly kinds: readonly ReferenceDataKind[];
}

async function claimDueReferenceData(pool: pg.Pool, atMost: number): Promise<readonly DueReferenceData[]> {
  const { rows } = await pool.query<{ organisation_id: string; kinds: ReferenceDataKind[] }>({
    name: "claim_due_reference_data",
    text: `WITH due AS (
        SELECT c.organisation_id, k.kind, c.tenant_id FROM ledger_connections c CROSS JOIN unnest($1::text[]) AS k(kind)
          LEFT JOIN ledger_reference_data o ON o.organisation_id = c.organisation_id AND o.kind = k.kind
        WHERE c.disconnected_at IS NULL AND (c.paused_until IS NULL OR c.paused_until <= now())
          AND coalesce(o.next_read_at, c.created_at + ${firstReading}) <= now()
        ORDER BY o.next_read_at NULLS FIRST LIMIT $2
      ), taken AS (
        INSERT INTO ledger_reference_data AS o (organisation_id, kind, tenant_id, next_read_at)
        SELECT organisation_id, kind, tenant_id, now() + ${readingPause} FROM due ORDER BY organisation_id, kind
        ON CONFLICT (organisation_id, kind) DO UPDATE SET next_read_at = excluded.next_read_at WHERE o.next_read_at <= now()
        RETURNING organisation_id, kind
      ) SELECT organisation_id, array_agg(kind) AS kinds FROM taken GROUP BY organisation_id`,
    values: [referenceDataKinds, atMost],
  });
  return rows.map(({ organisation_id: organisationId, kinds }) => ({ organisationId, kinds }));
}
