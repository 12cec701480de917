/** The client of Subscription Billing: calls, errors, pages and webhooks, with all their types. */
export type { CallOptions, Retry } from "./call.ts";
export { type ClientOptions, createBillingClient } from "./client.ts";
export { BillingError, type BillingErrorCode, isBillingError, type LocalCode } from "./error.ts";
export type * from "./gen/api.ts";
export type { AnyPage, List } from "./pages.ts";
export type { DateText, DecimalText, TimestampText } from "./texts.ts";
export {
  type ReceivedWebhook,
  verifyWebhook,
  type WebhookFault,
  type WebhookVerdict,
} from "./webhook.ts";
