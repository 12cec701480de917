/** The admin contract: every method has a role, reads need the lowest, and secrets are marked. */
import { getOption } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { field as fieldOption } from "../../src/gen/proto/billing/options/v1/options_pb.ts";
import { http } from "../../src/gen/proto/google/api/annotations_pb.ts";
import { operatorRoles } from "../../src/transport/rpc/caller.ts";
import { operationOf } from "../../src/transport/rpc/operation.ts";
import { adminMethods } from "./methods.ts";

const operations = adminMethods.map(operationOf);

/** What only an owner may: operators, their tokens, and the credentials of ledgers. */
const owners = [
  "LedgerConnectionService/ConnectLedger",
  "LedgerConnectionService/BeginLedgerAuthorisation",
  "LedgerConnectionService/ChooseLedgerTenant",
  "LedgerConnectionService/DisconnectLedger",
  "OperatorService/CreateOperator",
  "OperatorService/ListOperators",
  "OperatorService/UpdateOperator",
  "OperatorService/CreateOperatorToken",
  "OperatorService/ListOperatorTokens",
  "OperatorService/RevokeOperatorToken",
].map((name) => `billing.admin.v1.${name}`);

describe("the contract of the application's side", () => {
  test("gives every method a role: the least to reads, owner to operators and credentials, admin to the rest", () => {
    expect(operations.length).toBeGreaterThan(35);
    for (const { name, scope, method } of operations) {
      const isRead = /^(Get|List|Check)/.test(method.name);
      const expected = owners.includes(name) ? "owner" : isRead ? "read-only" : "admin";
      expect([name, scope]).toEqual([name, expected]);
      expect(operatorRoles).toContain(scope);
    }
  });

  test("takes an idempotency key on every write, and ignores it on reads", () => {
    for (const { name, idempotencyKey, method } of operations) {
      const isRead = /^(Get|List|Check)/.test(method.name);
      expect([name, idempotencyKey]).toEqual([name, isRead ? "none" : "optional"]);
    }
  });

  test("has no path of REST", () => {
    expect(
      adminMethods.filter((method) => getOption(method, http).pattern.case !== undefined),
    ).toEqual([]);
  });

  test("marks every value that is shown once or never", () => {
    const secrets = adminMethods
      .flatMap(({ input, output }) => [...input.fields, ...output.fields])
      .filter((field) => getOption(field, fieldOption).secret)
      .map((field) => `${field.parent.name}.${field.name}`);
    expect(secrets.sort()).toEqual([
      "BeginLedgerAuthorisationResponse.url",
      "ConnectLedgerRequest.client_secret",
      "CreateApiKeyResponse.value",
      "CreateOperatorTokenResponse.value",
      "CreateWebhookEndpointResponse.secret",
      "RotateWebhookSecretResponse.secret",
    ]);
  });
});
