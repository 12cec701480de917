/**
 * Writes and lists plans, charges and meters for the admin API. This file has what is the same for
 * all three.
 */
import type { MeterStatus } from "../../../domain/catalogue/meter.ts";
import type { CatalogueStatus } from "../../../domain/catalogue/plan.ts";
import { type Decimal, formatDecimal } from "../../../domain/money/decimal.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { isId } from "../../database/ids.ts";
import { collection, type Filter, filter, getOne, type Listing } from "../../database/page.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { arrayOf, int, type RowOf, type Shape, text } from "../../database/sql/columns.ts";
import { type Sql, sql } from "../../database/sql/sql.ts";
import { type Query, query } from "../../database/sql/statement.ts";
import {
  type Actor,
  type Change,
  type Changed,
  type Changes,
  changed,
  isTaken,
  refuseIfIdTaken,
} from "../changes.ts";

/** Fields that every catalogue entry has. */
export interface CatalogueEntry {
  readonly id: string;
  readonly code: string;
  readonly status: CatalogueStatus | MeterStatus;
}

/** An entry with its number of subscriptions, invoice lines or plans. */
export interface UsedEntry<T> {
  readonly entry: T;
  readonly uses: number;
}

/** The filters of the lists. A null filter is not applied. */
interface AdminCatalogueFilters<Status> {
  readonly code: string | null;
  readonly status: Status | null;
}

/** The differences between the kinds. */
interface CatalogueKind<T extends CatalogueEntry> {
  readonly targetKind: "plan" | "charge" | "meter";
  readonly insert: (tx: Transaction, organisationId: string, entry: T) => Promise<unknown>;
  readonly replace: (tx: Transaction, organisationId: string, entry: T) => Promise<unknown>;
  /** The part of the entry that is logged and compared, in the form that `logged` returns. */
  readonly snapshot: (entry: T) => object;
  /** The fields that determine billing. They cannot change once the entry is used. CATALOGUE-3. */
  readonly billedBy: (entry: T) => unknown;
  /** The refusal to change one of them. */
  readonly inUse: () => Refusal;
  /**
   * Whether the status changes. False if it is already the requested one. May refuse
   * `invalid_state`.
   */
  readonly decideMove: (from: T["status"], to: T["status"]) => boolean;
}

/** Returns SQL for the number of rows of a table that refer to the entry `t`. */
export function usesOf(table: Sql, column: Sql): Sql {
  return sql`(SELECT count(*)::int FROM ${table} u
    WHERE u.organisation_id = t.organisation_id AND u.${column} = t.id) AS uses`;
}

/** All filters of the lists, for their declaration. */
export const everyFilter = (): readonly Filter[] => conditions({ code: "", status: "active" });

/** One kind of catalogue entry. Null stands for one that does not exist. */
export type CatalogueStore<T extends CatalogueEntry> = ReturnType<
  typeof createCatalogueStore<Shape, T>
>;

/** Creates the store of one kind over changes. */
export function createCatalogueStore<S extends Shape, T extends CatalogueEntry>(
  pool: Pool,
  { run }: Changes,
  listing: Listing<S, UsedEntry<T>>,
  kind: CatalogueKind<T>,
) {
  const { list, get } = collection(pool, listing, conditions);
  /** `decide` gets the current entry and returns the new one. It may refuse. */
  const update = async (
    actor: Actor,
    organisationId: string,
    id: string,
    decide: (before: T) => T,
  ): Promise<UsedEntry<T> | null> => {
    if (!isId(id)) return null;
    const updating = run(actor, async (tx) => {
      await lockCatalogue(tx, organisationId);
      const used = await getOne(tx, organisationId, listing, id);
      return used === null ? changed(null) : replace(tx, organisationId, kind, { used, decide });
    });
    await updating.catch((error: unknown) => {
      throw isTaken(error) ? codeTaken(kind) : error;
    });
    return get(organisationId, id);
  };
  return {
    get,
    update,
    /** Creates the entry, or returns the one that an earlier try with the same id created. */
    create: async (actor: Actor, organisationId: string, entry: T): Promise<UsedEntry<T>> => {
      const creating = run(actor, async (tx) => {
        await lockCatalogue(tx, organisationId);
        await kind.insert(tx, organisationId, entry);
        return changed(null, changeOf(kind, organisationId, null, entry));
      });
      const failure: unknown = await creating.catch((error: unknown) => error);
      if (failure !== null && !isTaken(failure)) throw failure;
      const created = await get(organisationId, entry.id);
      if (created !== null) return created;
      if (failure === null) throw new Error(`${kind.targetKind} ${entry.id} is gone`);
      refuseIfIdTaken(failure, `${kind.targetKind}s`);
      throw codeTaken(kind);
    },
    list,
    /** Refuses as the kind's `decideMove` does. */
    setStatus: (actor: Actor, organisationId: string, id: string, status: T["status"]) =>
      update(actor, organisationId, id, (before) =>
        kind.decideMove(before.status, status) ? { ...before, status } : before,
      ),
  };
}

function codeTaken({ targetKind }: Pick<CatalogueKind<CatalogueEntry>, "targetKind">): Refusal {
  const message = `Another ${targetKind} has this code.`;
  return new Refusal(`${targetKind}_code_taken`, message, "code");
}

async function replace<T extends CatalogueEntry>(
  tx: Transaction,
  organisationId: string,
  kind: CatalogueKind<T>,
  { used, decide }: { readonly used: UsedEntry<T>; readonly decide: (before: T) => T },
): Promise<Changed<null>> {
  const { entry: before, uses } = used;
  const after = decide(before);
  if (isSame(kind.snapshot(before), kind.snapshot(after))) return changed(null);
  const isBilledOtherwise = !isSame(kind.billedBy(before), kind.billedBy(after));
  if (isBilledOtherwise && uses > 0) throw kind.inUse();
  await kind.replace(tx, organisationId, after);
  return changed(null, changeOf(kind, organisationId, before, after));
}

function changeOf<T extends CatalogueEntry>(
  { targetKind, snapshot }: CatalogueKind<T>,
  organisationId: string,
  before: T | null,
  after: T,
): Change {
  return {
    targetKind,
    targetId: after.id,
    organisationId,
    before: before && snapshot(before),
    after: snapshot(after),
  };
}

/** Converts the filters to SQL conditions. */
function conditions({
  code,
  status,
}: AdminCatalogueFilters<CatalogueEntry["status"]>): readonly Filter[] {
  return [...filter(sql`t.code = ?`, code), ...filter(sql`t.status = ?`, status)];
}

/**
 * Waits for creations under way, and makes creations that used the previous catalogue decide again.
 * A count after this call includes every use of an entry. Caches of the catalogue compare its
 * version to detect a change. The organisation's row is the lock of its catalogue and its mappings.
 */
export async function lockCatalogue(tx: Transaction, organisationId: string): Promise<void> {
  await db(tx).organisation.update({
    where: { id: organisationId },
    data: { catalogueVersion: { increment: 1 } },
  });
}

/** Returns the entry with its amounts as text. */
export function logged(entry: object): object {
  return Object.fromEntries(
    Object.entries(entry).map(([name, member]) => [name, loggedMember(member)]),
  );
}

function loggedMember(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(loggedMember);
  if ("unscaled" in value && "scale" in value) return formatDecimal(value as Decimal);
  return logged(value);
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

const currencyRow = { currency: text, names: arrayOf(text), total: int };

/**
 * A currency with its plans and charges: up to ten names such as `plan team`, and the total number.
 */
export type CatalogueCurrency = RowOf<typeof currencyRow>;

/** As many as one sentence can name. */
const namedAtMost = 10;

/** Returns the currencies of all plans and charges that are not inactive. */
export const findCatalogueCurrencies: Query<CatalogueCurrency, [organisationId: string]> = query({
  name: "find_catalogue_currencies",
  text: sql`
    SELECT
      currency,
      (array_agg(name ORDER BY name))[1:${namedAtMost}] AS names,
      count(*)::int AS total
    FROM
      (
        SELECT currency, 'plan ' || code AS name
        FROM plans
        WHERE organisation_id = $1 AND status <> 'inactive'
        UNION ALL
        SELECT currency, 'charge ' || code
        FROM charges
        WHERE organisation_id = $1 AND status <> 'inactive'
      ) entries
    GROUP BY currency
    ORDER BY currency
  `,
  row: currencyRow,
});
