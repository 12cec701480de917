import { arrayOf, int, type RowOf, text } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { type Query, query } from "../../database/sql/statement.ts";

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
