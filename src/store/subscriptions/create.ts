/**
 * Loads the facts of a creation in one read. SQL: the hot path. The write is in `save-creation.ts`.
 */
import type { OrganisationSettings } from "../../domain/model/organisation-settings.ts";
import type { CreationFacts } from "../../domain/subscriptions/create.ts";
import { columns } from "../../gen/columns.ts";
import { organisationColumns } from "../access/organisation-settings.ts";
import {
  chargeColumns,
  chargeRow,
  planColumns,
  planRow,
  readCharge,
  readPlan,
} from "../catalogue/catalogue.ts";
import { customerColumns, customerRow, isShown } from "../customers/customers.ts";
import { bytes, json, jsonRow, jsonRows, pick, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";

/** The keys of everything that a creation looks up. */
export interface CreationQuery {
  readonly subscriptionId: string;
  readonly customerCode: string;
  readonly planCode: string;
  readonly chargeCodes: readonly string[];
}

/**
 * The facts. `requestHash` is of the request that created this subscription, null if there is none
 * yet.
 */
export interface LoadedCreation {
  readonly facts: Omit<CreationFacts, "now">;
  readonly requestHash: Buffer | null;
  /**
   * The catalogue version of the facts. The decision is saved only if that version is still
   * current.
   */
  readonly catalogueVersion: string;
  /** The sandbox's clock, which may have moved since the request came. */
  readonly testClock: Date | null;
}

const factsRow = {
  ...pick(columns.organisation, "catalogueVersion", "testClock"),
  organisation: json<OrganisationSettings>(),
  requestHash: bytes.orNull(),
  customer: jsonRow(customerRow).orNull(),
  plan: jsonRow(planRow).orNull(),
  charges: jsonRows(chargeRow).orNull(),
};

const loadFacts = query({
  name: "load_creation",
  planned: "once",
  text: sql`
    SELECT
      ${organisationColumns}, o.catalogue_version, o.test_clock,
      (
        SELECT s.request_hash
        FROM subscriptions s
        WHERE s.organisation_id = $1 AND s.id = $2
      ) AS request_hash,
      (
        SELECT row_to_json(r)
        FROM
          (
            SELECT ${customerColumns}
            FROM customers t
            WHERE t.organisation_id = $1 AND t.code = $3 AND ${isShown}
          ) r
      ) AS customer,
      (
        SELECT row_to_json(r)
        FROM
          (
            SELECT ${planColumns}
            FROM plans t
            WHERE t.organisation_id = $1 AND t.code = $4
          ) r
      ) AS plan,
      (
        SELECT json_agg(row_to_json(r))
        FROM
          (
            SELECT ${chargeColumns}
            FROM charges t
            WHERE t.organisation_id = $1 AND t.code = ANY ($5)
          ) r
      ) AS charges
    FROM organisations o
    WHERE o.id = $1
  `,
  row: factsRow,
});

/** Loads the facts of a creation in one read (CREATE-1). */
export async function loadCreation(
  executor: Executor,
  organisationId: string,
  { subscriptionId, customerCode, planCode, chargeCodes }: CreationQuery,
): Promise<LoadedCreation> {
  const keys = [subscriptionId, customerCode, planCode, chargeCodes];
  const [row] = await loadFacts(executor, organisationId, ...keys);
  if (row === undefined) throw new Error(`organisation ${organisationId} is gone`);
  return readLoaded(row);
}

function readLoaded(row: RowOf<typeof factsRow>): LoadedCreation {
  const { requestHash, catalogueVersion, testClock, customer, plan } = row;
  const charges = (row.charges ?? []).map((charge) => readCharge(charge));
  return {
    requestHash,
    catalogueVersion,
    testClock,
    facts: {
      organisation: row.organisation,
      customer,
      plan: plan === null ? null : readPlan(plan),
      charges: new Map(charges.map((charge) => [charge.code, charge])),
    },
  };
}
