/**
 * REST, Connect in JSON and binary, gRPC-Web and gRPC on one port: the same answers, the same
 * refusals, the same keys.
 */
import { randomUUID } from "node:crypto";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect } from "vitest";
import { allScopes } from "../../packages/dev/src/demo/first-data.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../src/gen/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../src/gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { describedOperation } from "../../tools/openapi/described-operation.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { operations, protocols, transportsTo } from "./procedures.ts";
import { protocolsTest as test } from "./protocols-fixture.ts";

const rateHeaders = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];

/**
 * A procedure's answer in the form of REST: enum values as words, unset members left out, the
 * resource bare.
 */
function restForm(message: unknown): unknown {
  const shape = bare(message) as Record<string, object>;
  const { subscription, invoice, change, ...rest } = shape;
  const effects = {
    ...(invoice === undefined ? {} : { invoice }),
    ...(change === undefined ? {} : { change }),
  };
  if (subscription !== undefined) return { ...subscription, ...effects };
  const [only] = Object.values({ ...rest, ...(invoice === undefined ? {} : { invoice }) });
  if ("data" in shape) return shape;
  // REST answers the body of an event too, and does not show it as a member.
  const { body: _, ...members } = only as Record<string, unknown>;
  return members;
}

function bare(value: unknown): unknown {
  if (typeof value === "string") {
    const word = /^(?:[A-Z]+_)*(?:STATUS|TYPE|KIND|STATE|BILLING|ASSUMPTION)_([A-Z_]+)$/.exec(
      value,
    )?.[1];
    return word === undefined ? value : word.toLowerCase();
  }
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  // A message has no empty list either, unlike an explanation over REST, which answers its body.
  const members = Object.entries(value).filter(
    ([name, of]) =>
      of !== null &&
      (name === "data" || !Array.isArray(of) || of.length > 0) &&
      !(name === "body" && "available" in value),
  );
  return Object.fromEntries(members.map(([name, member]) => [name, bare(member)]));
}

/** The last day before a date. */
function dayBefore(date: string): string {
  return new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10);
}

type Body = Record<string, unknown>;

/** The requests of previews: over REST, and over the other protocols. */
const previewed: Readonly<Record<string, { readonly body?: Body; readonly message: Body }>> = {
  PreviewCreateSubscription: {
    body: { customer_code: "ACME", plan_code: "team", units: 2 },
    message: { customerCode: "ACME", planCode: "team", units: 2 },
  },
  PreviewChangeUnits: { body: { units: 30 }, message: { units: 30 } },
  PreviewEndSubscription: { body: { when: "now" }, message: { when: 2 } },
  PreviewRestoreSubscription: { body: {}, message: {} },
};

/** What would be created has the time of its preview. */
function withoutInstant(shown: unknown): unknown {
  const { subscription, ...rest } = shown as { readonly subscription?: unknown };
  if (typeof subscription !== "object" || subscription === null) return shown;
  return { ...rest, subscription: { ...subscription, created: "" } };
}

// Events come meanwhile, so `events.system.test.ts` compares their list.
const reads = [...operations.values()].filter(
  ({ idempotencyKey, method }) => idempotencyKey === "none" && method.name !== "ListEvents",
);

describe.each(protocols)("over %s", (protocol) => {
  test.for(reads.map(({ method }) => method.name))("%s answers the same as REST", async (name, {
    ask,
    call,
    own,
    ids,
  }) => {
    const operation = operations.get(name);
    const path = (operation && describedOperation(operation.method)?.http.path) ?? "";
    const id = ids[name] ?? "";
    const { body, message } = previewed[name] ?? { message: {} };
    const verb = name.startsWith("Preview") ? "POST" : "GET";
    const request = path.includes("{event_id}")
      ? { eventId: id }
      : path.includes("{")
        ? { ...message, id }
        : message;
    const [rest, called] = await Promise.all([
      ask(verb, path.replace(/\{\w+\}/, id), { key: own.apiKey, body }),
      call(protocol, name, request, { key: own.apiKey }),
    ]);
    expect([rest.status, called.code], rest.text).toEqual([200, null]);
    expect(withoutInstant(restForm(called.message))).toEqual(withoutInstant(bare(rest.json)));
    expect(called.headers.get("Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
    for (const header of rateHeaders) expect(called.headers.get(header)).toMatch(/^\d+$/);
  });

  test("a subscription becomes an invoice in the ledger", async ({ system, call, own }) => {
    const headers = { "Idempotency-Key": `new ${protocol}`.replaceAll(" ", "-") };
    const request = { customerCode: "ACME", planCode: "team", units: 10 };
    const { code, message } = await call(protocol, "CreateSubscription", request, {
      key: own.apiKey,
      headers,
    });
    expect(code).toBeNull();
    const { invoice } = restForm(message) as { invoice: { number: string } };
    expect(invoice).toMatchObject({
      subtotal: "125.0000",
      total: "150.0000",
      ledger: { sync_status: "synced" },
    });
    expect(await system.ledgerInvoices(own.tenantId)).toContainEqual({
      number: invoice.number,
      status: "DRAFT",
    });
  });

  test("a key used over REST replays, and one used here replays over REST", async ({
    ask,
    call,
    own,
  }) => {
    const name = protocol.replaceAll(" ", "-");
    const body = {
      customer_code: "ACME",
      plan_code: "team",
      units: 1,
      charges: [{ charge_code: "hardware-key" }],
    };
    const request = {
      customerCode: "ACME",
      planCode: "team",
      units: 1,
      charges: [{ chargeCode: "hardware-key" }],
    };
    const here = (key: string) =>
      call(protocol, "CreateSubscription", request, {
        key: own.apiKey,
        headers: { "Idempotency-Key": key },
      });
    const rest = (key: string) =>
      ask("POST", "/v1/subscriptions", { key: own.apiKey, idempotencyKey: key, body });
    const first = await rest(`rest-first-${name}`);
    const replayed = await here(`rest-first-${name}`);
    expect(replayed.headers.get("Idempotent-Replayed")).toBe("true");
    expect(restForm(replayed.message)).toEqual(bare(first.json));
    const created = await here(`here-first-${name}`);
    expect(created.headers.get("Idempotent-Replayed")).toBeNull();
    const again = await rest(`here-first-${name}`);
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([201, "true"]);
    expect(bare(again.json)).toEqual(restForm(created.message));
    const other = { key: own.apiKey, headers: { "Idempotency-Key": `here-first-${name}` } };
    const conflict = await call(protocol, "CreateSubscription", { ...request, units: 2 }, other);
    expect([conflict.code, conflict.detail?.code]).toEqual(["Aborted", "idempotency_conflict"]);
  });

  test("units are changed as over REST, and a key of one side replays on the other", async ({
    ask,
    call,
    own,
  }) => {
    const requested = { customer_code: "ACME", plan_code: "team", units: 10 };
    const name = protocol.replaceAll(" ", "-");
    const one = { key: own.apiKey, idempotencyKey: `units-of-${name}`, body: requested };
    const { id, renewal_date } = (await ask("POST", "/v1/subscriptions", one)).json;
    const body = {
      units: 12,
      prorate: true,
      effective_date: dayBefore(renewal_date),
      proration_behaviour: "charge_on_renewal",
    };
    const request = {
      id,
      units: 12,
      prorate: true,
      effectiveDate: body.effective_date,
      prorationBehaviour: 2,
    };
    const here = { key: own.apiKey, headers: { "Idempotency-Key": `change-${name}` } };
    const created = await call(protocol, "ChangeUnits", request, here);
    expect([created.code, created.headers.get("Idempotent-Replayed")]).toEqual([null, null]);
    expect(restForm(created.message)).toMatchObject({
      id,
      units: 12,
      renewal_value: "150.0000",
      change: { units: 12, deferred_to_renewal: true },
    });
    const path = `/v1/subscriptions/${id}/units`;
    const rest = await ask("POST", path, {
      key: own.apiKey,
      idempotencyKey: `change-${name}`,
      body,
    });
    expect([rest.status, rest.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
    expect(bare(rest.json)).toEqual(restForm(created.message));
    const lower = { key: own.apiKey, idempotencyKey: `lower-${name}`, body: { units: 11 } };
    const first = await ask("POST", path, lower);
    const replayed = await call(
      protocol,
      "ChangeUnits",
      { id, units: 11 },
      { key: own.apiKey, headers: { "Idempotency-Key": `lower-${name}` } },
    );
    expect(replayed.headers.get("Idempotent-Replayed")).toBe("true");
    expect(restForm(replayed.message)).toEqual(bare(first.json));
  });

  test("health reports the process and each service as serving, without a key", async ({
    system,
  }) => {
    const health = createClient(Health, transportsTo(system.baseUrl)[protocol]);
    for (const service of [
      "",
      ...new Set([...operations.values()].map(({ method }) => method.parent.typeName)),
    ]) {
      expect((await health.check({ service })).status).toBe(Serving.SERVING);
    }
    const unknown = await health
      .check({ service: "billing.v2.PlanService" })
      .then(() => null, ConnectError.from);
    expect(unknown?.code).toBe(Code.NotFound);
  });
});

test("reflection lists every service of the contract over gRPC without a key", async ({
  system,
}) => {
  const client = createClient(ServerReflection, transportsTo(system.baseUrl).gRPC);
  const question = { host: "", messageRequest: { case: "listServices" as const, value: "" } };
  const names: string[] = [];
  for await (const answer of client.serverReflectionInfo(once(question))) {
    if (answer.messageResponse.case !== "listServicesResponse") continue;
    names.push(...answer.messageResponse.value.service.map(({ name }) => name));
  }
  for (const { method } of operations.values()) expect(names).toContain(method.parent.typeName);
  expect(names).toContain("grpc.health.v1.Health");
});

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}

describe("an API key", () => {
  test.for([
    ...allScopes,
    "none",
  ])("with the scope %s alone may do what that allows, over REST and over gRPC", async (scope, {
    system,
    ask,
    call,
    own,
  }) => {
    const { value } = await addApiKey(
      system.pool,
      own.organisationId,
      scope === "none" ? [] : [scope],
    );
    for (const { method, scope: needed, anyScope } of operations.values()) {
      const http = describedOperation(method)?.http;
      const path = (http?.path ?? "").replace(/\{\w+\}/, randomUUID());
      const body = http?.verb === "POST" ? { body: {} } : {};
      const rest = await ask(http?.verb ?? "", path, { key: value, idempotencyKey: "x", ...body });
      const grpc = await call(
        "gRPC",
        method.name,
        {},
        { key: value, headers: { "Idempotency-Key": "x" } },
      );
      const seen = [
        method.name,
        rest.json.error?.code === "insufficient_scope",
        grpc.code === "PermissionDenied",
      ];
      const sufficing = needed === null ? anyScope : [needed];
      const isForbidden = sufficing.length > 0 && !sufficing.includes(scope);
      expect(seen).toEqual([method.name, isForbidden, isForbidden]);
      expect(rest.status === 403).toBe(isForbidden);
    }
  });
});
