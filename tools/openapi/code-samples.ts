/**
 * The code samples of an operation, from the examples of its fields: with the client of
 * `packages/client`, and over HTTP. Viewers of the document show them (`x-codeSamples`).
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { jsonName, requestFields } from "../../src/transport/rest/json-shape.ts";
import type { DescribedOperation } from "./described-operation.ts";
import { curlSample, goSample, pythonSample, type SampleRequest } from "./http-samples.ts";
import { example } from "./json-values.ts";
import { requestExample, responseExample } from "./message-schema.ts";

/** Returns the samples. Address and key are variables of the environment. */
export function codeSamples(operation: DescribedOperation): JsonObject[] {
  const request = requestOf(operation);
  return [
    { lang: "Shell", label: "curl", source: curlSample(request) },
    { lang: "TypeScript", label: "TypeScript", source: clientSample(operation) },
    { lang: "Python", label: "Python", source: pythonSample(request) },
    { lang: "Go", label: "Go", source: goSample(request) },
  ];
}

function requestOf(operation: DescribedOperation): SampleRequest {
  const { http, method, idempotencyKey } = operation;
  const { body } = requestFields(method, http);
  return {
    verb: http.verb,
    path: http.path.replaceAll(/\{(\w+)\}/g, (_, name) => pathValue(operation, name)),
    headers: {
      ...(idempotencyKey !== "none" && { "Idempotency-Key": "order-1881" }),
      ...(http.hasBody && { "Content-Type": "application/json" }),
    },
    body: http.hasBody ? JSON.stringify(requestExample(body), null, 2) : null,
  };
}

function clientSample(operation: DescribedOperation): string {
  const { method, http } = operation;
  const { path, body } = requestFields(method, http);
  const ids = path.map((field) => [jsonName(field), pathValue(operation, jsonName(field))]);
  const members = { ...Object.fromEntries(ids), ...requestExample(body) };
  const request = Object.keys(members).length === 0 ? "" : literal(members);
  const call = `billing.${method.localName}(${request})`;
  return [
    'import { createBillingClient } from "@subscription-billing/client";',
    "",
    "const billing = createBillingClient({",
    "  baseUrl: process.env.BILLING_URL,",
    "  apiKey: process.env.BILLING_API_KEY,",
    "});",
    ...(isList(operation)
      ? [`for await (const { id } of ${call}) console.log(id);`]
      : [`const answer = await ${call};`, "console.log(answer);"]),
  ].join("\n");
}

/** The subscription of the manual's examples. */
const sampleId = "6f1ed002-ab59-5d6e-9e0f-1c7a3f0d9b11";

/** Returns the value of a path parameter: the one of the answer's example, if it has one. */
function pathValue({ method }: DescribedOperation, name: string): string {
  const field = method.input.fields.find((one) => one.name === name);
  const own = field === undefined ? undefined : example(field);
  const value = own ?? responseExample(method.output)[name];
  return typeof value === "string" ? value : sampleId;
}

/** Returns a value as code: on one line if it is short. */
function literal(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const members = isList
    ? value.map(literal)
    : Object.entries(value).map(([name, member]) => `${name}: ${literal(member)}`);
  const line = isList ? `[${members.join(", ")}]` : `{ ${members.join(", ")} }`;
  if (line.length <= 50 && !line.includes("\n")) return line;
  const lines = members.map((member) => `  ${member.replaceAll("\n", "\n  ")},\n`).join("");
  return isList ? `[\n${lines}]` : `{\n${lines}}`;
}

/** Whether the client's method is an iterator: pages begin after the id of an object. */
function isList({ method }: DescribedOperation): boolean {
  const field = ({ fields }: DescMessage, name: string) => fields.find((one) => one.name === name);
  const data = field(method.output, "data");
  if (field(method.input, "starting_after") === undefined || data?.fieldKind !== "list")
    return false;
  return data.listKind === "message" && field(data.message, "id") !== undefined;
}
