/**
 * Holds an answer of the API against the OpenAPI document: status, headers and body. A member that
 * the document does not know is a fault here, although the published schemas are open for members
 * to come.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { retriedCodes } from "../../tools/openapi/errors.ts";

/** A JSON object of the document. */
export type Json = { readonly [name: string]: unknown };

/** The published document, as `npm run gen` wrote it. */
export const document: Json = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../src/gen/openapi.json"), "utf8"),
) as Json;

/** An answer as a test received it; header names in lower case. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * The faults of an answer of the operation at `verb` and `path` (its template, `/v1/plans/{id}`),
 * one line for each; empty if the answer is as documented.
 */
export function answerFaults(verb: string, path: string, answer: Answer): string[] {
  const operation = at(document, "paths", path, verb.toLowerCase());
  if (operation === undefined) return [`the document has no operation ${verb} ${path}`];
  const response = at(operation, "responses", String(answer.status));
  if (response === undefined) return [`${verb} ${path} has no documented answer ${answer.status}`];
  return [...headerFaults(response, answer), ...bodyFaults(response, answer.body)];
}

/** What of the headers is ours, and so has to be documented. */
const ownHeader = /^(request-id|ratelimit-|retry-after|idempotent-|www-authenticate)/;

function headerFaults(response: Json, { headers, body }: Answer): string[] {
  const documented = Object.entries(at(response, "headers") ?? {}).map(
    ([name, reference]) => [name, resolve((reference as { $ref: string }).$ref)] as const,
  );
  const names = new Set(documented.map(([name]) => name.toLowerCase()));
  const code = at(body as Json, "error")?.code;
  const waits = typeof code === "string" && retriedCodes.has(code) ? ["Retry-After"] : [];
  const required = [
    ...documented.filter(([, header]) => header.required === true).map(([name]) => name),
    ...waits,
  ];
  return [
    ...required
      .filter((name) => headers[name.toLowerCase()] === undefined)
      .map((name) => `no header ${name}`),
    ...Object.keys(headers)
      .filter((name) => ownHeader.test(name) && !names.has(name))
      .map((name) => `the header ${name} is not documented here`),
    ...documented.flatMap(([name, header]) =>
      valueFaults(name, header, headers[name.toLowerCase()]),
    ),
  ];
}

const anything: Json = {};

/** Headers are text: if the document says a number, the text must be one. */
function valueFaults(name: string, header: Json, value: string | undefined): string[] {
  if (value === undefined) return [];
  const schema = at(header, "schema") ?? anything;
  const read = schema.type === "integer" && /^\d+$/.test(value) ? Number(value) : value;
  return schemaFaults(schema, read).map((fault) => `the header ${name}: ${fault}`);
}

function bodyFaults(response: Json, body: unknown): string[] {
  const schema = at(response, "content", "application/json", "schema");
  if (schema === undefined) return ["the document describes no body"];
  return schemaFaults(closedOnce(schema), body);
}

const closedSchemas = new WeakMap<Json, Json>();

/**
 * Every answer of an operation is held against the same object, which is closed, and compiled,
 * once.
 */
function closedOnce(schema: Json): Json {
  const known = closedSchemas.get(schema) ?? closed(schema);
  closedSchemas.set(schema, known);
  return known;
}

const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  strictTypes: false,
});
addFormats.default(ajv);

/** By the schema and by its text: many answers have separate schemas with the same text. */
const validators = new WeakMap<Json, ValidateFunction>();
const validatorsByText = new Map<string, ValidateFunction>();

/** What is wrong with `value` under a JSON Schema (draft 2020-12), one line for each fault. */
export function schemaFaults(schema: Json, value: unknown): string[] {
  const validate = validators.get(schema) ?? compile(schema);
  validators.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    (fault) => `${fault.instancePath || "/"} ${fault.message} ${JSON.stringify(fault.params)}`,
  );
}

function compile(schema: Json): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = validatorsByText.get(text) ?? ajv.compile(schema);
  validatorsByText.set(text, validate);
  return validate;
}

/**
 * The schema with every reference resolved and every object closed. No message of the contract
 * holds itself.
 */
export function closed(schema: Json): Json {
  if (typeof schema.$ref === "string") return closed(resolve(schema.$ref));
  if (Array.isArray(schema.anyOf))
    return { anyOf: schema.anyOf.map((part) => closed(part as Json)) };
  if (schema.items !== undefined) return { ...schema, items: closed(schema.items as Json) };
  if (schema.properties === undefined) return schema;
  const properties = Object.entries(schema.properties as Json).map(([name, member]) => [
    name,
    closed(member as Json),
  ]);
  return { ...schema, properties: Object.fromEntries(properties), additionalProperties: false };
}

/**
 * The object that a reference into the document (`#/components/schemas/Plan`) names. Throws if
 * there is none.
 */
export function resolve(reference: string): Json {
  const found = at(document, ...reference.slice("#/".length).split("/"));
  if (found === undefined) throw new Error(`${reference} names nothing`);
  return found;
}

/** The object at a path of member names, or `undefined`. */
export function at(value: Json, ...names: readonly string[]): Json | undefined {
  let here: unknown = value;
  for (const name of names) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Json)[name];
  }
  return typeof here === "object" && here !== null ? (here as Json) : undefined;
}
