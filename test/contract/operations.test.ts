/**
 * The contract has the operations of the specification, with its paths, scopes and idempotency
 * rules.
 */
import { join } from "node:path";
import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";
import { describe, expect, test } from "vitest";
import { describedOperation } from "../../tools/openapi/described-operation.ts";
import { contractRegistry } from "../../tools/openapi/write.ts";
import { at, document } from "./answer-check.ts";
import { adminMethods, methods } from "./methods.ts";

/**
 * The operations of the public API with their scopes. `null`: any valid key. ACCESS-3, ACCESS-4.
 */
const specified: Readonly<Record<string, string | null>> = {
  "GET /v1/organisation": null,
  "GET /v1/customers": "customers:read",
  "GET /v1/customers/{id}": "customers:read",
  "POST /v1/customers": "customers:write",
  "GET /v1/plans": "catalogue:read",
  "GET /v1/plans/{id}": "catalogue:read",
  "GET /v1/charges": "catalogue:read",
  "GET /v1/charges/{id}": "catalogue:read",
  "GET /v1/subscriptions": "subscriptions:read",
  "GET /v1/subscriptions/{id}": "subscriptions:read",
  "POST /v1/subscriptions": "subscriptions:write",
  "POST /v1/subscriptions/{id}/units": "subscriptions:write",
  "POST /v1/subscriptions/{id}/end": "subscriptions:write",
  "POST /v1/subscriptions/{id}/restore": "subscriptions:write",
  "GET /v1/invoices": "invoices:read",
  "GET /v1/invoices/{id}": "invoices:read",
  "GET /v1/credit_notes": "credit_notes:read",
  "GET /v1/credit_notes/{id}": "credit_notes:read",
  "POST /v1/usage_events": "usage:write",
};

/** Added to them, each with its scope, or those of which a key needs one. ACCESS-10, PREVIEW-6. */
const readers = ["customers:read", "subscriptions:read", "invoices:read", "credit_notes:read"];
const added: Readonly<Record<string, string | readonly string[]>> = {
  "GET /v1/events": readers,
  "GET /v1/events/{id}": readers,
  "GET /v1/subscriptions/{id}/usage": "subscriptions:read",
  "GET /v1/usage_events/{event_id}": "subscriptions:read",
  "GET /v1/plans/{id}/meters": "catalogue:read",
  "GET /v1/subscriptions/{id}/unit_changes": "subscriptions:read",
  "GET /v1/subscriptions/{id}/periods": "subscriptions:read",
  "GET /v1/subscriptions/{id}/usage_bills": "subscriptions:read",
  "GET /v1/invoices/{id}/explanation": "invoices:read",
  "GET /v1/credit_notes/{id}/explanation": "credit_notes:read",
  "POST /v1/subscriptions/preview": "subscriptions:read",
  "POST /v1/subscriptions/{id}/units/preview": "subscriptions:read",
  "POST /v1/subscriptions/{id}/end/preview": "subscriptions:read",
  "POST /v1/subscriptions/{id}/restore/preview": "subscriptions:read",
  "GET /v1/subscriptions/{id}/upcoming_invoice": "subscriptions:read",
};

const shapes = methods.map((method) => ({ method, shape: describedOperation(method) }));

describe("the contract", () => {
  test("is tested whole: every service of every proto file is in the list of methods", () => {
    const listed = new Set([...methods, ...adminMethods].map(({ parent }) => parent.typeName));
    const defined = [...contractRegistry(join(import.meta.dirname, "../.."))]
      .filter(({ kind }) => kind === "service")
      .map(({ typeName }) => typeName)
      .filter((name) => name.startsWith("billing."));
    expect(defined.length).toBeGreaterThan(10);
    expect(defined.filter((name) => !listed.has(name))).toEqual([]);
  });

  test("has the specification's operations and the added ones, each with its scopes", () => {
    const actual = shapes.map(({ shape }) => [
      `${shape?.http.verb} ${shape?.http.path}`,
      shape?.anyScope.length === 0 ? shape.scope : shape?.anyScope,
    ]);
    expect(Object.fromEntries(actual)).toEqual({ ...specified, ...added });
  });

  test("shows the scope of every built operation in the OpenAPI document", () => {
    const built = shapes.flatMap(({ shape }) => (shape === null ? [] : [shape]));
    expect(built.length).toBeGreaterThan(0);
    for (const { http, scope, anyScope } of built) {
      const operation = at(document, "paths", http.path, http.verb.toLowerCase());
      const scopes = anyScope.length === 0 ? [scope] : anyScope;
      const security = scopes.map((one) => ({ apiKey: one === null ? [] : [one] }));
      expect(operation?.security).toEqual(security);
      for (const one of scopes)
        expect(operation?.description).toContain(one === null ? "Any valid key" : `\`${one}\``);
    }
  });

  test("takes an idempotency key on every POST that writes, required for a subscription", () => {
    for (const { shape } of shapes) {
      if (shape?.http.path.endsWith("/preview")) {
        expect([shape.http.path, shape.idempotencyKey]).toEqual([shape.http.path, "none"]);
        continue;
      }
      const required = shape?.http.verb === "POST" && shape.http.path === "/v1/subscriptions";
      const expected = required ? "required" : shape?.http.verb === "POST" ? "optional" : "none";
      expect([shape?.http.path, shape?.idempotencyKey]).toEqual([shape?.http.path, expected]);
    }
  });

  test("answers 201 to creations, 207 to partly rejected usage, and 200 to the rest", () => {
    const created = shapes
      .filter(({ shape }) => shape?.successStatus === 201)
      .map(({ shape }) => shape?.http.path);
    const partial = shapes
      .filter(({ shape }) => shape?.partialStatus !== null)
      .map(({ shape }) => shape?.http.path);
    expect(created).toEqual(["/v1/customers", "/v1/subscriptions"]);
    expect(partial).toEqual(["/v1/usage_events"]);
    expect(
      shapes.every(({ shape }) => shape?.successStatus === 200 || shape?.successStatus === 201),
    ).toBe(true);
  });

  test("previews each operation on a subscription by the request of that operation", () => {
    const inputs = new Map(methods.map(({ name, input }) => [name, input.typeName]));
    const previews = methods.filter(({ name }) => name.startsWith("Preview"));
    expect(previews.map(({ name }) => name)).toHaveLength(4);
    for (const { name, input } of previews)
      expect([name, input.typeName]).toEqual([name, inputs.get(name.slice("Preview".length))]);
  });

  test("names for a preview the refusals of its operation, except those of the ledger", () => {
    const refusalsOf = new Map(shapes.map(({ method, shape }) => [method.name, shape?.refusals]));
    for (const [name, refusals] of refusalsOf) {
      if (!name.startsWith("Preview")) continue;
      const real = refusalsOf.get(name.slice("Preview".length)) ?? [];
      const own = real.filter((code) => code !== "ledger_unavailable");
      expect([name, refusals]).toEqual([name, own]);
    }
  });

  test("takes an absent body as an empty one only for a restoration and its preview", () => {
    const optional = shapes
      .filter(({ shape }) => shape?.bodyOptional)
      .map(({ method }) => method.name);
    expect(optional).toEqual(["RestoreSubscription", "PreviewRestoreSubscription"]);
  });

  test("has a comment on every service, method, message, field, enum and enum value", () => {
    const registry = contractRegistry(join(import.meta.dirname, "../.."));
    const own = [...registry].filter(({ typeName }) => typeName.startsWith("billing."));
    const elements = own.flatMap((type): Exclude<AnyDesc, DescFile>[] => {
      if (type.kind === "message") return [type, ...type.fields];
      if (type.kind === "enum") return [type, ...type.values];
      return type.kind === "service" ? [type, ...type.methods] : [type];
    });
    expect(elements.length).toBeGreaterThan(100);
    expect(elements.filter((element) => !getComments(element).leading?.trim()).map(String)).toEqual(
      [],
    );
  });
});
