/**
 * Lists and counts what waits for a person, of one organisation or of all. It is read as it is now,
 * so that what is mended is gone. SQL: each kind is found by an index of the few that wait.
 * ADMIN-20
 */
import { Refusal } from "../../../domain/refusal.ts";
import { isId } from "../../database/ids.ts";
import type { Page, PageRequest } from "../../database/page.ts";
import { inTransaction, type Pool } from "../../database/pool.ts";
import { bigint, instant, int, type RowOf, text, uuid } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { attentionSources, type Scope, type Source } from "./attention-sources.ts";

/** The kinds, the most severe first. */
export type AttentionKind = keyof typeof attentionSources;

/** The kinds in their order. */
export const attentionKinds = Object.keys(attentionSources) as readonly AttentionKind[];

const itemRow = {
  organisationId: uuid,
  /** Orders the things of an organisation and kind, newest last. */
  place: bigint,
  objectKind: text,
  objectId: text,
  label: text,
  since: instant,
  reason: text,
  /** What the ledger, the receiver or the failed attempt said. */
  answer: text.orNull(),
};

/** Something that waits. `sameCount` counts those of its organisation that wait for the same. */
export interface AttentionItem extends RowOf<typeof itemRow> {
  readonly id: string;
  readonly kind: AttentionKind;
  readonly sameCount: number;
}

/** What waits for a person. A null organisation stands for all of them. */
export type AttentionStore = ReturnType<typeof createAttentionStore>;

/** Things that a count ends at. */
const maxCounted = 1_000;

const inScope = sql`$1::uuid IS NULL`;

const ofPage: Scope = {
  where: (organisation, place) => sql`(${inScope} OR ${organisation} = $1)
    AND ($2::uuid IS NULL OR (${organisation}, ${place}) < ($2, $3::bigint))`,
  limit: sql`$4`,
};

const ofAll: Scope = {
  where: (organisation) => sql`(${inScope} OR ${organisation} = $1)`,
  limit: sql`${maxCounted}`,
};

const ofOrganisation: Scope = {
  where: (organisation) => sql`${organisation} = g.id`,
  limit: sql`${maxCounted}`,
};

const pageRow = { ...itemRow, same: text.orNull() };
const sameRow = { organisationId: uuid, reason: text, same: text.orNull(), count: int };

/** Planned for its values: nothing else tells one organisation from all of them. */
function statementsOf(kind: AttentionKind, source: Source) {
  return {
    page: query({
      name: `list_attention_${kind}`,
      planned: "each time",
      text: sql`
        SELECT ${columnsOf(sql`a`, pageRow)}
        FROM (${source(ofPage)}) a
        ORDER BY a.organisation_id DESC, a.place DESC
        LIMIT $4
      `,
      row: pageRow,
    }),
    same: query({
      name: `same_attention_${kind}`,
      planned: "each time",
      text: sql`SELECT g.id AS organisation_id, a.reason, a.same, sum(a.count)::int AS count
        FROM unnest($1::uuid[]) g (id) CROSS JOIN LATERAL (${source(ofOrganisation)}) a
        GROUP BY 1, 2, 3`,
      row: sameRow,
    }),
    count: query({
      name: `count_attention_${kind}`,
      planned: "each time",
      text: sql`SELECT least(count(*), ${maxCounted})::int AS count FROM (${source(ofAll)}) a`,
      row: { count: int },
    }),
  };
}

const statements = Object.fromEntries(
  attentionKinds.map((kind) => [kind, statementsOf(kind, attentionSources[kind])]),
) as Readonly<Record<AttentionKind, ReturnType<typeof statementsOf>>>;

/** A scan or a bitmap would read a whole table before a limit ends it. */
const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 3000;
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off`;

/** Creates the store over a pool. */
export function createAttentionStore(pool: Pool) {
  return {
    /** Lists the things of these kinds. Refuses `invalid_parameter`, param `starting_after`. */
    list: (
      organisationId: string | null,
      kinds: readonly AttentionKind[],
      { limit, startingAfter }: PageRequest,
    ): Promise<Page<AttentionItem>> => {
      const after = startingAfter === null ? null : readPosition(startingAfter);
      return inTransaction(
        pool,
        async (tx) => {
          const data: AttentionItem[] = [];
          for (const kind of kinds.slice(after === null ? 0 : firstOf(kinds, after.kind))) {
            const isInKind = after?.kind === kind;
            const position = isInKind ? [after.organisationId, after.place] : [null, null];
            const left = limit + 1 - data.length;
            const rows = await statements[kind].page(tx, organisationId, ...position, left);
            if (rows.length === 0) continue;
            const same = await statements[kind].same(tx, organisationsOf(rows));
            data.push(...rows.map((row) => readItem(kind, row, same)));
            if (data.length > limit) break;
          }
          return { data: data.slice(0, limit), hasMore: data.length > limit };
        },
        begin,
      );
    },
    /** Counts those of each kind of which there are any. */
    count: (organisationId: string | null) =>
      inTransaction(
        pool,
        async (tx) => {
          const counts: { kind: AttentionKind; count: number }[] = [];
          for (const kind of attentionKinds) {
            const [row] = await statements[kind].count(tx, organisationId);
            if (row !== undefined && row.count > 0) counts.push({ kind, count: row.count });
          }
          return counts;
        },
        begin,
      ),
  };
}

function organisationsOf(rows: readonly RowOf<typeof pageRow>[]): readonly string[] {
  return [...new Set(rows.map(({ organisationId }) => organisationId))];
}

function readItem(
  kind: AttentionKind,
  { same, ...row }: RowOf<typeof pageRow>,
  counts: readonly RowOf<typeof sameRow>[],
): AttentionItem {
  const found = counts.find(
    (one) =>
      one.organisationId === row.organisationId && one.reason === row.reason && one.same === same,
  );
  const id = [kind, row.organisationId, row.place].join(".");
  return { ...row, id, kind, sameCount: Math.min(maxCounted, found?.count ?? 1) };
}

/** The first of the kinds that follow a position, or that it is in. */
function firstOf(kinds: readonly AttentionKind[], kind: AttentionKind): number {
  const at = attentionKinds.indexOf(kind);
  const found = kinds.findIndex((one) => attentionKinds.indexOf(one) >= at);
  return found === -1 ? kinds.length : found;
}

/** Reads the position that an id names. What it named may be mended by now. */
function readPosition(id: string) {
  const [kind, organisationId = "", place = "", ...rest] = id.split(".");
  const known = attentionKinds.find((one) => one === kind);
  if (known === undefined || !isId(organisationId) || !/^\d{1,18}$/.test(place) || rest.length > 0)
    throw new Refusal(
      "invalid_parameter",
      "starting_after is not the id of something that waits.",
      "starting_after",
    );
  return { kind: known, organisationId, place };
}
