/**
 * Meters that every plan of an organisation has. Each kind of price occurs in turn, so that all of
 * them are billed. CATALOGUE-8
 */
import type pg from "pg";

/** Codes of an organisation's meters, in the order of their positions on each plan. */
export const meterCodes = ["api-calls", "storage-gb"] as const;

const metersText = `
WITH meter AS (
  INSERT INTO meters (id, organisation_id, code, name, unit_label, status)
  SELECT gen_random_uuid(), $1, code, initcap(code), 'unit', 'active' FROM unnest($2::text[]) code
  RETURNING id, code
), plan_meter AS (
  INSERT INTO plan_meters (organisation_id, plan_id, position, meter_id, type, price)
  SELECT $1, p.id, m.place, m.id, t.type, CASE t.type WHEN 'per_unit' THEN 0.0125 ELSE 0 END
  FROM (SELECT id, row_number() OVER (ORDER BY seq) AS place FROM plans
    WHERE organisation_id = $1) p
    CROSS JOIN (SELECT id, array_position($2::text[], code) - 1 AS place FROM meter) m
    JOIN (VALUES (0, 'per_unit'), (1, 'tiered'), (2, 'volume'), (3, 'stairstep')) t (place, type)
      ON t.place = (p.place + m.place) % 4
  RETURNING plan_id, meter_id, type
)
INSERT INTO plan_meter_tiers (organisation_id, plan_id, meter_id, position, up_to, unit_price,
  flat_price)
SELECT $1, p.plan_id, p.meter_id, t.position, t.up_to, CASE
  WHEN p.type <> 'stairstep' THEN t.unit_price END,
  CASE WHEN p.type = 'stairstep' THEN t.flat_price END
FROM plan_meter p, (VALUES (0, 1000, 0.05, 10), (1, 5000, 0.02, 40), (2, NULL, 0.01,
  90)) t (position, up_to, unit_price, flat_price)
WHERE p.type <> 'per_unit'`;

/**
 * Replaces the meters of an organisation's first catalogue by these on all plans, with prices.
 * Returns the meters' ids, in the order of `meterCodes`.
 */
export async function addMeters(pool: pg.Pool, organisationId: string): Promise<readonly string[]> {
  for (const table of ["plan_meter_tiers", "plan_meters", "meters"])
    await pool.query(`DELETE FROM ${table} WHERE organisation_id = $1`, [organisationId]);
  await pool.query(metersText, [organisationId, meterCodes]);
  const { rows } = await pool.query<{ id: string }>(
    "SELECT id FROM meters WHERE organisation_id = $1 ORDER BY array_position($2::text[], code)",
    [organisationId, meterCodes],
  );
  return rows.map(({ id }) => id);
}
