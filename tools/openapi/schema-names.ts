/**
 * The names of the document's schemas. Most are those of the messages. Generators name types of their
 * own `CreateSubscriptionResponse` after the operation `createSubscription`, so the responses of
 * operations have other names in the document.
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

/** `InvoiceList` for a page of invoices. Spec: Lists and pagination. */
function listName(type: DescMessage | DescEnum): string | null {
  if (type.kind === "enum") return null;
  const data = type.fields.find(({ name }) => name === "data");
  if (data?.fieldKind !== "list" || data.listKind !== "message") return null;
  return `${data.message.name}List`;
}
