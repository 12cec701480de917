/** Reads plans with their tiers, and charges, from rows, and lists them. */

import type { CatalogueStatus, Charge, Plan, PlanType, Tier } from "../../domain/catalogue/plan.ts";
import { type Decimal, parseDecimal } from "../../domain/money/decimal.ts";
import type { Filter, Listing } from "../database/page.ts";

/** A price tier as JSON, its prices as text. */
export interface TierRow {
  readonly up_to: number | null;
  readonly unit_price: string | null;
  readonly flat_price: string | null;
}

/** A row of `plans` with its tiers as JSON. */
export interface PlanRow {
  id: string;
  code: string;
  name: string;
  type: PlanType;
  interval_unit: "month";
  interval_count: number;
  currency: string;
  price: string;
  minimum_units: number;
  free_units: number;
  unit_singular: string;
  unit_plural: string;
  allows_price_override: boolean;
  status: CatalogueStatus;
  tiers: readonly TierRow[] | null;
  created_at: Date;
  revenue_account: string | null;
  tax_type: string | null;
}

/** Parses a decimal column that may be null. */
export function readDecimal(text: string | null): Decimal | null {
  return text === null ? null : parseDecimal(text);
}

/** Returns the tiers of a row in their order. None for null. */
export function readTiers(rows: readonly TierRow[] | null): readonly Tier[] {
  return (rows ?? []).map((tier) => ({
    upTo: tier.up_to,
    unitPrice: readDecimal(tier.unit_price),
    flatPrice: readDecimal(tier.flat_price),
  }));
}

/** Converts a row of `plans` to a plan. */
export function readPlan(row: PlanRow): Plan {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    type: row.type,
    interval: { unit: row.interval_unit, count: row.interval_count },
    currency: row.currency,
    price: parseDecimal(row.price),
    minimumUnits: row.minimum_units,
    freeUnits: row.free_units,
    unitLabels: { singular: row.unit_singular, plural: row.unit_plural },
    allowsPriceOverride: row.allows_price_override,
    status: row.status,
    tiers: readTiers(row.tiers),
    createdAt: row.created_at,
    revenueAccount: row.revenue_account,
    taxType: row.tax_type,
  };
}

/**
 * Lists plans with their tiers in order. Prices are text, so that JSON does not convert them to
 * floats.
 */
export const planListing: Listing<PlanRow, Plan> = {
  table: "plans",
  columns: `t.id, t.code, t.name, t.type, t.interval_unit, t.interval_count, t.currency, t.price, t.minimum_units, t.free_units,
    t.unit_singular, t.unit_plural, t.allows_price_override, t.status, t.created_at, t.revenue_account, t.tax_type,
    (SELECT json_agg(json_build_object('up_to', r.up_to, 'unit_price', r.unit_price::text, 'flat_price', r.flat_price::text)
      ORDER BY r.position) FROM plan_tiers r WHERE r.organisation_id = t.organisation_id AND r.plan_id = t.id) AS tiers`,
  from: "plans t",
  read: readPlan,
};

/** A row of `charges`. */
export interface ChargeRow {
  id: string;
  code: string;
  name: string;
  description: string | null;
  currency: string;
  price: string;
  allows_price_override: boolean;
  status: CatalogueStatus;
  created_at: Date;
  revenue_account: string | null;
  tax_type: string | null;
}

/** Converts a row of `charges` to a charge. */
export function readCharge(row: ChargeRow): Charge {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    description: row.description,
    currency: row.currency,
    price: parseDecimal(row.price),
    allowsPriceOverride: row.allows_price_override,
    status: row.status,
    createdAt: row.created_at,
    revenueAccount: row.revenue_account,
    taxType: row.tax_type,
  };
}

/** Lists charges. */
export const chargeListing: Listing<ChargeRow, Charge> = {
  table: "charges",
  columns: `t.id, t.code, t.name, t.description, t.currency, t.price, t.allows_price_override, t.status, t.created_at,
    t.revenue_account, t.tax_type`,
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
