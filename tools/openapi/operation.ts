/** One operation of the document, from one method of the contract. */
import type { DescField, JsonObject } from "@bufbuild/protobuf";
import { isCommaSeparated, jsonName, requestFields } from "../../src/transport/rest/json-shape.ts";
import { codeSamples } from "./code-samples.ts";
import { description, summary } from "./comments.ts";
import type { DescribedOperation } from "./described-operation.ts";
import { errorResponses } from "./errors.ts";
import { fieldSchema, type Refer } from "./field-schema.ts";
import { headerRefs, idempotencyKeyParameter, successHeaders } from "./headers.ts";
import { requestExample, requestSchema, responseExample, shownMessage } from "./message-schema.ts";

/** The name of the security scheme. */
export const securitySchemeName = "apiKey";

/** How many objects a page has without `limit` (OBJECT-3). */
const defaultLimit = 25;

/** Returns the operation object of OpenAPI, with parameters, body and responses. */
export function operationObject(operation: DescribedOperation, refer: Refer): JsonObject {
  const { method } = operation;
  const words = description(method);
  const fields = requestFields(method, operation.http);
  const parameters = [
    ...fields.path.map((field) => pathParameter(field, refer)),
    ...fields.query.map((field) => queryParameter(field, refer)),
    ...(operation.idempotencyKey === "none"
      ? []
      : [idempotencyKeyParameter(operation.idempotencyKey === "required")]),
  ];
  return {
    operationId: `${method.name.charAt(0).toLowerCase()}${method.name.slice(1)}`,
    tags: [tagName(operation)],
    summary: summary(words),
    description: `${words}\n\n${scopeWords(operation)}`,
    security: security(operation),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.http.hasBody ? { requestBody: requestBody(operation, fields.body, refer) } : {}),
    responses: { ...successResponses(operation, refer), ...errorResponses(operation) },
    "x-codeSamples": codeSamples(operation),
  };
}

function scopeWords({ scope, anyScope }: DescribedOperation): string {
  if (anyScope.length > 0)
    return `Needs one of the scopes ${anyScope.map((one) => `\`${one}\``).join(", ")}.`;
  return scope === null ? "Any valid key may call it." : `Needs the scope \`${scope}\`.`;
}

/**
 * Returns the alternatives of which a key must meet one. In OpenAPI 3.1 the list of a bearer scheme
 * names the scopes that the key must have.
 */
function security({ scope, anyScope }: DescribedOperation): JsonObject[] {
  if (anyScope.length > 0) return anyScope.map((one) => ({ [securitySchemeName]: [one] }));
  return [{ [securitySchemeName]: scope === null ? [] : [scope] }];
}

/** Returns the resource's name in the path: `subscriptions` of `/v1/subscriptions/{id}`. */
export function tagName(operation: DescribedOperation): string {
  return operation.http.path.split("/")[2] ?? "";
}

function pathParameter(field: DescField, refer: Refer): JsonObject {
  const { description: words, ...schema } = fieldSchema(field, "request", refer);
  return { name: jsonName(field), in: "path", required: true, description: words ?? "", schema };
}

function queryParameter(field: DescField, refer: Refer): JsonObject {
  const { description: words, ...schema } = fieldSchema(field, "request", refer);
  if (jsonName(field) === "limit") schema.default = defaultLimit;
  return {
    name: jsonName(field),
    in: "query",
    required: false,
    description: words ?? "",
    // An empty parameter is refused (REQUEST-9), so a list that is present has an element.
    ...(isCommaSeparated(field)
      ? { style: "form", explode: false, schema: { ...schema, minItems: 1 } }
      : { schema }),
  };
}

function requestBody(
  operation: DescribedOperation,
  fields: readonly DescField[],
  refer: Refer,
): JsonObject {
  // A body with members has its own component. A body without members is `{}` and needs none.
  const schema =
    fields.length === 0
      ? requestSchema(operation.method.input, fields, refer)
      : refer(operation.method.input, "request");
  return {
    required: !operation.bodyOptional,
    content: { "application/json": { schema, example: requestExample(fields) } },
  };
}

function successResponses(operation: DescribedOperation, refer: Refer): JsonObject {
  const message = shownMessage(operation.method.output);
  const response = {
    description: description(operation.method.output),
    headers: headerRefs(successHeaders(operation)),
    content: {
      "application/json": {
        schema: refer(message, "response"),
        example: responseExample(operation.method.output),
      },
    },
  };
  const partial = {
    ...response,
    description: "At least one was rejected; read the results.",
    content: {
      "application/json": { schema: refer(message, "response"), example: operation.partialExample },
    },
  };
  return {
    [String(operation.successStatus)]: response,
    ...(operation.partialStatus === null ? {} : { [String(operation.partialStatus)]: partial }),
  };
}
