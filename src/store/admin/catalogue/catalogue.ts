/**
 * Writes and lists plans, charges and meters for the admin API. This file has what is the same for
 * all three.
 */

import type { MeterStatus } from "../../../domain/catalogue/meter.ts";
import type { CatalogueStatus } from "../../../domain/catalogue/plan.ts";
import { type Decimal, formatDecimal } from "../../../domain/money/decimal.ts";
import { isId } from "../../database/ids.ts";
import {
  type Filter,
  getOne,
  type Listing,
  listPage,
  type Page,
  type PageRequest,
} from "../../database/page.ts";
import type { AnyRow, Pool } from "../../database/pool.ts";
import {
  type Actor,
  type Change,
  type Changed,
  type Changes,
  isTaken,
  type PrismaTransaction,
} from "../changes.ts";

/** Fields that every catalogue entry has. */
export interface CatalogueEntry {
  readonly id: string;
  readonly status: CatalogueStatus | MeterStatus;
}

/** The filters of the lists. A null filter is not applied. */
export interface AdminCatalogueFilters<Status> {
  readonly code: string | null;
  readonly status: Status | null;
}

/**
 * Why nothing was written: another entry has the code, or a field changed that existing billing
 * uses.
 */
export type CatalogueRefusal = "code_taken" | "in_use";

/** One kind of catalogue entry. Null stands for one that does not exist. */
export interface CatalogueStore<T extends CatalogueEntry, View> {
  /** Creates the entry, or returns the one that an earlier try with the same id created. */
  create(actor: Actor, organisationId: string, entry: T): Promise<View | "code_taken">;
  get(organisationId: string, id: string): Promise<View | null>;
  list(
    organisationId: string,
    filters: AdminCatalogueFilters<T["status"]>,
    page: PageRequest,
  ): Promise<Page<View>>;
  /** `decide` gets the current entry and returns the new one. It may refuse. */
  update(
    actor: Actor,
    organisationId: string,
    id: string,
    decide: (before: T) => T,
  ): Promise<View | CatalogueRefusal | null>;
  /** Refuses as the kind's `decideMove` does. */
  setStatus(
    actor: Actor,
    organisationId: string,
    id: string,
    status: T["status"],
  ): Promise<View | null>;
}

/** The differences between the kinds. */
export interface CatalogueKind<T extends CatalogueEntry, View> {
  readonly targetKind: "plan" | "charge" | "meter";
  readonly entryOf: (view: View) => T;
  readonly usesOf: (view: View) => number;
  readonly insert: (
    transaction: PrismaTransaction,
    organisationId: string,
    entry: T,
  ) => Promise<void>;
  readonly replace: (
    transaction: PrismaTransaction,
    organisationId: string,
    entry: T,
  ) => Promise<void>;
  /** The part of the entry that is logged and compared, in the form that `logged` returns. */
  readonly snapshot: (entry: T) => object;
  /** The fields that determine billing. They cannot change once the entry is used. CATALOGUE-3. */
  readonly billedBy: (entry: T) => unknown;
  /**
   * Whether the status changes. False if it is already the requested one. May refuse
   * `invalid_state`.
   */
  readonly decideMove: (from: T["status"], to: T["status"]) => boolean;
}

/** Creates the store of one kind over changes. */
export function createCatalogueStore<Row extends AnyRow, T extends CatalogueEntry, View>(
  pool: Pool,
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
        // The row is read outside the transaction, but no writer changes it while the catalogue is
        // locked.
        const view = await get(organisationId, id);
        if (view === null) return { result: null, changes: [] };
        const before = kind.entryOf(view);
        const after = decide(before);
        if (isSame(kind.snapshot(before), kind.snapshot(after)))
          return { result: "same", changes: [] };
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
    list: (organisationId, filters, page) =>
      listPage(pool, organisationId, listing, conditions(filters), page),
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

function conditions({
  code,
  status,
}: AdminCatalogueFilters<CatalogueEntry["status"]>): readonly Filter[] {
  return [
    ...(code === null ? [] : [{ sql: "t.code = ?", value: code }]),
    ...(status === null ? [] : [{ sql: "t.status = ?", value: status }]),
  ];
}

/**
 * Waits for creations under way, and makes creations that used the previous catalogue decide again.
 * A count after this call includes every use of an entry. Caches of the catalogue compare its
 * version to detect a change.
 */
async function holdCatalogue(
  transaction: PrismaTransaction,
  organisationId: string,
): Promise<void> {
  await transaction.organisation.update({
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
