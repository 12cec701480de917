/** One operation of the document, from one method of the contract. */
import type { DescField, DescMethod, JsonObject } from "@bufbuild/protobuf";
import { isCommaSeparated, jsonName, type OperationShape, requestFields } from "../../src/gateway/json-shape.ts";
import { description, summary } from "./comments.ts";
import { errorResponses } from "./errors.ts";
import { fieldSchema, type Refer } from "./field-schema.ts";
import { headerRefs, idempotencyKeyParameter, successHeaders } from "./headers.ts";
import { requestExample, requestSchema, responseExample, shownMessage } from "./message-schema.ts";

/** The name of the security scheme. */
export const securitySchemeName = "apiKey";

/** How many objects a page has where `limit` is left out. Spec: Lists and pagination. */
const defaultLimit = 25;

/** The operation object. */
export function operationObject(method: DescMethod, shape: OperationShape, refer: Refer): JsonObject {
  const words = description(method);
  const fields = requestFields(method, shape.http);
  const parameters = [
    ...fields.path.map((field) => pathParameter(field, refer)),
    ...fields.query.map((field) => queryParameter(field, refer)),
    ...(shape.idempotencyKey === "ignored" ? [] : [idempotencyKeyParameter(shape.idempotencyKey === "required")]),
  ];
  const scopeWords = shape.scope === null ? "Any valid key may call it." : `Needs the scope \`${shape.scope}\`.`;
  return {
    operationId: `${method.name.charAt(0).toLowerCase()}${method.name.slice(1)}`,
    tags: [tagName(shape)],
    summary: summary(words),
    description: `${words}\n\n${scopeWords}`,
    // In OpenAPI 3.1 the list of a bearer scheme names what the key must carry.
    security: [{ [securitySchemeName]: shape.scope === null ? [] : [shape.scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(shape.http.hasBody ? { requestBody: requestBody(method, shape, fields.body, refer) } : {}),
    responses: { ...successResponses(method, shape, refer), ...errorResponses(shape) },
  };
}

/** The resource's name in the path: `subscriptions` of `/v1/subscriptions/{id}`. */
export function tagName(shape: OperationShape): string {
  return shape.http.path.split("/")[2] ?? "";
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
    // An empty parameter is refused, so a list that is there has an element.
    ...(isCommaSeparated(field) ? { style: "form", explode: false, schema: { ...schema, minItems: 1 } } : { schema }),
  };
}

function requestBody(
  method: DescMethod,
  shape: OperationShape,
  fields: readonly DescField[],
  refer: Refer,
): JsonObject {
  // A body with members has its own component; one without is `{}` and needs none.
  const schema = fields.length === 0 ? requestSchema(method.input, fields, refer) : refer(method.input, "request");
  return {
    required: !shape.bodyOptional,
    content: { "application/json": { schema, example: requestExample(fields) } },
  };
}

function successResponses(method: DescMethod, shape: OperationShape, refer: Refer): JsonObject {
  const message = shownMessage(method.output);
  const response = {
    description: description(method.output),
    headers: headerRefs(successHeaders(shape)),
    content: { "application/json": { schema: refer(message, "response"), example: responseExample(message) } },
  };
  const partial = { ...response, description: "At least one was rejected; read the results." };
  return {
    [String(shape.successStatus)]: response,
    ...(shape.partialStatus === null ? {} : { [String(shape.partialStatus)]: partial }),
  };
}
