/**
 * Finds the currencies that an organisation's catalogue is priced in, with the entries that use
 * them. A sum over two tables, so it is SQL.
 */
import type { Pool } from "../../database/pool.ts";

/**
 * A currency with its plans and charges: up to ten names such as `plan team`, and the total number.
 */
export interface CatalogueCurrency {
  readonly currency: string;
  readonly names: readonly string[];
  readonly total: number;
}

/** As many as one sentence can name. */
const namedAtMost = 10;

/** Returns the currencies of all plans and charges that are not inactive. */
export async function findCatalogueCurrencies(
  pool: Pool,
  organisationId: string,
): Promise<readonly CatalogueCurrency[]> {
  const { rows } = await pool.query<CatalogueCurrency>({
    name: "find_catalogue_currencies",
    text: `SELECT currency, (array_agg(name ORDER BY name))[1:${namedAtMost}] AS names,
        count(*)::int AS total
      FROM (
        SELECT currency, 'plan ' || code AS name FROM plans
        WHERE organisation_id = $1 AND status <> 'inactive'
        UNION ALL
        SELECT currency, 'charge ' || code FROM charges
        WHERE organisation_id = $1 AND status <> 'inactive'
      ) entries
      GROUP BY currency ORDER BY currency`,
    values: [organisationId],
  });
  return rows;
}
