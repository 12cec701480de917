/** The search attributes by which the Temporal UI answers "what happened to this subscription", and their registration. */
import type { Connection } from "@temporalio/client";
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from "@temporalio/common";

/** All of type Keyword: identifiers and short words, found by exact match. Facts about Temporal, section 4.6. */
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

/** The name of one of our search attributes. */
export type SearchAttributeName = (typeof searchAttributes)[number];

/** Values of ours as a workflow is started with them. */
export function typedAttributes(values: Partial<Record<SearchAttributeName, string>>): TypedSearchAttributes {
  return new TypedSearchAttributes(
    Object.entries(values).map(([name, value]) => ({
      key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD),
      value,
    })),
  );
}

/** `IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keyword = 2;

/**
 * Registers those of `names` that the namespace lacks; returns the ones added.
 * Throws an Error when one exists with another type, and passes on the server's refusal: a cloud namespace lets only its own console register them.
 */
export async function ensureSearchAttributes(
  connection: Pick<Connection, "operatorService">,
  namespace: string,
  names: readonly string[] = searchAttributes,
): Promise<readonly string[]> {
  const known = await knownAttributes(connection, namespace);
  const other = names.find((name) => known[name] !== undefined && known[name] !== keyword);
  if (other !== undefined)
    throw new Error(`The search attribute ${other} of namespace ${namespace} must be of type Keyword.`);
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
