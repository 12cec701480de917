/**
 * Operators over the wire: roles, tokens, idempotency, the audit log, and the isolation of the
 * admin API from the public API. ADMIN-1, ADMIN-2
 */
import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect } from "vitest";
import {
  ServerReflection,
  ServerReflectionRequestSchema,
} from "../../../src/gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { createFirstOperator } from "../../../src/store/admin/first-operator.ts";
import { generateOperatorToken } from "../../../src/transport/rpc/gate/api-key.ts";
import { operationOf } from "../../../src/transport/rpc/operation.ts";
import { adminMethods } from "../../contract/methods.ts";
import { perFile } from "../../support/file-fixture.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { aloneAdminTest } from "./fixtures.ts";
import { askWith, codeOf } from "./request.ts";

const firstToken = generateOperatorToken();

const test = aloneAdminTest.extend("admin", perFile, async ({ system }) => {
  expect(await createFirstOperator(system.pool, "Olga", firstToken)).toBe(true);
  return askWith(system, firstToken.value);
});

test("the first operator is created once, is an owner, and is in the audit log", async ({
  system,
  admin,
}) => {
  const late = await Promise.all(
    [1, 2].map(() => createFirstOperator(system.pool, "Late", generateOperatorToken())),
  );
  expect(late).toEqual([false, false]);
  const { operator, token } = await admin.done("OperatorService/GetCurrentOperator");
  expect(operator).toMatchObject({ name: "Olga", role: "OPERATOR_ROLE_OWNER", active: true });
  expect(token).toMatchObject({
    operator: operator.id,
    redactedValue: firstToken.hint,
    status: "CREDENTIAL_STATUS_ACTIVE",
  });
  const { data } = await admin.done("AuditService/ListAuditEntries", { target: operator.id });
  expect(data).toMatchObject([
    { operatorName: "the server's machine", targetKind: "operator", operation: "create-first" },
  ]);
});

test("every method refuses a missing token, a public key and a low role", async ({
  system,
  made,
}) => {
  const readOnly = await system.operator("read-only");
  const plain = await system.operator("admin");
  for (const method of adminMethods) {
    const { scope, name } = operationOf(method);
    const ask = async (key?: string) =>
      system.askAdmin(`/${name}`, {
        ...(key === undefined ? {} : { key }),
        body: { noSuchField: true },
      });
    const none = await ask();
    expect([name, none.status, codeOf(none)]).toEqual([name, 401, "invalid_operator_token"]);
    expect([name, codeOf(await ask(made.apiKey))]).toEqual([name, "invalid_operator_token"]);
    const passed = "invalid_parameter noSuchField";
    expect([name, codeOf(await ask(readOnly))]).toEqual([
      name,
      scope === "read-only" ? passed : "insufficient_role",
    ]);
    expect([name, codeOf(await ask(plain))]).toEqual([
      name,
      scope === "owner" ? "insufficient_role" : passed,
    ]);
    expect([name, codeOf(await ask(firstToken.value))]).toEqual([name, passed]);
  }
});

test("the public API refuses an operator's token and admin services", async ({ system, made }) => {
  const publicly = await system.ask("GET", "/v1/plans", { key: firstToken.value });
  expect([publicly.status, publicly.json.error.code]).toEqual([401, "invalid_api_key"]);
  const rest = await fetch(`${system.adminUrl}/v1/plans`, {
    headers: { Authorization: `Bearer ${firstToken.value}` },
  });
  expect(rest.status).toBe(404);
  expect(await rest.json()).toMatchObject({ error: { code: "unknown_endpoint" } });
  expect((await fetch(`${system.adminUrl}/v1/openapi.json`)).status).toBe(404);
  const here = await system.askAdmin("/billing.v1.PlanService/ListPlans", { key: made.apiKey });
  expect(here.status).toBe(404);
  const there = await system.ask("POST", "/billing.admin.v1.PlanService/ListPlans", {
    key: firstToken.value,
    body: {},
  });
  expect(there.status).toBe(404);
  expect((await fetch(`${system.adminUrl}/readyz`)).status).toBe(200);
});

test("each port shows its own services by reflection, and health without a token", async ({
  system,
}) => {
  const servicesAt = async (baseUrl: string): Promise<readonly string[]> => {
    const client = createClient(ServerReflection, createGrpcTransport({ baseUrl }));
    const question = create(ServerReflectionRequestSchema, {
      messageRequest: { case: "listServices", value: "" },
    });
    for await (const { messageResponse } of client.serverReflectionInfo(once(question))) {
      if (messageResponse.case === "listServicesResponse")
        return messageResponse.value.service.map(({ name }) => name);
    }
    return [];
  };
  const own = (await servicesAt(system.adminUrl)).filter((name) => name.startsWith("billing."));
  expect(own.sort()).toEqual(
    [...new Set(adminMethods.map(({ parent }) => parent.typeName))].sort(),
  );
  const publicly = await servicesAt(system.baseUrl);
  expect(publicly).toContain("billing.v1.PlanService");
  expect(publicly.filter((name) => name.startsWith("billing.admin."))).toEqual([]);
  const health = await system.askAdmin("/grpc.health.v1.Health/Check", {
    body: { service: own[0] },
  });
  expect([health.status, health.json]).toEqual([200, { status: "SERVING" }]);
});

test("operators and tokens are created, listed, and refused once revoked", async ({
  system,
  admin,
}) => {
  const create = { name: "Ada", role: "OPERATOR_ROLE_ADMIN" };
  const { operator } = await admin.done("OperatorService/CreateOperator", create);
  expect(operator).toMatchObject({ ...create, active: true });
  const request = { operator: operator.id, name: "Laptop", expiresAt: "2199-01-01T00:00:00Z" };
  const made = await admin.done("OperatorService/CreateOperatorToken", request, {
    idempotencyKey: "token-1",
  });
  expect(made.value).toMatch(/^op_[0-9A-Za-z]{49}$/);
  const replay = await system.askAdmin("OperatorService/CreateOperatorToken", {
    key: firstToken.value,
    idempotencyKey: "token-1",
    body: request,
  });
  expect(replay.headers.get("idempotent-replayed")).toBe("true");
  expect(replay.json).toEqual({ token: made.token });
  const ada = askWith(system, made.value);
  expect((await ada.done("OperatorService/GetCurrentOperator")).operator).toEqual(operator);
  expect(await ada.refused("OperatorService/ListOperators")).toBe("insufficient_role");
  const { data: tokens } = await admin.done("OperatorService/ListOperatorTokens", {
    operator: operator.id,
  });
  expect(tokens).toEqual([{ ...made.token, lastUsedAt: expect.any(String) }]);
  await admin.done("OperatorService/UpdateOperator", { id: operator.id, active: false });
  expect(await ada.refused("OperatorService/GetCurrentOperator")).toBe("invalid_operator_token");
  expect(await admin.refused("OperatorService/CreateOperatorToken", request)).toBe("invalid_state");
  await admin.done("OperatorService/UpdateOperator", {
    id: operator.id,
    active: true,
    role: "OPERATOR_ROLE_READ_ONLY",
  });
  expect(await admin.lastEntry()).toMatchObject({
    before: { active: false, role: "admin" },
    after: { role: "read-only" },
  });
  expect(await ada.refused("PlanService/CreatePlan")).toBe("insufficient_role");
  const { token } = await admin.done("OperatorService/RevokeOperatorToken", { id: made.token.id });
  expect(token.status).toBe("CREDENTIAL_STATUS_REVOKED");
  expect(await ada.refused("OperatorService/GetCurrentOperator")).toBe("invalid_operator_token");
  const { data } = await admin.done("OperatorService/ListOperators", { limit: 1 });
  expect(data).toMatchObject([{ id: operator.id }]);
});

test("operators are refused with the parameter at fault, and the last owner stays", async ({
  admin,
}) => {
  expect(await admin.refused("OperatorService/CreateOperator", { name: "X" })).toBe(
    "invalid_parameter role",
  );
  const unknown = { id: randomUUID() };
  expect(await admin.refused("OperatorService/UpdateOperator", unknown)).toBe("operator_not_found");
  expect(await admin.refused("OperatorService/RevokeOperatorToken", unknown)).toBe(
    "operator_token_not_found",
  );
  const token = { operator: randomUUID(), name: "T" };
  expect(await admin.refused("OperatorService/CreateOperatorToken", token)).toBe(
    "operator_not_found",
  );
  expect(await admin.refused("OperatorService/ListOperatorTokens", { operator: "x" })).toBe(
    "operator_not_found",
  );
  const { operator } = await admin.done("OperatorService/GetCurrentOperator");
  expect(
    await admin.refused("OperatorService/UpdateOperator", { id: operator.id, active: false }),
  ).toBe("invalid_state");
  const demoted = { id: operator.id, role: "OPERATOR_ROLE_ADMIN" };
  expect(await admin.refused("OperatorService/UpdateOperator", demoted)).toBe("invalid_state");
});

test("an Idempotency-Key creates one object and replays its bytes", async ({ system, admin }) => {
  const asked = { key: firstToken.value, idempotencyKey: "org-1" };
  const body = { name: "Once Ltd", timezone: "Europe/Paris", defaultCurrency: "EUR" };
  const first = await system.askAdmin("OrganisationService/CreateOrganisation", { ...asked, body });
  const second = await system.askAdmin("OrganisationService/CreateOrganisation", {
    ...asked,
    body,
  });
  expect([second.status, second.text, second.headers.get("idempotent-replayed")]).toEqual([
    200,
    first.text,
    "true",
  ]);
  const other = { ...body, name: "Other" };
  expect(await admin.refused("OrganisationService/CreateOrganisation", other, asked)).toBe(
    "idempotency_conflict Idempotency-Key",
  );
  // After 24 hours the key is deleted, but a repeat finds the object that it created.
  await tables(system.pool).idempotencyKey.deleteMany();
  const third = await system.askAdmin("OrganisationService/CreateOrganisation", { ...asked, body });
  expect([third.status, third.text]).toEqual([200, first.text]);
  await tables(system.pool).idempotencyKey.deleteMany();
  expect(await admin.refused("OrganisationService/CreateOrganisation", other, asked)).toBe(
    "idempotency_conflict Idempotency-Key",
  );
  const { data } = await admin.done("AuditService/ListAuditEntries", {
    organisation: first.json.organisation.id,
  });
  expect(data).toHaveLength(1);
});

test("the audit log is listed in pages with filters, and cannot be changed", async ({
  system,
  admin,
  made,
}) => {
  for (const name of ["One", "Two", "Three"]) {
    await admin.done("OrganisationService/UpdateOrganisation", { id: made.organisationId, name });
  }
  const list = (more: object) =>
    admin.done("AuditService/ListAuditEntries", { organisation: made.organisationId, ...more });
  const page = await list({ limit: 2 });
  expect(page).toMatchObject({
    data: [{ after: { name: "Three" } }, { after: { name: "Two" } }],
    hasMore: true,
  });
  const rest = await list({ startingAfter: page.data[1].id });
  expect(rest).toMatchObject({ data: [{ before: { name: "Northwind" }, after: { name: "One" } }] });
  expect(rest.hasMore).toBeUndefined();
  expect(page.data[0].requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(await list({ operator: randomUUID() })).toEqual({});
  const wrong = { startingAfter: randomUUID() };
  expect(await admin.refused("AuditService/ListAuditEntries", wrong)).toBe(
    "invalid_parameter starting_after",
  );
  for (const text of [
    "UPDATE audit_log SET operator_name = 'x'",
    "DELETE FROM audit_log",
    "TRUNCATE audit_log",
  ]) {
    await expect(system.pool.query(text)).rejects.toThrow("the audit log is only ever added to");
  }
});

test("a retry runs a pending document, and replaces a taken number", async ({
  system,
  admin,
  made,
}) => {
  const own = { organisation: made.organisationId };
  await system.stopLedger();
  const body = { customer_code: "ACME", plan_code: "site" };
  const created = await system.ask("POST", "/v1/subscriptions", {
    key: made.apiKey,
    idempotencyKey: "wait",
    body,
  });
  expect(created.json.invoice.status).toBe("scheduled");
  const { data } = await admin.done("DocumentService/ListDocuments", {
    ...own,
    state: "DOCUMENT_STATE_WAITING",
  });
  expect(data).toMatchObject([
    {
      id: created.json.invoice.id,
      state: "DOCUMENT_STATE_WAITING",
      status: "DOCUMENT_STATUS_SCHEDULED",
    },
  ]);
  await system.startLedger();
  const at = { ...own, id: created.json.invoice.id };
  await admin.done("DocumentService/RetryDocument", at);
  await until("the document is in the ledger", async () => {
    const { document } = await admin.done("DocumentService/GetDocument", at);
    return document.state === "DOCUMENT_STATE_SYNCED";
  });
  expect(await admin.refused("DocumentService/RetryDocument", at)).toBe("invalid_state");
  expect(await admin.refused("DocumentService/RetryDocument", { ...own, id: randomUUID() })).toBe(
    "invoice_not_found",
  );
  const other = await system.organisation();
  expect(
    await admin.refused("DocumentService/GetDocument", {
      ...at,
      organisation: other.organisationId,
    }),
  ).toBe("invoice_not_found");

  // Another invoice in the ledger has the next number.
  await tables(system.pool).documentCounter.updateMany({
    where: { organisationId: other.organisationId, kind: "invoice" },
    data: { next: 1 },
  });
  const taken = await system.ask("POST", "/v1/subscriptions", {
    key: other.apiKey,
    idempotencyKey: "first",
    body,
  });
  const number = taken.json.invoice.number;
  await system.pool.query(
    `WITH i AS (UPDATE invoices SET status = 'not_in_external', sync_error = 'taken',
    ledger_invoice_id = NULL WHERE id = $1)
     UPDATE ledger_jobs SET state = 'refused', reason = 'duplicate_number', message = 'taken'
     WHERE invoice_id = $1`,
    [taken.json.invoice.id],
  );
  const failed = { organisation: other.organisationId, id: taken.json.invoice.id };
  const { document } = await admin.done("DocumentService/RetryDocument", failed);
  expect(document.number).not.toBe(number);
  expect(await admin.lastEntry()).toMatchObject({
    before: { number, status: "not_in_external" },
    after: { status: "scheduled" },
  });
  await until("it is in the ledger under its new number", async () => {
    const invoices = await system.ledgerInvoices(other.tenantId);
    return invoices.some((invoice) => invoice.number === document.number);
  });
});

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}
