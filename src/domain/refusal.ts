/**
 * Refusals: one table of every error code with its HTTP status and type, and the error that carries
 * a code. The transports (REST envelope, Connect detail) read the table. Nothing else maps codes
 * (REQUEST-13, REQUEST-15).
 */

/** The values of `error.type` (REQUEST-15). */
export type RefusalType =
  | "authentication_error"
  | "permission_error"
  | "invalid_request_error"
  | "not_found"
  | "conflict"
  | "rate_limit_error"
  | "api_error";

/**
 * The names of the Connect codes that refusals use (`Code` of @connectrpc/connect, in snake_case).
 */
export type RefusalConnectCode =
  | "unauthenticated"
  | "permission_denied"
  | "not_found"
  | "aborted"
  | "failed_precondition"
  | "invalid_argument"
  | "resource_exhausted"
  | "internal"
  | "unavailable"
  | "unimplemented";

/** The representation of a code: the HTTP status, the type, and the Connect code. */
interface RefusalRow {
  readonly status: number;
  readonly type: RefusalType;
  readonly connect: RefusalConnectCode;
}

const notFound = { status: 404, type: "not_found", connect: "not_found" } as const;
const invalid = {
  status: 422,
  type: "invalid_request_error",
  connect: "invalid_argument",
} as const;
const aborted = { status: 409, type: "conflict", connect: "aborted" } as const;
const precondition = { status: 409, type: "conflict", connect: "failed_precondition" } as const;
const badGateway = { status: 502, type: "api_error", connect: "unavailable" } as const;

/** Every code that the public API or the admin API can answer (REQUEST-13). */
export const refusals = {
  invalid_api_key: { status: 401, type: "authentication_error", connect: "unauthenticated" },
  insufficient_scope: { status: 403, type: "permission_error", connect: "permission_denied" },
  invalid_operator_token: { status: 401, type: "authentication_error", connect: "unauthenticated" },
  untrusted_origin: { status: 403, type: "permission_error", connect: "permission_denied" },
  insufficient_role: { status: 403, type: "permission_error", connect: "permission_denied" },
  unknown_endpoint: { status: 404, type: "not_found", connect: "unimplemented" },
  subscription_not_found: notFound,
  plan_not_found: notFound,
  customer_not_found: notFound,
  credit_note_not_found: notFound,
  invoice_not_found: notFound,
  charge_not_found: notFound,
  meter_not_found: notFound,
  usage_event_not_found: notFound,
  event_not_found: notFound,
  organisation_not_found: notFound,
  api_key_not_found: notFound,
  operator_not_found: notFound,
  operator_token_not_found: notFound,
  session_not_found: notFound,
  webhook_endpoint_not_found: notFound,
  webhook_delivery_not_found: notFound,
  idempotency_conflict: aborted,
  request_in_progress: aborted,
  customer_code_taken: aborted,
  ledger_contact_name_taken: aborted,
  plan_code_taken: aborted,
  charge_code_taken: aborted,
  meter_code_taken: aborted,
  plan_in_use: precondition,
  charge_in_use: precondition,
  ledger_not_connected: precondition,
  invalid_state: precondition,
  ledger_accounts_not_mapped: precondition,
  request_too_large: { status: 413, type: "invalid_request_error", connect: "invalid_argument" },
  invalid_parameter: invalid,
  idempotency_key_required: invalid,
  setup_mode_on: invalid,
  subscription_not_changeable: invalid,
  plan_has_no_units: invalid,
  units_below_minimum: invalid,
  units_above_maximum: invalid,
  units_unchanged: invalid,
  effective_date_required: invalid,
  effective_date_out_of_period: invalid,
  proration_required: invalid,
  proration_unavailable: invalid,
  proration_not_applicable: invalid,
  proration_behaviour_not_allowed: invalid,
  document_required: invalid,
  document_not_allowed: invalid,
  renewal_invoice_not_amendable: invalid,
  first_invoice_not_amendable: invalid,
  invoice_option_not_allowed: invalid,
  customer_not_active: invalid,
  plan_not_active: invalid,
  charge_not_active: invalid,
  meter_inactive: invalid,
  currency_mismatch: invalid,
  price_override_not_allowed: invalid,
  start_date_in_future: invalid,
  ledger_refused: invalid,
  rate_limited: { status: 429, type: "rate_limit_error", connect: "resource_exhausted" },
  internal_error: { status: 500, type: "api_error", connect: "internal" },
  ledger_unavailable: badGateway,
  temporarily_unavailable: badGateway,
} as const satisfies Record<string, RefusalRow>;

/** A stable error code. Clients branch on the code, never on the message (REQUEST-15). */
export type RefusalCode = keyof typeof refusals;

/**
 * An expected refusal, thrown anywhere below the transport and returned by it. `param` is the path
 * of the faulty field (`charges.0.price`), null if the whole request is at fault.
 * `retryAfterSeconds` becomes the `Retry-After` header.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    code: RefusalCode,
    message: string,
    param: string | null = null,
    retryAfterSeconds: number | null = null,
  ) {
    super(message);
    this.code = code;
    this.param = param;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Returns status, type and Connect code of this refusal. */
  get row(): RefusalRow {
    return refusals[this.code];
  }
}

/** The refusal of a `starting_after` that is not in the list (OBJECT-3). */
export function unknownPosition(): Refusal {
  const message = "starting_after is not the id of an object of this list.";
  return new Refusal("invalid_parameter", message, "starting_after");
}
