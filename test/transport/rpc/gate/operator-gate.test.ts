/** The order in which an operator's request is checked before its body is read (REQUEST-1). */
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../../src/domain/refusal.ts";
import { PlanService } from "../../../../src/gen/proto/billing/admin/v1/catalogue_pb.ts";
import type { AdmittedOperator } from "../../../../src/store/access/operator-tokens.ts";
import {
  generateApiKey,
  generateOperatorToken,
  hashApiKey,
} from "../../../../src/transport/rpc/gate/api-key.ts";
import type { GateHeaders } from "../../../../src/transport/rpc/gate/gate.ts";
import { createOperatorGate } from "../../../../src/transport/rpc/gate/operator-gate.ts";
import { type Operation, operationOf } from "../../../../src/transport/rpc/operation.ts";

const token = generateOperatorToken().value;
const good: GateHeaders = { authorization: `Bearer ${token}`, idempotencyKey: "order-1" };
const createPlan = operationOf(PlanService.method.createPlan);

interface Case {
  readonly operation?: Operation;
  readonly role?: AdmittedOperator["role"] | null;
  readonly headers?: GateHeaders;
}

async function check({ operation = createPlan, role = "admin", headers = good }: Case) {
  const asked: Uint8Array[] = [];
  const gate = createOperatorGate({
    admit: async (hash) => {
      asked.push(hash);
      return role === null
        ? null
        : { operatorId: "operator-1", tokenId: "token-1", name: "Ada", role };
    },
  });
  const response: Record<string, string> = {};
  try {
    const pass = await gate(operation, headers, "request-1", (name, value) => {
      response[name] = value;
    });
    return { pass, refusal: null, response, asked };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { pass: null, refusal: error, response, asked };
  }
}

/** Each fault alone, in the order in which they are checked. */
const faults: readonly [code: string, fault: Case][] = [
  ["invalid_operator_token", { role: null }],
  ["insufficient_role", { role: "read-only" }],
  ["invalid_parameter", { headers: { ...good, idempotencyKey: "a b" } }],
];

describe("the gate of operators", () => {
  test("lets a good request pass with its operator, its key, and no rate", async () => {
    const { pass, response, asked } = await check({});
    expect(pass).toMatchObject({
      requestId: "request-1",
      idempotencyKey: "order-1",
      operation: createPlan,
    });
    expect(pass?.caller).toEqual({
      operatorId: "operator-1",
      tokenId: "token-1",
      name: "Ada",
      role: "admin",
    });
    expect(response).toEqual({});
    expect(asked).toEqual([hashApiKey(token)]);
  });

  test.each(
    faults.flatMap(([code, fault], index) =>
      faults.slice(index + 1).map(([later, other]) => ({ code, fault, later, other })),
    ),
  )("answers $code before $later", async ({ code, fault, other }) => {
    expect((await check({ ...other, ...fault })).refusal?.code).toBe(code);
  });

  test.each([
    undefined,
    "",
    "Bearer",
    token,
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${generateApiKey(true).value}`,
    [`Bearer ${token}`],
  ])("refuses the authorization %j without asking the database", async (authorization) => {
    const { refusal, response, asked } = await check({ headers: { ...good, authorization } });
    expect(refusal?.code).toBe("invalid_operator_token");
    expect(asked).toHaveLength(0);
    expect(response["WWW-Authenticate"]).toBe("Bearer");
  });

  test.each([
    ["read-only", ["read-only"]],
    ["admin", ["read-only", "admin"]],
    ["owner", ["read-only", "admin", "owner"]],
  ] as const)("lets %s do what its role and those below may", async (role, allowed) => {
    for (const scope of ["read-only", "admin", "owner"] as const) {
      const { pass } = await check({ role, operation: { ...createPlan, scope } });
      expect([scope, pass !== null]).toEqual([
        scope,
        (allowed as readonly string[]).includes(scope),
      ]);
    }
  });

  test.each([
    null,
    "subscriptions:write",
    "root",
  ])("lets no operator do what needs %j", async (scope) => {
    const { refusal } = await check({ role: "owner", operation: { ...createPlan, scope } });
    expect(refusal?.code).toBe("insufficient_role");
  });
});
