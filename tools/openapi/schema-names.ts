/**
 * The names of the document's schemas. Most are the message's own. A generated client makes `CreateSubscriptionResponse`
 * of the operation `createSubscription`, so the answers of operations have other names here; the contract keeps its own.
 */
import type { DescEnum, DescMessage } from "@bufbuild/protobuf";

/** The answers of operations that are no list. */
const answers: Readonly<Record<string, string>> = {
  CreateSubscriptionResponse: "CreatedSubscription",
  ChangeUnitsResponse: "UnitsChanged",
  ReportUsageResponse: "UsageReport",
};

/** The name of the schema of `type`. Throws for the answer of an operation that has no line above and is no list. */
export function schemaName(type: DescMessage | DescEnum): string {
  if (!type.name.endsWith("Response")) return type.name;
  const name = answers[type.name] ?? listName(type);
  if (name === null) throw new Error(`${type.typeName} needs a name for generated clients in schema-names.ts`);
  return name;
}

/** `InvoiceList` for a page of invoices. Spec: Lists and pagination. */
function listName(type: DescMessage | DescEnum): string | null {
  if (type.kind === "enum") return null;
  const data = type.fields.find(({ name }) => name === "data");
  if (data?.fieldKind !== "list" || data.listKind !== "message") return null;
  return `${data.message.name}List`;
}
