/** Organisations by their names. A name need not be unique, so the id may be needed. */
import { OrganisationService } from "../../../src/gen/proto/billing/admin/v1/organisations_pb.ts";
import { callJson } from "./call-json.ts";
import type { ApiConnection } from "./connection.ts";
import { RefusedError } from "./failures.ts";
import { isObject, type Json } from "./output/message-json.ts";

/** As many as a person can compare. */
const candidatesShown = 10;

/**
 * Returns the id of the organisation with this name, in any case. Throws `RefusedError` if there is
 * none, or with the candidates if there are several.
 */
export async function organisationIdOf(connection: ApiConnection, name: string): Promise<string> {
  const { data } = await callJson(connection, OrganisationService.method.listOrganisations, {
    name,
    limit: candidatesShown + 1,
  });
  const found = Array.isArray(data) ? data.filter(isObject) : [];
  const [only] = found;
  if (only === undefined)
    throw new RefusedError("organisation_not_found", `There is no organisation named ${name}.`);
  if (found.length === 1) return String(only.id);
  const shown = found.slice(0, candidatesShown).map(candidateOf);
  const more = found.length > candidatesShown ? ["…"] : [];
  throw new RefusedError(
    "organisation_ambiguous",
    `Several organisations are named ${name}: ${[...shown, ...more].join(", ")}. Use an id.`,
  );
}

function candidateOf({ id, default_currency: currency, livemode }: Json): string {
  return `${String(id)} (${String(currency)}, ${livemode === true ? "live" : "sandbox"})`;
}
