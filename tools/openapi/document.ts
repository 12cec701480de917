/**
 * The OpenAPI document of the whole contract: every built operation, every webhook, and the schemas
 * that they need.
 */
import type { DescEnum, DescMessage, DescService, JsonObject, Registry } from "@bufbuild/protobuf";
import { requestFields } from "../../src/transport/rest/json-shape.ts";
import { description } from "./comments.ts";
import { type DescribedOperation, describedOperation } from "./described-operation.ts";
import { errorExamples, errorSchema, errorSchemaName, operationCodes } from "./errors.ts";
import { type Direction, enumSchema, type Refer } from "./field-schema.ts";
import { headerComponents } from "./headers.ts";
import { introduction, securityDescription } from "./manual.ts";
import { requestSchema, responseSchema } from "./message-schema.ts";
import { operationObject, securitySchemeName, tagName } from "./operation.ts";
import { schemaName } from "./schema-names.ts";
import { webhooksObject, webhookTag } from "./webhooks.ts";

/** The version of the interface. */
const interfaceVersion = "1.0.0";

interface BuiltOperation {
  readonly service: DescService;
  readonly operation: DescribedOperation;
}

interface SchemaEntry {
  readonly typeName: string;
  readonly direction: Direction | "both";
  schema: JsonObject;
}

/** Returns the document for the services of `registry`. Its files must have their comments. */
export function openApiDocument(registry: Registry): JsonObject {
  const operations = builtOperations(registry);
  const detail = registry.getMessage("billing.v1.ErrorDetail");
  if (detail === undefined) throw new Error("the contract has no ErrorDetail");
  const { refer, schemas } = schemaCollection(operations);
  const paths: Record<string, JsonObject> = {};
  for (const { operation } of operations) {
    const item = paths[operation.http.path] ?? {};
    item[operation.http.verb.toLowerCase()] = operationObject(operation, refer);
    paths[operation.http.path] = item;
  }
  const webhooks = webhooksObject(registry, refer);
  const error = errorSchema(detail, refer);
  return {
    openapi: "3.1.1",
    info: {
      title: "Subscription Billing API",
      version: interfaceVersion,
      description: introduction,
      contact: { name: "The operator of this service" },
    },
    externalDocs: { description: "Guides, rules and this reference", url: "/docs" },
    servers: [{ url: "/" }, { url: "/api" }],
    tags: [...tags(operations), webhookTag],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        [securitySchemeName]: { type: "http", scheme: "bearer", description: securityDescription },
      },
      headers: headerComponents,
      examples: errorExamples(
        operations.flatMap(({ operation }) => operationCodes(operation)),
        detail,
      ),
      schemas: { ...schemas(), [errorSchemaName]: error },
    },
  };
}

function builtOperations(registry: Registry): BuiltOperation[] {
  return [...registry]
    .filter((type) => type.kind === "service")
    .flatMap((service) =>
      service.methods.map((method) => ({ service, operation: describedOperation(method) })),
    )
    .flatMap(({ service, operation }) => (operation === null ? [] : [{ service, operation }]));
}

/** Returns one tag for each resource. Its description is that of the first service with it. */
function tags(operations: readonly BuiltOperation[]): JsonObject[] {
  const byName = new Map<string, string>();
  for (const { service, operation } of operations) {
    const name = tagName(operation);
    if (!byName.has(name)) byName.set(name, description(service));
  }
  return [...byName].map(([name, words]) => ({ name, description: words }));
}

/**
 * Collects the referenced schemas, each created at its first reference. A message used in requests
 * and responses would need two schemas. No message is, and the build stops if one becomes so.
 */
function schemaCollection(operations: readonly BuiltOperation[]): {
  refer: Refer;
  schemas: () => JsonObject;
} {
  const found = new Map<string, SchemaEntry>();
  const bodies = new Map(
    operations.map(({ operation }) => [
      operation.method.input.typeName,
      requestFields(operation.method, operation.http).body,
    ]),
  );
  const refer: Refer = (type, direction) => {
    const used = type.kind === "enum" ? ("both" as const) : direction;
    const name = schemaName(type);
    const known = found.get(name);
    if (known === undefined) {
      const entry: SchemaEntry = { typeName: type.typeName, direction: used, schema: {} };
      // Entered before it is filled, so that a message may contain itself.
      found.set(name, entry);
      entry.schema = schemaOf(type, direction);
    } else if (known.direction !== used || known.typeName !== type.typeName) {
      throw new Error(`${type.typeName} and ${known.typeName} would both be the schema ${name}`);
    }
    return { $ref: `#/components/schemas/${name}` };
  };
  const schemaOf = (type: DescMessage | DescEnum, direction: Direction): JsonObject => {
    if (type.kind === "enum") return enumSchema(type);
    if (direction === "response") return responseSchema(type, refer);
    return requestSchema(type, bodies.get(type.typeName) ?? type.fields, refer);
  };
  const schemas = () =>
    Object.fromEntries(
      [...found]
        .map(([name, { schema }]) => [name, schema] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  return { refer, schemas };
}
