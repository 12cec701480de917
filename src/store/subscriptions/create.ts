/**
 * Loads the facts of a creation in one read. SQL: the hot path. The write is in `save-creation.ts`.
 */
import type { CreationFacts } from "../../domain/subscriptions/create.ts";
import {
  type OrganisationRow,
  organisationColumns,
  readOrganisation,
} from "../access/organisation-settings.ts";
import {
  type ChargeRow,
  chargeListing,
  type PlanRow,
  planListing,
  readCharge,
  readPlan,
} from "../catalogue/catalogue.ts";
import { type CustomerRow, customerListing, readCustomer } from "../customers/customers.ts";
import { plannedOnce } from "../database/planned-once.ts";
import type { Executor } from "../database/prisma/client.ts";

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

interface FactsRow extends OrganisationRow {
  catalogue_version: string;
  test_clock: Date | null;
  request_hash: Buffer | null;
  customer: CustomerRow | null;
  plan: PlanRow | null;
  charges: ChargeRow[] | null;
}

const factsText = `SELECT ${organisationColumns}, o.catalogue_version::text, o.test_clock,
  (SELECT s.request_hash FROM subscriptions s WHERE s.organisation_id = $1
    AND s.id = $2) AS request_hash,
  (SELECT row_to_json(r) FROM (SELECT ${customerListing.columns} FROM customers t
    WHERE t.organisation_id = $1 AND t.code = $3 AND ${customerListing.shown}) r) AS customer,
  (SELECT row_to_json(r) FROM (SELECT ${planListing.columns} FROM plans t
    WHERE t.organisation_id = $1 AND t.code = $4) r) AS plan,
  (SELECT json_agg(row_to_json(r)) FROM (SELECT ${chargeListing.columns} FROM charges t
    WHERE t.organisation_id = $1 AND t.code = ANY ($5)) r) AS charges
  FROM organisations o WHERE o.id = $1`;

/** Loads the facts of a creation in one read (CREATE-1). */
export async function loadCreation(
  executor: Executor,
  organisationId: string,
  { subscriptionId, customerCode, planCode, chargeCodes }: CreationQuery,
): Promise<LoadedCreation> {
  const { rows } = await executor.query<FactsRow>(
    plannedOnce({
      name: "load_creation",
      text: factsText,
      values: [organisationId, subscriptionId, customerCode, planCode, chargeCodes],
    }),
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`organisation ${organisationId} is gone`);
  return readLoaded(row);
}

function readLoaded(row: FactsRow): LoadedCreation {
  const charges = (row.charges ?? []).map((charge) => readCharge(charge));
  return {
    requestHash: row.request_hash,
    catalogueVersion: row.catalogue_version,
    testClock: row.test_clock,
    facts: {
      organisation: readOrganisation(row),
      customer: row.customer === null ? null : readCustomer(row.customer),
      plan: row.plan === null ? null : readPlan(row.plan),
      charges: new Map(charges.map((charge) => [charge.code, charge])),
    },
  };
}
