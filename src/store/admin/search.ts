/**
 * Finds objects by an id or by the beginning of a text. SQL, because it reads many tables, each by
 * an index. A text is compared as it is and is no pattern. ADMIN-21
 */
import { isId } from "../database/ids.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { bool, type RowOf, text, uuid } from "../database/sql/columns.ts";
import { joinSql, type Sql, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

/** By what an object was found, in the order of the hits. */
export type SearchedBy =
  | "id"
  | "number"
  | "ledger_number"
  | "code"
  | "email"
  | "label"
  | "event_id"
  | "request_id";

const hitRow = {
  by: text.as<SearchedBy>(),
  objectKind: text,
  objectId: text,
  organisationId: uuid.orNull(),
  label: text,
  matched: text.orNull(),
  isExact: bool,
};

/** An object that was found. */
export type SearchHit = RowOf<typeof hitRow>;

/** The hits of one search. */
const maxHits = 20;

/** The objects with ids: kind, table and what a person knows them by. */
const identified: readonly (readonly [kind: Sql, table: Sql, label: Sql])[] = [
  [sql`'subscription'`, sql`subscriptions`, sql`t.label`],
  [sql`'customer'`, sql`customers`, sql`t.code`],
  [sql`'invoice'`, sql`invoices`, sql`t.number`],
  [sql`'credit_note'`, sql`credit_notes`, sql`t.number`],
  [sql`'plan'`, sql`plans`, sql`t.code`],
  [sql`'charge'`, sql`charges`, sql`t.code`],
  [sql`'meter'`, sql`meters`, sql`t.code`],
  [sql`'event'`, sql`events`, sql`t.type`],
  [sql`'webhook_endpoint'`, sql`webhook_endpoints`, sql`t.url`],
  [sql`'webhook_delivery'`, sql`webhook_deliveries`, sql`t.state`],
  [sql`'api_key'`, sql`api_keys`, sql`t.name`],
  [sql`'audit_entry'`, sql`audit_log`, sql`t.operation`],
];

const findById = query({
  name: "search_ids",
  planned: "each time",
  text: sql`
    SELECT 'id' AS by, 'organisation' AS object_kind, t.id::text AS object_id,
      t.id AS organisation_id, t.name AS label, NULL::text AS matched, true AS is_exact
    FROM organisations t WHERE t.id = $2::uuid AND ($1::uuid IS NULL OR t.id = $1)
    UNION ALL ${joinSql(
      identified.map(
        ([kind, table, label]) => sql`
    SELECT 'id', ${kind}, t.id::text, t.organisation_id, ${label}, NULL, true
    FROM ${table} t WHERE t.id = $2::uuid AND ($1::uuid IS NULL OR t.organisation_id = $1)`,
      ),
      " UNION ALL ",
    )}`,
  row: hitRow,
});

/** The texts by whose beginning an object is found, each with its index, and its label. */
const texts: readonly (readonly [by: Sql, kind: Sql, table: Sql, column: Sql, label: Sql])[] = [
  [sql`'number'`, sql`'invoice'`, sql`invoices`, sql`number`, sql`number`],
  [sql`'number'`, sql`'credit_note'`, sql`credit_notes`, sql`number`, sql`number`],
  [sql`'ledger_number'`, sql`'invoice'`, sql`invoices`, sql`ledger_number`, sql`number`],
  [sql`'ledger_number'`, sql`'credit_note'`, sql`credit_notes`, sql`ledger_number`, sql`number`],
  [sql`'code'`, sql`'customer'`, sql`customers`, sql`code`, sql`code`],
  [sql`'email'`, sql`'customer'`, sql`customers`, sql`email`, sql`code`],
  [sql`'label'`, sql`'subscription'`, sql`subscriptions`, sql`label`, sql`label`],
];

// Every text that begins with another one is before it with the last character of Unicode behind.
const beginsWith = (column: Sql) => sql`lower(${column}) ~>=~ lower($2::text)
  AND lower(${column}) ~<~ (lower($2::text) || chr(1114111))`;

// The bounds of text_pattern_ops use the index of the beginning for whole texts too.
const isWhole = (column: Sql) => sql`lower(${column}) ~>=~ lower($2::text)
  AND lower(${column}) ~<=~ lower($2::text)`;

const finding = (name: string, condition: (column: Sql) => Sql, isExact: Sql, others: Sql) =>
  query({
    name,
    planned: "each time",
    text: sql`
      SELECT f.* FROM organisations g CROSS JOIN LATERAL (${joinSql(
        texts.map(
          ([by, kind, table, column, label]) => sql`(
        SELECT ${by} AS by, ${kind} AS object_kind, t.id::text AS object_id, t.organisation_id,
          t.${label} AS label, NULLIF(t.${column}, t.${label}) AS matched, ${isExact} AS is_exact
        FROM ${table} t
        WHERE t.organisation_id = g.id AND t.${column} <> '' AND ${condition(sql`t.${column}`)}
        ORDER BY lower(t.${column}) USING ~<~ LIMIT ${maxHits})`,
        ),
        " UNION ALL ",
      )}${others}) f
      WHERE $1::uuid IS NULL OR g.id = $1
      LIMIT ${maxHits}`,
    row: hitRow,
  });

const usageEvents = sql` UNION ALL (SELECT 'event_id', 'usage_event', t.event_id,
    t.organisation_id, t.event_id, NULL, true
  FROM usage_events t WHERE t.organisation_id = g.id AND t.event_id = $2 LIMIT 1)`;

const findWhole = finding("search_whole_texts", isWhole, sql`true`, usageEvents);
const findBeginning = finding("search_beginnings", beginsWith, sql`false`, sql``);

const findByRequest = query({
  name: "search_requests",
  planned: "each time",
  text: sql`
    SELECT
      'request_id' AS by,
      'audit_entry' AS object_kind,
      t.id::text AS object_id, t.organisation_id, t.operation AS label, NULL::text AS matched,
      true AS is_exact
    FROM audit_log t
    WHERE t.request_id = $2 AND ($1::uuid IS NULL OR t.organisation_id = $1)
    ORDER BY t.seq DESC
    LIMIT ${maxHits}
  `,
  row: hitRow,
});

/** No scan of a table, and no search that takes longer than a person waits. */
const begin = `BEGIN READ ONLY; SET LOCAL statement_timeout = 2000; SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off`;

/** Finds objects. A null organisation stands for all of them. */
export function search(
  pool: Pool,
  organisationId: string | null,
  searched: string,
): Promise<readonly SearchHit[]> {
  const find = async (tx: Transaction) => {
    const whole = [
      ...(isId(searched) ? await findById(tx, organisationId, searched) : []),
      ...(await findWhole(tx, organisationId, searched)),
      ...(await findByRequest(tx, organisationId, searched)),
    ];
    if (whole.length >= maxHits) return whole.slice(0, maxHits);
    const begun = await findBeginning(tx, organisationId, searched);
    const known = new Set(whole.map(keyOf));
    return [...whole, ...begun.filter((hit) => !known.has(keyOf(hit)))].slice(0, maxHits);
  };
  return inTransaction(pool, find, begin);
}

/** What is found whole is also found by its beginning. */
function keyOf({ by, objectKind, objectId }: SearchHit): string {
  return [by, objectKind, objectId].join(" ");
}
