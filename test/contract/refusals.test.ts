/** The table of refusals has exactly the codes of the rules. REQUEST-15. */
import { getOption } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { refusals } from "../../src/domain/refusal.ts";
import { operation as operationOption } from "../../src/gen/proto/billing/options/v1/options_pb.ts";
import { describedOperation } from "../../tools/openapi/described-operation.ts";
import { refusalTexts } from "../../tools/openapi/refusal-texts.ts";
import { document } from "./answer-check.ts";
import { adminMethods, methods } from "./methods.ts";

type Row = readonly [status: number, type: string, codes: readonly string[]];

/** The codes of the public API. REQUEST-15. */
const specified: readonly Row[] = [
  [401, "authentication_error", ["invalid_api_key"]],
  [403, "permission_error", ["insufficient_scope"]],
  [404, "not_found", ["unknown_endpoint"]],
  [
    404,
    "not_found",
    ["subscription_not_found", "plan_not_found", "customer_not_found", "credit_note_not_found"],
  ],
  [
    409,
    "conflict",
    ["idempotency_conflict", "request_in_progress", "invalid_state", "ledger_accounts_not_mapped"],
  ],
  [422, "invalid_request_error", ["invalid_parameter", "idempotency_key_required"]],
  [
    422,
    "invalid_request_error",
    ["setup_mode_on", "subscription_not_changeable", "plan_has_no_units"],
  ],
  [
    422,
    "invalid_request_error",
    ["units_below_minimum", "units_unchanged", "effective_date_required"],
  ],
  [422, "invalid_request_error", ["effective_date_out_of_period", "proration_required"]],
  [429, "rate_limit_error", ["rate_limited"]],
  [500, "api_error", ["internal_error"]],
];

/** Codes that are added to them. REQUEST-14, USAGE-5. */
const decided: readonly Row[] = [
  [404, "not_found", ["invoice_not_found", "charge_not_found"]],
  [404, "not_found", ["event_not_found", "usage_event_not_found"]],
  [409, "conflict", ["customer_code_taken", "ledger_contact_name_taken"]],
  [413, "invalid_request_error", ["request_too_large"]],
  [
    422,
    "invalid_request_error",
    ["customer_not_active", "plan_not_active", "charge_not_active", "currency_mismatch"],
  ],
  [
    422,
    "invalid_request_error",
    ["price_override_not_allowed", "start_date_in_future", "units_above_maximum"],
  ],
  [422, "invalid_request_error", ["proration_unavailable", "proration_not_applicable"]],
  [
    422,
    "invalid_request_error",
    ["proration_behaviour_not_allowed", "document_required", "document_not_allowed"],
  ],
  [422, "invalid_request_error", ["renewal_invoice_not_amendable", "first_invoice_not_amendable"]],
  [422, "invalid_request_error", ["invoice_option_not_allowed"]],
  [502, "api_error", ["ledger_unavailable", "temporarily_unavailable"]],
];

/** Codes of the admin API only. ADMIN-1. */
const administrative: readonly Row[] = [
  [401, "authentication_error", ["invalid_operator_token"]],
  [403, "permission_error", ["insufficient_role", "untrusted_origin"]],
  [
    404,
    "not_found",
    [
      "organisation_not_found",
      "api_key_not_found",
      "operator_not_found",
      "operator_token_not_found",
      "session_not_found",
    ],
  ],
  [
    409,
    "conflict",
    ["plan_code_taken", "charge_code_taken", "meter_code_taken", "plan_in_use", "charge_in_use"],
  ],
  [404, "not_found", ["webhook_endpoint_not_found", "webhook_delivery_not_found"]],
  [409, "conflict", ["ledger_not_connected"]],
  [422, "invalid_request_error", ["ledger_refused"]],
];

/** Codes of a meter in the admin API. USAGE-5. */
const ofMeters: readonly Row[] = [
  [404, "not_found", ["meter_not_found"]],
  [422, "invalid_request_error", ["meter_inactive"]],
];

describe("the table of refusals", () => {
  test("has every code of the rules with its status and type, and no other", () => {
    const expected = [...specified, ...decided, ...administrative, ...ofMeters].flatMap(
      ([status, type, codes]) => codes.map((code) => [code, { status, type }] as const),
    );
    const actual = Object.entries(refusals).map(
      ([code, { status, type }]) => [code, { status, type }] as const,
    );
    expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected));
    expect(actual).toHaveLength(expected.length);
  });

  test("has the Connect code of each status", () => {
    const connect: Readonly<Record<number, readonly string[]>> = {
      401: ["unauthenticated"],
      403: ["permission_denied"],
      404: ["not_found", "unimplemented"],
      409: ["aborted", "failed_precondition"],
      413: ["invalid_argument"],
      422: ["invalid_argument"],
      429: ["resource_exhausted"],
      500: ["internal"],
      502: ["unavailable"],
    };
    for (const [code, row] of Object.entries(refusals))
      expect([code, connect[row.status]]).toEqual([code, expect.arrayContaining([row.connect])]);
    expect(refusals.invalid_state.connect).toBe("failed_precondition");
    expect(refusals.ledger_accounts_not_mapped.connect).toBe("failed_precondition");
  });

  test("has every code that an operation of the contract names", () => {
    const named = methods.flatMap((method) => describedOperation(method)?.refusals ?? []);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((code) => !(code in refusals))).toEqual([]);
  });

  test("shows no code of the admin API in the public document", () => {
    const own = administrative.flatMap(([, , codes]) => codes);
    const text = JSON.stringify(document);
    expect(own.filter((code) => text.includes(code))).toEqual([]);
  });

  test("has every code that an operation of the admin API names", () => {
    const named = adminMethods.flatMap((method) => getOption(method, operationOption).refusals);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((code) => !(code in refusals))).toEqual([]);
  });

  test("is explained in the manual, row by row", () => {
    expect(Object.keys(refusalTexts).sort()).toEqual(Object.keys(refusals).sort());
  });
});
