/**
 * Reads plans with their tiers, and charges, from rows, and lists them. Lists with their lines are
 * SQL: the typed client needs a statement for each relation.
 */

import type { CatalogueStatus, Charge, Plan, PlanType, Tier } from "../../domain/catalogue/plan.ts";
import { type Decimal, parseDecimal } from "../../domain/money/decimal.ts";
import type {
  Charge as ChargeModel,
  Plan as PlanModel,
  PlanTier,
} from "../../gen/prisma/client.ts";
import type { Filter, Listing } from "../database/page.ts";
import { columnsOf, type ModelRow } from "../database/prisma/model-columns.ts";

/** A price tier as JSON, its prices as text. */
export type TierRow = ModelRow<PlanTier, "upTo" | "unitPrice" | "flatPrice">;

/**
 * Returns SQL for the tiers of a row as a JSON array of `TierRow`, in their order. Null without
 * tiers. Prices are text, so that JSON does not convert them to floats.
 */
export function tiersJson(table: "plan_tiers" | "plan_meter_tiers", condition: string): string {
  return `(SELECT json_agg(json_build_object('upTo', r.up_to, 'unitPrice', r.unit_price::text,
      'flatPrice', r.flat_price::text) ORDER BY r.position)
    FROM ${table} r WHERE ${condition})`;
}

const planFields = [
  "id",
  "code",
  "name",
  "type",
  "intervalUnit",
  "intervalCount",
  "currency",
  "minimumUnits",
  "freeUnits",
  "unitSingular",
  "unitPlural",
  "allowsPriceOverride",
  "status",
  "createdAt",
  "revenueAccount",
  "taxType",
] as const satisfies readonly (keyof PlanModel)[];

/** A row of `plans` with its tiers as JSON. */
export type PlanRow = ModelRow<PlanModel, (typeof planFields)[number] | "price"> & {
  readonly type: PlanType;
  readonly intervalUnit: "month";
  readonly status: CatalogueStatus;
  readonly tiers: readonly TierRow[] | null;
};

/** Parses a decimal column that may be null. */
export function readDecimal(text: string | null): Decimal | null {
  return text === null ? null : parseDecimal(text);
}

/** Returns the tiers of a row in their order. None for null. */
export function readTiers(rows: readonly TierRow[] | null): readonly Tier[] {
  return (rows ?? []).map(({ upTo, unitPrice, flatPrice }) => ({
    upTo,
    unitPrice: readDecimal(unitPrice),
    flatPrice: readDecimal(flatPrice),
  }));
}

/** Converts a row of `plans` to a plan. The row may be JSON, where instants are text. */
export function readPlan(row: PlanRow): Plan {
  const { intervalUnit, intervalCount, unitSingular, unitPlural, tiers, ...members } = row;
  return {
    ...members,
    interval: { unit: intervalUnit, count: intervalCount },
    price: parseDecimal(row.price),
    unitLabels: { singular: unitSingular, plural: unitPlural },
    tiers: readTiers(tiers),
    createdAt: new Date(row.createdAt),
  };
}

const planTiers = tiersJson(
  "plan_tiers",
  "r.organisation_id = t.organisation_id AND r.plan_id = t.id",
);

/** Lists plans with their tiers in order. The columns may be read as JSON: prices are text. */
export const planListing: Listing<PlanRow, Plan> = {
  table: "plans",
  columns: `${columnsOf("t", planFields)}, t.price::text AS price, ${planTiers} AS tiers`,
  from: "plans t",
  read: readPlan,
};

const chargeFields = [
  "id",
  "code",
  "name",
  "description",
  "currency",
  "allowsPriceOverride",
  "status",
  "createdAt",
  "revenueAccount",
  "taxType",
] as const satisfies readonly (keyof ChargeModel)[];

/** A row of `charges`. */
export type ChargeRow = ModelRow<ChargeModel, (typeof chargeFields)[number] | "price"> & {
  readonly status: CatalogueStatus;
};

/** Converts a row of `charges` to a charge. The row may be JSON, where instants are text. */
export function readCharge(row: ChargeRow): Charge {
  return { ...row, price: parseDecimal(row.price), createdAt: new Date(row.createdAt) };
}

/** Lists charges. The columns may be read as JSON: prices are text. */
export const chargeListing: Listing<ChargeRow, Charge> = {
  table: "charges",
  columns: `${columnsOf("t", chargeFields)}, t.price::text AS price`,
  from: "charges t",
  read: readCharge,
};

/** The filters of both lists. Without a status they show `active` and `draft` entries. OBJECT-6. */
export interface CatalogueFilters {
  readonly code: string | null;
  readonly status: CatalogueStatus | null;
}

/** Converts the filters to SQL conditions. */
export function catalogueFilters({ code, status }: CatalogueFilters): readonly Filter[] {
  const filters: Filter[] = [];
  if (code !== null) filters.push({ sql: "t.code = ?", value: code });
  filters.push({
    sql: "t.status = ANY (?)",
    value: status === null ? ["active", "draft"] : [status],
  });
  return filters;
}
