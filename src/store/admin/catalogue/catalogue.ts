/** Plans, charges and meters as the application's side writes and lists them: what is the same for all three. */
import type pg from "pg";
import type { MeterStatus } from "../../../domain/catalogue/meter.ts";
import type { CatalogueStatus } from "../../../domain/catalogue/plan.ts";
import { type Decimal, formatDecimal } from "../../../domain/money/decimal.ts";
import { isId } from "../../database/ids.ts";
import { type Filter, getOne, type Listing, listPage, type Page, type PageRequest } from "../../database/page.ts";
import { type Actor, type Change, type Changed, type Changes, isTaken, type Transaction } from "../changes.ts";

/** What every entry of the catalogue has. */
export interface CatalogueEntry {
  readonly id: string;
  readonly status: CatalogueStatus | MeterStatus;
}

/** The filters of the lists; null is not asked for. */
export interface AdminCatalogueFilters<Status> {
  readonly code: string | null;
  readonly status: Status | null;
}

/** Why nothing was written: another has the code, or what is billed by it would change. */
export type CatalogueRefusal = "code_taken" | "in_use";

/** One kind of catalogue entry; null stands for one that does not exist. */
export interface CatalogueStore<T extends CatalogueEntry, View> {
  /** The new one, or that of an earlier try with the same id. */
  create(actor: Actor, organisationId: string, entry: T): Promise<View | "code_taken">;
  get(organisationId: string, id: string): Promise<View | null>;
  list(organisationId: string, filters: AdminCatalogueFilters<T["status"]>, page: PageRequest): Promise<Page<View>>;
  /** `decide` gives the entry as it is to be; it is told how it is now, and may refuse. */
  update(
    actor: Actor,
    organisationId: string,
    id: string,
    decide: (before: T) => T,
  ): Promise<View | CatalogueRefusal | null>;
  /** Refuses as the kind's `decideMove`. */
  setStatus(actor: Actor, organisationId: string, id: string, status: T["status"]): Promise<View | null>;
}

/** What one kind differs in. */
export interface CatalogueKind<T extends CatalogueEntry, View> {
  readonly targetKind: "plan" | "charge" | "meter";
  readonly entryOf: (view: View) => T;
  readonly usesOf: (view: View) => number;
  readonly insert: (transaction: Transaction, organisationId: string, entry: T) => Promise<void>;
  readonly replace: (transaction: Transaction, organisationId: string, entry: T) => Promise<void>;
  /** What of it is logged and compared, as `logged` makes it. */
  readonly snapshot: (entry: T) => object;
  /** What is billed by it: what cannot change once it is used. */
  readonly billedBy: (entry: T) => unknown;
  /** Whether the status changes: false where it is the one wanted already. May refuse `invalid_state`. */
  readonly decideMove: (from: T["status"], to: T["status"]) => boolean;
}

/** One kind over changes. */
export function createCatalogueStore<Row extends pg.QueryResultRow, T extends CatalogueEntry, View>(
  pool: pg.Pool,
  { run }: Changes,
  listing: Listing<Row, View>,
  kind: CatalogueKind<T, View>,
): CatalogueStore<T, View> {
  const get = async (organisationId: string, id: string) =>
    isId(id) ? getOne(pool, organisationId, listing, id) : null;
  const changeOf = (organisationId: string, before: T | null, after: T): Change => ({
    targetKind: kind.targetKind,
    targetId: after.id,
    organisationId,
    before: before && kind.snapshot(before),
    after: kind.snapshot(after),
  });
  const write = async (
    actor: Actor,
    organisationId: string,
    id: string,
    decide: (before: T) => T,
  ): Promise<View | CatalogueRefusal | null> => {
    if (!isId(id)) return null;
    const outcome = await run(
      actor,
      async (transaction): Promise<Changed<CatalogueRefusal | "same" | "done" | null>> => {
        await holdCatalogue(transaction, organisationId);
        // The row is read outside the transaction, but nobody changes it while the catalogue is held.
        const view = await get(organisationId, id);
        if (view === null) return { result: null, changes: [] };
        const before = kind.entryOf(view);
        const after = decide(before);
        if (isSame(kind.snapshot(before), kind.snapshot(after))) return { result: "same", changes: [] };
        const billedChanges = !isSame(kind.billedBy(before), kind.billedBy(after));
        if (billedChanges && kind.usesOf(view) > 0) return { result: "in_use", changes: [] };
        await kind.replace(transaction, organisationId, after);
        return { result: "done", changes: [changeOf(organisationId, before, after)] };
      },
    ).catch((error: unknown) => {
      if (isTaken(error)) return "code_taken" as const;
      throw error;
    });
    return outcome === "same" || outcome === "done" ? get(organisationId, id) : outcome;
  };
  return {
    get,
    create: async (actor, organisationId, entry) => {
      const made = await run(actor, async (transaction) => {
        await holdCatalogue(transaction, organisationId);
        await kind.insert(transaction, organisationId, entry);
        return { result: true, changes: [changeOf(organisationId, null, entry)] };
      }).catch((error: unknown) => {
        if (isTaken(error)) return false;
        throw error;
      });
      const view = await get(organisationId, entry.id);
      if (view === null && made) throw new Error(`${kind.targetKind} ${entry.id} is gone`);
      return view ?? "code_taken";
    },
    list: (organisationId, filters, page) => listPage(pool, organisationId, listing, conditions(filters), page),
    update: write,
    setStatus: async (actor, organisationId, id, status) => {
      const view = await write(actor, organisationId, id, (before) =>
        kind.decideMove(before.status, status) ? { ...before, status } : before,
      );
      if (typeof view === "string") throw new Error("a status is neither taken nor billed");
      return view;
    },
  };
}

function conditions({ code, status }: AdminCatalogueFilters<CatalogueEntry["status"]>): readonly Filter[] {
  return [
    ...(code === null ? [] : [{ sql: "t.code = ?", value: code }]),
    ...(status === null ? [] : [{ sql: "t.status = ?", value: status }]),
  ];
}

/**
 * Waits for creations under way and makes those that were decided by the catalogue of before be decided again: what is counted
 * from here on is all that uses an entry. Whoever keeps something of the catalogue sees by the version that it may be another.
 */
async function holdCatalogue(transaction: Transaction, organisationId: string): Promise<void> {
  await transaction.organisation.update({
    where: { id: organisationId },
    data: { catalogueVersion: { increment: 1 } },
  });
}

/** An object with its amounts as text. */
export function logged(entry: object): object {
  return Object.fromEntries(Object.entries(entry).map(([name, member]) => [name, loggedMember(member)]));
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
