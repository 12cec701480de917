/** Which currencies an organisation's catalogue is priced in, and by what. */
import type pg from "pg";

/**
 * A currency with its plans and charges: up to ten names such as `plan team`, and how many there
 * are in all.
 */
export interface CatalogueCurrency {
  readonly currency: string;
  readonly names: readonly string[];
  readonly total: number;
}

/** As many as a sentence can name. */
const namedAtMost = 10;

/** The currencies of everything that is not inactive. */
export async function findCatalogueCurrencies(
  pool: pg.Pool,
  organisationId: string,
): Promise<readonly CatalogueCurrency[]> {
  const { rows } = await pool.query<CatalogueCurrency>({
    name: "find_catalogue_currencies",
    text: `SELECT currency, (array_agg(name ORDER BY name))[1:${namedAtMost}] AS names, count(*)::int AS total FROM (
        SELECT currency, 'plan ' || code AS name FROM plans WHERE organisation_id = $1 AND status <> 'inactive'
        UNION ALL
        SELECT currency, 'charge ' || code FROM charges WHERE organisation_id = $1 AND status <> 'inactive'
      ) entries GROUP BY currency ORDER BY currency`,
    values: [organisationId],
  });
  return rows;
}
