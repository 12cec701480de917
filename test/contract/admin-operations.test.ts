/**
 * The contract of the admin API: every method has a role, reads need the least, and secrets are
 * marked. ADMIN-1, ADMIN-3.
 */
import { type DescField, type DescMethod, getOption } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { SubscriptionService } from "../../src/gen/proto/billing/admin/v1/subscriptions_pb.ts";
import {
  field as fieldOption,
  operation as operationOption,
  TextFormat,
} from "../../src/gen/proto/billing/options/v1/options_pb.ts";
import { SubscriptionService as PlatformService } from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { http } from "../../src/gen/proto/google/api/annotations_pb.ts";
import { operatorRoles } from "../../src/transport/rpc/caller.ts";
import { operationOf } from "../../src/transport/rpc/operation.ts";
import { adminMethods } from "./methods.ts";

const operations = adminMethods.map(operationOf);

/** The names of methods that write nothing. */
const reads = /^(Get|List|Check|Preview|Explain|Export|Count|Search)/;

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

/** The writes that every operator may do: they are of the operator's own sessions and views. */
const everybodys = [
  "SessionService/EndSession",
  "SessionService/EndAllSessions",
  "SavedViewService/SaveView",
  "SavedViewService/DeleteView",
].map((name) => `billing.admin.v1.${name}`);

describe("the contract of the admin API", () => {
  test("gives every method a role: owner for credentials, admin for other writes", () => {
    expect(operations.length).toBeGreaterThan(35);
    for (const { name, scope, method } of operations) {
      const isRead = reads.test(method.name);
      const isAnyones = isRead || everybodys.includes(name);
      const expected = owners.includes(name) ? "owner" : isAnyones ? "read-only" : "admin";
      expect([name, scope]).toEqual([name, expected]);
      expect(operatorRoles).toContain(scope);
    }
  });

  test("takes an idempotency key on every write, and ignores it on reads", () => {
    for (const { name, idempotencyKey, method } of operations) {
      const isRead = reads.test(method.name);
      expect([name, idempotencyKey]).toEqual([name, isRead ? "none" : "optional"]);
    }
  });

  test("refuses a reason without a visible character, wherever one is given", () => {
    const reasons = adminMethods.flatMap(({ input }) =>
      input.fields.filter(({ name }) => name === "reason"),
    );
    expect(reasons.length).toBeGreaterThan(5);
    for (const field of reasons)
      expect([String(field), getOption(field, fieldOption).format]).toEqual([
        String(field),
        TextFormat.REASON,
      ]);
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

/** A method of an operator with the platform's of the same name. */
type Pair = readonly [name: string, operator: DescMethod, platform: DescMethod];

function pairsOf(names: RegExp): readonly Pair[] {
  return SubscriptionService.methods.flatMap((method) => {
    const platform = PlatformService.methods.find(({ name }) => name === method.name);
    return platform === undefined || !names.test(method.name)
      ? []
      : [[method.name, method, platform] as const];
  });
}

/** The rules of a request's fields in their order. The numbers differ between the two requests. */
function rulesOf(fields: readonly DescField[]): readonly object[] {
  return fields.map(({ proto }) => ({ ...proto, number: 0 }));
}

const refusalsOf = (method: DescMethod) => getOption(method, operationOption).refusals;

describe("a request on behalf of a platform", () => {
  const pairs = pairsOf(/^(?!Get|List|Preview)/);

  test("exists for every write of a platform", () => {
    expect(pairs.map(([name]) => name)).toEqual([
      "CreateSubscription",
      "ChangeUnits",
      "EndSubscription",
      "RestoreSubscription",
    ]);
  });

  test.each(pairs)("%s has the platform's fields with their rules", (_, operator, platform) => {
    const added = ["organisation", "reason", "previewed_state"];
    const own = operator.input.fields.filter(({ name }) => !added.includes(name));
    expect(rulesOf(own)).toEqual(rulesOf(platform.input.fields));
    expect(operator.input.fields.map(({ name }) => name)).toEqual(expect.arrayContaining(added));
  });

  test.each(pairs)("%s can refuse all that the platform's can", (_, operator, platform) => {
    const refusals = new Set([...refusalsOf(platform), "invalid_state"]);
    expect(refusalsOf(operator)).toEqual(["organisation_not_found", ...refusals]);
  });
});

describe("a preview for a platform", () => {
  const pairs = pairsOf(/^(Preview|GetUpcomingInvoice)/);

  test("exists for every preview of a platform", () => {
    expect(pairs.map(([name]) => name)).toEqual([
      "PreviewCreateSubscription",
      "PreviewChangeUnits",
      "PreviewEndSubscription",
      "PreviewRestoreSubscription",
      "GetUpcomingInvoice",
    ]);
    const all = PlatformService.methods.filter(({ name }) => /Preview|Upcoming/.test(name));
    expect(pairs.map(([, , platform]) => platform)).toEqual(all);
  });

  const ofOperators = ["previewed_state", "events"];

  test.each(pairs)("%s has the platform's fields and its answer", (_, operator, platform) => {
    const [organisation, ...own] = operator.input.fields;
    expect(organisation?.name).toBe("organisation");
    expect(rulesOf(own)).toEqual(rulesOf(platform.input.fields));
    const answerOf = ({ output }: DescMethod) =>
      output.fields.filter(({ name }) => !ofOperators.includes(name)).map(({ message }) => message);
    expect(answerOf(operator)).toEqual(answerOf(platform));
  });

  test.each(pairs)("%s can refuse all that the platform's can", (_, operator, platform) => {
    expect(refusalsOf(operator)).toEqual(["organisation_not_found", ...refusalsOf(platform)]);
  });
});
