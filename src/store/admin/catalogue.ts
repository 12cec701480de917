/** Plans and charges as the application's side writes and lists them. */
import type pg from "pg";
import { decideMove } from "../../domain/catalogue-status.ts";
import { formatDecimal } from "../../domain/decimal.ts";
import { type CatalogueStatus, type Charge, checkPlanPrices, type Plan } from "../../domain/plan.ts";
import { type ChargeRow, chargeListing, type PlanRow, planListing, readCharge, readPlan } from "../catalogue.ts";
import { isId } from "../ids.ts";
import { type Filter, getOne, type Listing, listPage, type Page, type PageRequest } from "../page.ts";
import { type Actor, type Change, type Changed, type Changes, isTaken, type Transaction } from "./changes.ts";

/** A plan with how many subscriptions have it, ended ones too. */
export interface AdminPlan {
  readonly plan: Plan;
  readonly subscriptions: number;
}

/** A charge with how many invoice lines bill it. */
export interface AdminCharge {
  readonly charge: Charge;
  readonly invoiceLines: number;
}

/** The filters of both lists; null is not asked for. */
export interface AdminCatalogueFilters {
  readonly code: string | null;
  readonly status: CatalogueStatus | null;
}

/** Why nothing was written: another has the code, or what is billed by it would change. */
export type CatalogueRefusal = "code_taken" | "in_use";

/** One kind of catalogue entry; null stands for one that does not exist. */
export interface CatalogueStore<T, View> {
  /** The new one, or that of an earlier try with the same id. */
  create(actor: Actor, organisationId: string, entry: T): Promise<View | "code_taken">;
  get(organisationId: string, id: string): Promise<View | null>;
  list(organisationId: string, filters: AdminCatalogueFilters, page: PageRequest): Promise<Page<View>>;
  /** `decide` gives the entry as it is to be; it is told how it is now, and may refuse. */
  update(
    actor: Actor,
    organisationId: string,
    id: string,
    decide: (before: T) => T,
  ): Promise<View | CatalogueRefusal | null>;
  /** Refuses as `decideMove`. */
  setStatus(actor: Actor, organisationId: string, id: string, status: CatalogueStatus): Promise<View | null>;
}

const planViews: Listing<PlanRow & { subscriptions: number }, AdminPlan> = {
  ...planListing,
  columns: `${planListing.columns}, (SELECT count(*)::int FROM subscriptions s
    WHERE s.organisation_id = t.organisation_id AND s.plan_id = t.id) AS subscriptions`,
  read: (row) => ({ plan: readPlan(row), subscriptions: row.subscriptions }),
};

const chargeViews: Listing<ChargeRow & { invoice_lines: number }, AdminCharge> = {
  ...chargeListing,
  columns: `${chargeListing.columns}, (SELECT count(*)::int FROM invoice_lines l
    WHERE l.organisation_id = t.organisation_id AND l.charge_id = t.id) AS invoice_lines`,
  read: (row) => ({ charge: readCharge(row), invoiceLines: row.invoice_lines }),
};

/** What one kind differs in. */
interface Kind<T extends Plan | Charge, View> {
  readonly targetKind: "plan" | "charge";
  readonly entryOf: (view: View) => T;
  readonly usesOf: (view: View) => number;
  readonly insert: (transaction: Transaction, organisationId: string, entry: T) => Promise<void>;
  readonly replace: (transaction: Transaction, organisationId: string, entry: T) => Promise<void>;
  /** What is billed by it: what cannot change once it is used. */
  readonly billedBy: (entry: T) => unknown;
}

/** Plans over changes. */
export function createPlanStore(pool: pg.Pool, changes: Changes): CatalogueStore<Plan, AdminPlan> {
  return createCatalogueStore(pool, changes, planViews, {
    targetKind: "plan",
    entryOf: ({ plan }) => plan,
    usesOf: ({ subscriptions }) => subscriptions,
    insert: async (transaction, organisationId, plan) => {
      checkPlanPrices(plan);
      await transaction.plan.create({ data: { ...planRecord(plan), organisationId } });
      await insertTiers(transaction, organisationId, plan);
    },
    replace: async (transaction, organisationId, plan) => {
      checkPlanPrices(plan);
      await transaction.plan.updateMany({ where: { organisationId, id: plan.id }, data: planRecord(plan) });
      await transaction.planTier.deleteMany({ where: { organisationId, planId: plan.id } });
      await insertTiers(transaction, organisationId, plan);
    },
    billedBy: ({ name: _, unitLabels: __, allowsPriceOverride: ___, status: ____, ...billed }) => logged(billed),
  });
}

/** Charges over changes. */
export function createChargeStore(pool: pg.Pool, changes: Changes): CatalogueStore<Charge, AdminCharge> {
  const record = (charge: Charge) => ({ ...charge, price: formatDecimal(charge.price) });
  return createCatalogueStore(pool, changes, chargeViews, {
    targetKind: "charge",
    entryOf: ({ charge }) => charge,
    usesOf: ({ invoiceLines }) => invoiceLines,
    insert: async (transaction, organisationId, charge) => {
      await transaction.charge.create({ data: { ...record(charge), organisationId } });
    },
    replace: async (transaction, organisationId, charge) => {
      await transaction.charge.updateMany({ where: { organisationId, id: charge.id }, data: record(charge) });
    },
    billedBy: ({ code, price, currency }) => logged({ code, price, currency }),
  });
}

function createCatalogueStore<Row extends pg.QueryResultRow, T extends Plan | Charge, View>(
  pool: pg.Pool,
  { run }: Changes,
  listing: Listing<Row, View>,
  kind: Kind<T, View>,
): CatalogueStore<T, View> {
  const get = async (organisationId: string, id: string) =>
    isId(id) ? getOne(pool, organisationId, listing, id) : null;
  const changeOf = (organisationId: string, before: T | null, after: T): Change => ({
    targetKind: kind.targetKind,
    targetId: after.id,
    organisationId,
    before: before && (logged(before) as object),
    after: logged(after) as object,
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
        if (isSame(logged(before), logged(after))) return { result: "same", changes: [] };
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
        decideMove(before.status, status) ? { ...before, status } : before,
      );
      if (typeof view === "string") throw new Error("a status is neither taken nor billed");
      return view;
    },
  };
}

function conditions({ code, status }: AdminCatalogueFilters): readonly Filter[] {
  return [
    ...(code === null ? [] : [{ sql: "t.code = ?", value: code }]),
    ...(status === null ? [] : [{ sql: "t.status = ?", value: status }]),
  ];
}

/**
 * Waits for creations under way and makes those that were decided by the catalogue of before be decided again: what is counted
 * from here on is all that uses an entry.
 */
async function holdCatalogue(transaction: Transaction, organisationId: string): Promise<void> {
  await transaction.organisation.update({
    where: { id: organisationId },
    data: { catalogueVersion: { increment: 1 } },
  });
}

async function insertTiers(transaction: Transaction, organisationId: string, plan: Plan): Promise<void> {
  await transaction.planTier.createMany({
    data: plan.tiers.map(({ upTo, unitPrice, flatPrice }, position) => ({
      organisationId,
      planId: plan.id,
      position,
      upTo,
      unitPrice: unitPrice && formatDecimal(unitPrice),
      flatPrice: flatPrice && formatDecimal(flatPrice),
    })),
  });
}

function planRecord({ interval, unitLabels, tiers: _, ...plan }: Plan) {
  return {
    ...plan,
    price: formatDecimal(plan.price),
    intervalUnit: interval.unit,
    intervalCount: interval.count,
    unitSingular: unitLabels.singular,
    unitPlural: unitLabels.plural,
  };
}

/** An entry with its amounts as text, as it is logged and compared. */
function logged(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(logged);
  if ("unscaled" in value && "scale" in value) return formatDecimal(value as Plan["price"]);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, logged(member)]));
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
