/**
 * Reads plans with their tiers, and charges, from rows, and lists them. Lists with their lines are
 * SQL: the typed client needs a statement for each relation.
 */

import type { CatalogueStatus, Charge, Plan, PlanType, Tier } from "../../domain/catalogue/plan.ts";
import { type Decimal, parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { type Filter, filter, listing } from "../database/page.ts";
import { int, jsonRows, pick, type RowOf, text } from "../database/sql/columns.ts";
import { columnsOf, type Sql, sql } from "../database/sql/sql.ts";

/** A price tier as JSON, its prices as text. */
export const tierRow = {
  upTo: int.orNull(),
  unitPrice: text.orNull(),
  flatPrice: text.orNull(),
};

/**
 * Returns SQL for the tiers of a row as a JSON array of `tierRow`, in their order. Null without
 * tiers. Prices are text, so that JSON does not convert them to floats.
 */
export function tiersJson(table: Sql, condition: Sql): Sql {
  return sql`(SELECT json_agg(json_build_object('up_to', r.up_to,
      'unit_price', r.unit_price::text, 'flat_price', r.flat_price::text) ORDER BY r.position)
    FROM ${table} r WHERE ${condition})`;
}

const planMembers = {
  ...pick(
    columns.plan,
    "id",
    "code",
    "name",
    "currency",
    "intervalCount",
    "minimumUnits",
    "freeUnits",
    "unitSingular",
    "unitPlural",
    "allowsPriceOverride",
    "createdAt",
    "revenueAccount",
    "taxType",
  ),
  type: columns.plan.type.as<PlanType>(),
  intervalUnit: columns.plan.intervalUnit.as<"month">(),
  status: columns.plan.status.as<CatalogueStatus>(),
};

/** A row of `plans` with its tiers as JSON. */
export const planRow = { ...planMembers, price: text, tiers: jsonRows(tierRow).orNull() };

/** A row of `plans` with its tiers. */
export type PlanRow = RowOf<typeof planRow>;

/** Parses a decimal column that may be null. */
export function readDecimal(text: string | null): Decimal | null {
  return text === null ? null : parseDecimal(text);
}

/** Returns the tiers of a row in their order. None for null. */
export function readTiers(rows: PlanRow["tiers"]): readonly Tier[] {
  return (rows ?? []).map(({ upTo, unitPrice, flatPrice }) => ({
    upTo,
    unitPrice: readDecimal(unitPrice),
    flatPrice: readDecimal(flatPrice),
  }));
}

/** Converts a row of `plans` to a plan. */
export function readPlan(row: PlanRow): Plan {
  const { intervalUnit, intervalCount, unitSingular, unitPlural, tiers, ...members } = row;
  return {
    ...members,
    interval: { unit: intervalUnit, count: intervalCount },
    price: parseDecimal(row.price),
    unitLabels: { singular: unitSingular, plural: unitPlural },
    tiers: readTiers(tiers),
  };
}

const planTiers = tiersJson(
  sql`plan_tiers`,
  sql`r.organisation_id = t.organisation_id AND r.plan_id = t.id`,
);

/** The columns of `planRow`, which may be read as JSON: prices are text. */
export const planColumns = sql`${columnsOf(sql`t`, planMembers)}, t.price::text AS price,
  ${planTiers} AS tiers`;

const chargeMembers = {
  ...pick(
    columns.charge,
    "id",
    "code",
    "name",
    "description",
    "currency",
    "allowsPriceOverride",
    "createdAt",
    "revenueAccount",
    "taxType",
  ),
  status: columns.charge.status.as<CatalogueStatus>(),
};

/** A row of `charges`. */
export const chargeRow = { ...chargeMembers, price: text };

/** The columns of `chargeRow`, which may be read as JSON: the price is text. */
export const chargeColumns = sql`${columnsOf(sql`t`, chargeMembers)}, t.price::text AS price`;

/** Converts a row of `charges` to a charge. */
export function readCharge(row: RowOf<typeof chargeRow>): Charge {
  return { ...row, price: parseDecimal(row.price) };
}

/** The filters of both lists. Without a status they show `active` and `draft` entries. OBJECT-6. */
export interface CatalogueFilters {
  readonly code: string | null;
  readonly status: CatalogueStatus | null;
}

/** Converts the filters to SQL conditions. */
export function catalogueFilters({ code, status }: CatalogueFilters): readonly Filter[] {
  const statuses = status === null ? ["active", "draft"] : [status];
  return [...filter(sql`t.code = ?`, code), ...filter(sql`t.status = ANY (?)`, statuses)];
}

const everyFilter = catalogueFilters({ code: "", status: null });

/** Lists plans with their tiers in order. */
export const planListing = listing(
  "plans",
  {
    table: sql`plans`,
    columns: planColumns,
    row: planRow,
    read: readPlan,
  },
  everyFilter,
);

/** Lists charges. */
export const chargeListing = listing(
  "charges",
  {
    table: sql`charges`,
    columns: chargeColumns,
    row: chargeRow,
    read: readCharge,
  },
  everyFilter,
);
