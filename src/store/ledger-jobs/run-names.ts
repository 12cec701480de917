/**
 * What people call the objects of a workflow's run: its documents by their numbers, and the
 * subscription by the platform's label. Never a name or an address (INVARIANT-8).
 */
import type { Pool } from "../database/pool.ts";
import { arrayOf, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

/** A subscription, with its invoice that is amended or its end that removes some. */
export interface NamedRun {
  readonly organisationId: string;
  readonly subscriptionId: string;
  readonly invoiceId?: string;
  readonly terminationId?: string;
}

/** An empty label is the platform's as well. */
export interface RunNames {
  readonly label: string;
  readonly invoices: readonly string[];
}

const find = query({
  name: "find_run_names",
  text: sql`
    SELECT
      s.label,
      ARRAY(
        SELECT i.number
        FROM invoices i
        WHERE
          i.organisation_id = s.organisation_id
          AND (
            i.id = $3
            OR i.id IN (
              SELECT r.invoice_id
              FROM removals r
              WHERE r.termination_id = $4
            )
          )
        ORDER BY i.number
        LIMIT 20
      ) AS invoices
    FROM subscriptions s
    WHERE s.organisation_id = $1 AND s.id = $2
  `,
  row: { label: text, invoices: arrayOf(text) },
});

/** Finds the names. Null if there is no such subscription. */
export async function findRunNames(pool: Pool, run: NamedRun): Promise<RunNames | null> {
  const { organisationId, subscriptionId, invoiceId = null, terminationId = null } = run;
  const [names] = await find(pool, organisationId, subscriptionId, invoiceId, terminationId);
  return names ?? null;
}
