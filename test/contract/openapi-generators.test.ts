/** Client generators turn the OpenAPI document into code that compiles and reads every response. */
import { expect, test } from "vitest";
import { at, closed, document, type Json, resolve, schemaFaults } from "./answer-check.ts";

const schemas = at(document, "components", "schemas") ?? {};
const bodyOf = (path: string, part: string[]): Json =>
  at(document, "paths", path, "post", ...part, "content", "application/json", "schema") ?? {};
const created = bodyOf("/v1/subscriptions", ["responses", "201"]);

/** The operation ids as generators write type names: `CreateSubscription`. */
const operationNames = Object.values(at(document, "paths") ?? {})
  .flatMap((item) => Object.values(item as Json) as Json[])
  .map(({ operationId }) => String(operationId).replace(/^./, (letter) => letter.toUpperCase()));

test("no schema is an allOf, in which openapi-generator loses null", () => {
  expect(JSON.stringify(document)).not.toContain('"allOf"');
});

test("CreatedSubscription has the members of Subscription and invoice with null", () => {
  const members = Object.keys(at(schemas, "Subscription", "properties") ?? {});
  const own = resolve(String(created.$ref));
  expect(Object.keys(at(own, "properties") ?? {})).toEqual([...members, "invoice"]);
  expect(own.required).toEqual([...(at(schemas, "Subscription")?.required as string[]), "invoice"]);
  expect(at(own, "properties", "end_date")?.type).toEqual(["string", "null"]);
  const content = at(document, "paths", "/v1/subscriptions", "post", "responses", "201", "content");
  const example = at(content ?? {}, "application/json")?.example as Json;
  expect(schemaFaults(closed(created), { ...example, end_date: null, invoice: null })).toEqual([]);
});

test("no schema has a name that generators derive from an operation id", () => {
  expect(operationNames).toContain("CreateSubscription");
  const suffixes = ["Response", "Params", "JSONBody", "JSONRequestBody", "Data", "Error", "Errors"];
  const made = new Set(
    operationNames.flatMap((name) => ["", ...suffixes].map((suffix) => `${name}${suffix}`)),
  );
  expect(
    Object.keys(schemas).filter((name) => made.has(name) || name.endsWith("Response")),
  ).toEqual([]);
  expect(Object.keys(schemas)).toEqual(
    expect.arrayContaining(["InvoiceList", "CreatedSubscription", "UnitsChanged", "UsageReport"]),
  );
});

test("no schema has the name of a built-in type of a language", () => {
  for (const name of ["Error", "Object", "String", "Map", "Set", "Date", "Promise"]) {
    expect(Object.keys(schemas)).not.toContain(name);
  }
});

test("a type is one type or one type and null; any other choice is a oneOf", () => {
  const lists = [...JSON.stringify(document).matchAll(/"type":\[([^\]]*)\]/g)].map(
    ([, types = ""]) => types,
  );
  expect(lists.length).toBeGreaterThan(0);
  for (const types of lists) expect(types).toMatch(/^"[a-z]+","null"$/);
});

test("a quantity is a string by its rules or a number", () => {
  const quantity = at(schemas, "UsageEvent", "properties", "quantity") ?? {};
  expect((quantity.oneOf as Json[]).map(({ type }) => type)).toEqual(["string", "number"]);
  for (const right of ["12.5", 12.5, 3]) expect(schemaFaults(quantity, right)).toEqual([]);
  for (const wrong of ["1e3", "-1", "0", "", "1".repeat(21), null, true, {}]) {
    expect(schemaFaults(quantity, wrong)).not.toEqual([]);
  }
});

test("a usage event is one type that takes exactly one of meter and meter_code", () => {
  const event = at(schemas, "UsageEvent") ?? {};
  const named = {
    event_id: "e",
    subscription: "s",
    quantity: 1,
    timestamp: "2026-03-05T10:15:00Z",
  };
  expect(Object.keys(event)).not.toContain("oneOf");
  for (const right of [{ meter: "m" }, { meter_code: "c" }])
    expect(schemaFaults(event, { ...named, ...right })).toEqual([]);
  for (const wrong of [{}, { meter: "m", meter_code: "c" }]) {
    expect(schemaFaults(event, { ...named, ...wrong })).not.toEqual([]);
  }
});

test("a date or an instant has no text limits, which clients would apply to an object", () => {
  const dates = [
    ...JSON.stringify(document).matchAll(/\{[^{}]*"format":"date(?:-time)?"[^{}]*\}/g),
  ].map(([text]) => text);
  expect(dates.length).toBeGreaterThan(5);
  for (const text of dates) expect(text).not.toMatch(/"(pattern|minLength|maxLength)":/);
});

test("an object schema lists its properties or says that it takes any", () => {
  for (const object of objectsIn(document)) {
    expect(object.properties ?? object.additionalProperties, JSON.stringify(object)).toBeDefined();
  }
});

/** The schemas of objects below `value`. */
function objectsIn(value: unknown): Json[] {
  if (typeof value !== "object" || value === null) return [];
  const schema = value as Json;
  const isObject = [schema.type].flat().includes("object") && !("name" in schema);
  return [...(isObject ? [schema] : []), ...Object.values(schema).flatMap(objectsIn)];
}
