/** Refusals over every protocol: the same codes, and the same params. REQUEST-13. */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { describedOperation } from "../../tools/openapi/described-operation.ts";
import type { Answered } from "../support/system.ts";
import type { Ask } from "./checked-ask.ts";
import { operations, protocols } from "./procedures.ts";
import { protocolsTest as test } from "./protocols-fixture.ts";
import { usageEvent } from "./usage-builder.ts";

const rateHeaders = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"];

/** The requests that both sides must refuse: method, request, code, Connect code, param. */
const refusals: [string, string, Record<string, unknown>, string, string, string | null][] = [
  ["an unknown id", "GetPlan", { id: randomUUID() }, "plan_not_found", "NotFound", null],
  ["an id that is none", "GetInvoice", { id: "none" }, "invoice_not_found", "NotFound", null],
  [
    "an unknown customer",
    "CreateSubscription",
    { customer_code: "X" },
    "customer_not_found",
    "NotFound",
    "customer_code",
  ],
  [
    "too few units",
    "CreateSubscription",
    { units: 0 },
    "units_below_minimum",
    "InvalidArgument",
    "units",
  ],
  [
    "negative units",
    "CreateSubscription",
    { units: -1 },
    "invalid_parameter",
    "InvalidArgument",
    "units",
  ],
  [
    "a bad decimal",
    "CreateSubscription",
    { price: "1e3" },
    "invalid_parameter",
    "InvalidArgument",
    "price",
  ],
  [
    "a fault below",
    "CreateSubscription",
    { charges: [{ charge_code: "onboarding", quantity: 0 }] },
    "invalid_parameter",
    "InvalidArgument",
    "charges.0.quantity",
  ],
  [
    "a date without prorate",
    "ChangeUnits",
    { effective_date: "2026-04-16" },
    "invalid_parameter",
    "InvalidArgument",
    "effective_date",
  ],
  [
    "a code that is taken",
    "CreateCustomer",
    { code: "ACME" },
    "customer_code_taken",
    "Aborted",
    "code",
  ],
  [
    "a quantity of zero",
    "ReportUsage",
    { events: [usageEvent("none", "2026-05-09T10:00:00Z", { quantity: "0" })] },
    "invalid_parameter",
    "InvalidArgument",
    "events.0.quantity",
  ],
  [
    "a limit out of range",
    "ListPlans",
    { limit: 101 },
    "invalid_parameter",
    "InvalidArgument",
    "limit",
  ],
];

let requested = 0;

function overRest(
  ask: Ask,
  own: CreatedOrganisation,
  name: string,
  request: Record<string, unknown>,
): Promise<Answered> {
  const operation = operations.get(name);
  const http = operation && describedOperation(operation.method)?.http;
  const path = (http?.path ?? "").replace("{id}", String(request.id));
  const idempotencyKey = `refused-${++requested}`;
  const { id: _, ...others } = request;
  if (http?.verb !== "GET")
    return ask("POST", path, { key: own.apiKey, idempotencyKey, body: others });
  const pairs = Object.entries(others).map(([field, value]): [string, string] => [
    field,
    String(value),
  ]);
  return ask("GET", pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`, {
    key: own.apiKey,
  });
}

describe("every protocol refuses alike", () => {
  const defaults: Record<string, Record<string, unknown>> = {
    CreateSubscription: { customer_code: "ACME", plan_code: "team", units: 1 },
    CreateCustomer: { name: "Refused Ltd", email: "a@b.example" },
    ChangeUnits: { id: randomUUID(), units: 1 },
  };
  const camel = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(camel);
    if (typeof value !== "object" || value === null) return value;
    const named = Object.entries(value).map(([name, member]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camel(member),
    ]);
    return Object.fromEntries(named);
  };

  test.for(refusals)("%s", async ([_, name, changes, code, connectCode, param], {
    ask,
    call,
    own,
  }) => {
    const request: Record<string, unknown> = { ...defaults[name], ...changes };
    const { status, json } = await overRest(ask, own, name, request);
    expect(status).toBeGreaterThanOrEqual(400);
    expect([json.error.code, json.error.param ?? null]).toEqual([code, param]);
    for (const protocol of protocols) {
      const headers = { "Idempotency-Key": `refused-${++requested}` };
      const called = await call(protocol, name, camel(request) as Record<string, unknown>, {
        key: own.apiKey,
        headers,
      });
      expect({ protocol, code: called.code }).toEqual({ protocol, code: connectCode });
      expect(called.detail).toMatchObject({
        type: json.error.type,
        code,
        requestId: called.headers.get("Request-Id"),
      });
      expect([protocol, called.detail?.param ?? null]).toEqual([protocol, param]);
      for (const header of rateHeaders) expect(called.headers.get(header)).toMatch(/^\d+$/);
    }
  });

  test("a missing or wrong key, Idempotency-Key, and a forbidden creation", async ({
    system,
    call,
    own,
  }) => {
    const closed = await system.organisation({}, { can_create_ledger_contacts: false });
    const good = { customerCode: "ACME", planCode: "team", units: 1 };
    const cases: [string, Record<string, string>, string | undefined, string, string][] = [
      ["CreateSubscription", {}, undefined, "Unauthenticated", "invalid_api_key"],
      ["CreateSubscription", {}, "sk_live_no", "Unauthenticated", "invalid_api_key"],
      ["CreateSubscription", {}, own.apiKey, "InvalidArgument", "idempotency_key_required"],
      [
        "CreateSubscription",
        { "Idempotency-Key": "a b" },
        own.apiKey,
        "InvalidArgument",
        "invalid_parameter",
      ],
      ["CreateCustomer", {}, closed.apiKey, "PermissionDenied", "insufficient_scope"],
    ];
    for (const [name, headers, key, connectCode, code] of cases) {
      for (const protocol of protocols) {
        const called = await call(protocol, name, good, { key, headers });
        expect([protocol, called.code, called.detail?.code]).toEqual([protocol, connectCode, code]);
        expect(called.headers.get("Request-Id")).toBe(called.detail?.requestId);
        expect(called.headers.has("RateLimit-Limit")).toBe(code !== "invalid_api_key");
      }
    }
  });
});
