/**
 * The meaning of each error code, for the manual: one line for every row of the table of refusals.
 */
import type { RefusalCode } from "../../src/domain/refusal.ts";

/** The meaning of every code, as a sentence. */
export const refusalTexts: Readonly<Record<RefusalCode, string>> = {
  invalid_api_key: "The API key is missing, malformed, revoked or expired.",
  insufficient_scope:
    "The key lacks the scope, or the organisation or the kind of key does not allow the operation.",
  invalid_operator_token:
    "The operator's token is missing, malformed, revoked or expired, or the operator is not " +
    "active.",
  untrusted_origin: "A request by cookie did not come from the console's own page.",
  insufficient_role: "The operator's role does not allow the operation.",
  unknown_endpoint: "There is no such endpoint.",
  subscription_not_found: "There is no subscription with this id.",
  plan_not_found: "There is no such plan.",
  customer_not_found: "There is no such customer.",
  credit_note_not_found: "There is no credit note with this id.",
  invoice_not_found: "There is no invoice with this id.",
  charge_not_found: "There is no such charge.",
  meter_not_found: "There is no such meter.",
  usage_event_not_found: "There is no usage event with this id.",
  event_not_found: "There is no event with this id.",
  organisation_not_found: "There is no organisation with this id.",
  api_key_not_found: "There is no API key with this id.",
  operator_not_found: "There is no operator with this id.",
  operator_token_not_found: "There is no token with this id.",
  session_not_found: "The operator has no session with this id.",
  webhook_endpoint_not_found: "There is no webhook endpoint with this id.",
  webhook_delivery_not_found: "There is no webhook delivery with this id.",
  idempotency_conflict: "The idempotency key was used before with a different request.",
  request_in_progress:
    "The first request with this idempotency key is still running; retry after `Retry-After` " +
    "seconds.",
  customer_code_taken: "Another customer has this code.",
  ledger_contact_name_taken: "The ledger has another contact with this name.",
  plan_code_taken: "Another plan has this code.",
  charge_code_taken: "Another charge has this code.",
  meter_code_taken: "Another meter has this code.",
  plan_in_use: "A subscription uses the plan: what it bills never changes.",
  charge_in_use: "The charge was billed: its code, price and currency never change.",
  ledger_not_connected: "The organisation is not connected to a ledger.",
  invalid_state: "The subscription is in a state that does not allow this; the message says why.",
  ledger_accounts_not_mapped: "The ledger accounts must be mapped first.",
  request_too_large: "The request body is over 1 MiB.",
  invalid_parameter:
    "A field is missing or invalid, a field is unknown, or a filter is invalid; `param` names it.",
  idempotency_key_required: "The header `Idempotency-Key` is required.",
  setup_mode_on: "The organisation is in Setup Mode.",
  subscription_not_changeable: "The subscription has ended or completed.",
  plan_has_no_units:
    "The plan is a flat fee: it has no units, and no minimum of them; `param` names the one " +
    "that was sent.",
  units_below_minimum: "`units` is below the minimum.",
  units_above_maximum: "`units` is above the last tier's bound.",
  units_unchanged: "`units` equals the current total.",
  effective_date_required: "`prorate: true` needs an `effective_date`.",
  effective_date_out_of_period: "`effective_date` lies outside the current billing period.",
  proration_required: "The change issues a credit on a volume plan: send `prorate: true`.",
  proration_unavailable:
    "After an increase without proration, increases are not prorated until the next renewal.",
  proration_not_applicable:
    "A decrease, or a change while the subscription is pending, is not prorated.",
  proration_behaviour_not_allowed: "Only `charge_immediately` is possible here.",
  document_required: "The change falls into the invoice window: `document` is required.",
  document_not_allowed: "The change falls outside the invoice window: `document` is refused.",
  renewal_invoice_not_amendable: "The renewal invoice can no longer be changed.",
  first_invoice_not_amendable: "The first invoice can no longer be changed.",
  invoice_option_not_allowed: "Invoice options go with `when: now` only.",
  customer_not_active: "The customer is not active.",
  plan_not_active: "The plan is not active.",
  charge_not_active: "The charge is not active.",
  meter_inactive: "The meter is not active.",
  currency_mismatch: "The charge is in another currency than the plan.",
  price_override_not_allowed: "The plan or charge does not allow another price than its own.",
  start_date_in_future: "In Setup Mode `start_date` cannot lie in the future.",
  ledger_refused: "The ledger refused; the message has its own words.",
  rate_limited: "More than 120 requests in a minute; retry after `Retry-After` seconds.",
  internal_error: "A fault of the server; retry, and quote `request_id` when you report it.",
  ledger_unavailable:
    "The ledger did not answer in time and, as far as is known, nothing was decided; retry " +
    "with the same `Idempotency-Key`.",
  temporarily_unavailable:
    "The service could not decide now and nothing was changed; retry after `Retry-After` seconds.",
};
