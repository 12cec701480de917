/**
 * The search attributes of the service and their registration. By them the Temporal UI finds the
 * workflows of a subscription (INVARIANT-8).
 */
import type { Connection } from "@temporalio/client";
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  TypedSearchAttributes,
} from "@temporalio/common";

/** All have the type Keyword: identifiers and short words, found by exact match. */
export const searchAttributes = [
  "OrganisationId",
  "SubscriptionId",
  "CustomerId",
  "InvoiceId",
  "EndpointId",
  "JobId",
  "JobKind",
  "Outcome",
] as const;

/** The name of one of the service's search attributes. */
export type SearchAttributeName = (typeof searchAttributes)[number];

/** Converts values to the form in which a workflow is started with them. */
export function typedAttributes(
  values: Partial<Record<SearchAttributeName, string>>,
): TypedSearchAttributes {
  return new TypedSearchAttributes(
    Object.entries(values).map(([name, value]) => ({
      key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
      value,
    })),
  );
}

/** `IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword = 2;

/** Returns the search attributes that the namespace lacks. */
export async function missingSearchAttributes(
  connection: Pick<Connection, "operatorService">,
  namespace: string,
): Promise<readonly string[]> {
  const known = await knownAttributes(connection, namespace);
  return searchAttributes.filter((name) => known[name] === undefined);
}

/**
 * Registers those of `names` that the namespace lacks, and returns the added ones. Throws an Error
 * if one exists with another type. Passes on the server's refusal: in a cloud namespace only the
 * console may register them.
 */
export async function ensureSearchAttributes(
  connection: Pick<Connection, "operatorService">,
  namespace: string,
  names: readonly string[] = searchAttributes,
): Promise<readonly string[]> {
  const known = await knownAttributes(connection, namespace);
  const other = names.find((name) => known[name] !== undefined && known[name] !== keyword);
  if (other !== undefined)
    throw new Error(
      `The search attribute ${other} of namespace ${namespace} must be of type Keyword.`,
    );
  const missing = names.filter((name) => known[name] === undefined);
  if (missing.length === 0) return [];
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
    });
  } catch (error) {
    // Another process may have added them at the same moment.
    const now = await knownAttributes(connection, namespace);
    if (missing.some((name) => now[name] !== keyword)) throw error;
  }
  return missing;
}

async function knownAttributes(
  connection: Pick<Connection, "operatorService">,
  namespace: string,
): Promise<Readonly<Record<string, number>>> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return customAttributes;
}
