/** Subscriptions: their state, whether they renew, and the amount of the next renewal. */

export { renewalValue, willRenew } from "../billing/renewal-value.ts";
export type { Renewing, Subscription, SubscriptionStatus } from "../model/subscription.ts";
