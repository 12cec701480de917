/** The client of Subscription Billing: calls, errors, pages and webhooks, with all messages. */
export type { CallOptions, Retry } from "./call.ts";
export { type BillingClient, type ClientOptions, createBillingClient } from "./client.ts";
export { BillingError, type BillingErrorCode, isBillingError, type LocalCode } from "./error.ts";
export type { ErrorCode } from "./gen/error-codes.ts";
export * from "./gen/messages.ts";
export type { AnyPage, List } from "./pages.ts";
export {
  type ReceivedWebhook,
  verifyWebhook,
  type WebhookFault,
  type WebhookVerdict,
} from "./webhook.ts";
