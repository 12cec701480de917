/**
 * Holds an answer of the API against the OpenAPI document: status, headers and body. A member that the document does not
 * know is a fault here, although the published schemas are open for members to come.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** A JSON object of the document. */
export type Json = { readonly [name: string]: unknown };

/** The published document, as `npm run gen` wrote it. */
export const document: Json = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../src/gen/openapi.json"), "utf8"),
) as Json;

/** An answer as a test received it; header names in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * What is wrong with an answer of the operation at `verb` and `path` (its template, `/v1/plans/{id}`), one line for each
 * fault; empty where the document says exactly what came.
 */
export function answerFaults(verb: string, path: string, answer: Answer): string[] {
  const operation = at(document, "paths", path, verb.toLowerCase());
  if (operation === undefined) return [`the document has no operation ${verb} ${path}`];
  const response = at(operation, "responses", String(answer.status));
  if (response === undefined) return [`${verb} ${path} has no documented answer ${answer.status}`];
  return [...headerFaults(response, answer.headers), ...bodyFaults(response, answer.body)];
}

function headerFaults(response: Json, headers: Readonly<Record<string, string>>): string[] {
  const documented = new Set(Object.keys(at(response, "headers") ?? {}).map((name) => name.toLowerCase()));
  const ours = Object.keys(headers).filter((name) => /^(request-id|ratelimit-|retry-after|idempotent-)/.test(name));
  return [
    ...(headers["request-id"] === undefined ? ["the header Request-Id is missing"] : []),
    ...ours.filter((name) => !documented.has(name)).map((name) => `the header ${name} is not documented here`),
  ];
}

function bodyFaults(response: Json, body: unknown): string[] {
  const schema = at(response, "content", "application/json", "schema");
  if (schema === undefined) return ["the document describes no body"];
  return schemaFaults(closed(schema), body);
}

const validators = new Map<string, ValidateFunction>();

/** What is wrong with `value` under a JSON Schema (draft 2020-12), one line for each fault. */
export function schemaFaults(schema: Json, value: unknown): string[] {
  const key = JSON.stringify(schema);
  const validate = validators.get(key) ?? newAjv().compile(schema);
  validators.set(key, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    (fault) => `${fault.instancePath || "/"} ${fault.message} ${JSON.stringify(fault.params)}`,
  );
}

function newAjv(): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, strictTypes: false });
  addFormats.default(ajv);
  return ajv;
}

/** The schema with every reference resolved and every object closed. No message of the contract holds itself. */
export function closed(schema: Json): Json {
  if (typeof schema.$ref === "string") return closed(resolve(schema.$ref));
  if (Array.isArray(schema.allOf)) return merged(schema.allOf.map((part) => closed(part as Json)));
  if (Array.isArray(schema.anyOf)) return { anyOf: schema.anyOf.map((part) => closed(part as Json)) };
  if (schema.items !== undefined) return { ...schema, items: closed(schema.items as Json) };
  if (schema.properties === undefined) return schema;
  const properties = Object.entries(schema.properties as Json).map(([name, member]) => [name, closed(member as Json)]);
  return { ...schema, properties: Object.fromEntries(properties), additionalProperties: false };
}

function merged(parts: readonly Json[]): Json {
  return {
    type: "object",
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required }) => (required ?? []) as string[]),
    additionalProperties: false,
  };
}

/** The object that a reference into the document (`#/components/schemas/Plan`) names. Throws where there is none. */
export function resolve(reference: string): Json {
  const found = at(document, ...reference.slice("#/".length).split("/"));
  if (found === undefined) throw new Error(`${reference} names nothing`);
  return found;
}

/** The object at a path of member names, `undefined` where there is none. */
export function at(value: Json, ...names: readonly string[]): Json | undefined {
  let here: unknown = value;
  for (const name of names) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Json)[name];
  }
  return typeof here === "object" && here !== null ? (here as Json) : undefined;
}
