/**
 * The names of the document's schemas. Most are the messages' names. Generators derive a type
 * `CreateSubscriptionResponse` from the operation `createSubscription`, so responses of operations
 * have other names in the document.
 */
import type { DescEnum, DescMessage } from "@bufbuild/protobuf";

/** The responses that are not lists. */
const answers: Readonly<Record<string, string>> = {
  CreateSubscriptionResponse: "CreatedSubscription",
  ChangeUnitsResponse: "UnitsChanged",
  ReportUsageResponse: "UsageReport",
};

/** Returns the schema's name. Throws for a response that is not a list and has no line above. */
export function schemaName(type: DescMessage | DescEnum): string {
  if (!type.name.endsWith("Response")) return type.name;
  const name = answers[type.name] ?? listName(type);
  if (name === null) throw new Error(`${type.typeName} needs a name in schema-names.ts`);
  return name;
}

/** Returns `InvoiceList` for a page of invoices (OBJECT-3), or null for other types. */
function listName(type: DescMessage | DescEnum): string | null {
  if (type.kind === "enum") return null;
  const data = type.fields.find(({ name }) => name === "data");
  if (data?.fieldKind !== "list" || data.listKind !== "message") return null;
  return `${data.message.name}List`;
}
