/**
 * The OpenAPI document is valid for an independent validator, complete, and true to its own
 * examples.
 */
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { refusals } from "../../src/domain/refusal.ts";
import { describedOperation } from "../../tools/openapi/described-operation.ts";
import {
  answerFaults,
  at,
  closed,
  document,
  type Json,
  resolve,
  schemaFaults,
} from "./answer-check.ts";
import { methods } from "./methods.ts";

interface Operation {
  readonly verb: string;
  readonly path: string;
  readonly object: Json;
}

const operations: readonly Operation[] = Object.entries(at(document, "paths") ?? {}).flatMap(
  ([path, item]) =>
    Object.entries(item as Json).map(([verb, object]) => ({ verb, path, object: object as Json })),
);
const named = operations.map(
  (operation) => [`${operation.verb.toUpperCase()} ${operation.path}`, operation] as const,
);

describe("the OpenAPI document", () => {
  test("is a valid OpenAPI 3.1 document by an independent validator", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(document.openapi).toBe("3.1.1");
    expect(at(document, "info")?.version).toBe("1.0.0");
  });

  test("lists exactly the operations that are built", () => {
    const built = methods
      .map(describedOperation)
      .filter((shape) => shape !== null)
      .map(({ http }) => `${http.verb} ${http.path}`);
    expect(operations.map(({ verb, path }) => `${verb.toUpperCase()} ${path}`).sort()).toEqual(
      built.sort(),
    );
  });

  test("gives every operation a unique id", () => {
    const ids = operations.map(({ object }) => object.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("refers only to what it has", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, name = ""]) => name,
    );
    expect(references.length).toBeGreaterThan(0);
    for (const reference of new Set(references)) expect(() => resolve(reference)).not.toThrow();
  });

  test("shows a decimal amount as a string with four places everywhere in responses", () => {
    const amount = at(document, "components", "schemas", "Invoice", "properties", "total") ?? {};
    expect(schemaFaults(amount, "19.9900")).toEqual([]);
    for (const wrong of [19.99, "19.99", "19.99000", "1e3", "+1.0000", "019.9900"]) {
      expect(schemaFaults(amount, wrong)).not.toEqual([]);
    }
  });
});

describe.each(named)("%s", (_name, { verb, path, object }) => {
  const responses = Object.entries(at(object, "responses") ?? {});

  test("has summary, description, tag and security", () => {
    // A line of a reference's navigation: the first sentence of the proto's comment, or its start.
    expect(object.summary).toMatch(/^\w.{3,71}$/);
    expect(object.description).toMatch(/\w/);
    expect(object.tags).toHaveLength(1);
    expect((object.security as unknown[]).length).toBeGreaterThan(0);
  });

  test("has a success example that its own schema accepts, closed to unknown members", () => {
    for (const [status, response] of responses.filter(([code]) => code < "300")) {
      const body = at(response as Json, "content", "application/json")?.example;
      expect(
        answerFaults(verb, path, { status: Number(status), headers: { "request-id": "r" }, body }),
      ).toEqual([]);
    }
  });

  test("has examples of its failures that the error schema accepts, by status", () => {
    const failures = responses.filter(([code]) => code >= "300");
    expect(failures.map(([code]) => code)).toEqual(
      expect.arrayContaining(["401", "404", "422", "429", "500", "502"]),
    );
    for (const [status, response] of failures) {
      for (const [code, example] of Object.entries(
        at(response as Json, "content", "application/json", "examples") ?? {},
      )) {
        const body = resolve((example as { $ref: string }).$ref).value;
        const headers = headersOf(code);
        expect(answerFaults(verb, path, { status: Number(status), headers, body })).toEqual([]);
        // Each of these headers is documented, and its absence is found.
        for (const name of Object.keys(headers)) {
          const { [name]: _, ...others } = headers;
          const faults = answerFaults(verb, path, {
            status: Number(status),
            headers: others,
            body,
          });
          expect(faults.map((fault) => fault.toLowerCase())).toEqual([`no header ${name}`]);
        }
        expect(refusals[code as keyof typeof refusals].status).toBe(Number(status));
        expect(body).toMatchObject({
          error: { code, type: refusals[code as keyof typeof refusals].type },
        });
      }
    }
  });

  test("has the headers of a bad key, a full minute and an unreachable database", () => {
    const headersAt = (status: string) =>
      Object.keys(at(object, "responses", status, "headers") ?? {});
    expect(headersAt("401")).toEqual(["Request-Id", "WWW-Authenticate"]);
    for (const status of ["429", "502"]) expect(headersAt(status)).toContain("Retry-After");
    expect(at(object, "responses", "502")?.description).toContain("`temporarily_unavailable`");
    const others = ["403", "404", "422", "500"].flatMap(headersAt);
    expect(others.filter((name) => name === "Retry-After" || name === "WWW-Authenticate")).toEqual(
      [],
    );
  });

  test("has a request example that its schema accepts, and refuses an unknown member", () => {
    const content = at(object, "requestBody", "content", "application/json");
    if (content === undefined) return expect(verb).toBe("get");
    const schema = closed(content.schema as Json);
    expect(schemaFaults(schema, content.example)).toEqual([]);
    expect(schemaFaults(schema, { ...(content.example as Json), colour: "red" })).toHaveLength(1);
  });

  test("has field and parameter examples that their own schemas accept", () => {
    for (const schema of schemasIn(object)) {
      for (const example of (schema.examples as unknown[] | undefined) ?? []) {
        expect(schemaFaults(closed(schema), example)).toEqual([]);
      }
    }
  });
});

/** The headers that a refusal with this code cannot be without. */
function headersOf(code: string): Record<string, string> {
  return {
    "request-id": "r",
    ...(code === "invalid_api_key" ? { "www-authenticate": "Bearer" } : {}),
    ...(["rate_limited", "request_in_progress", "temporarily_unavailable"].includes(code)
      ? { "retry-after": "1" }
      : {}),
  };
}

/** Every schema below `value`, through references, that carries examples. */
function schemasIn(value: unknown, seen = new Set<string>()): Json[] {
  if (typeof value !== "object" || value === null) return [];
  const object = value as Json;
  const reference = object.$ref;
  if (typeof reference === "string" && seen.has(reference)) return [];
  const target = typeof reference === "string" ? resolve(reference) : null;
  if (typeof reference === "string") seen.add(reference);
  const own = Array.isArray(object.examples) ? [object] : [];
  return [
    ...own,
    ...[...Object.values(object), target].flatMap((member) => schemasIn(member, seen)),
  ];
}
