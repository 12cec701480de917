/** Who calls, and what a service method is told of the call beside its message. Made by the gate, read by the services. */

/** The organisation and key behind a request, as they stood at the instant the request was admitted. */
export interface Caller {
  readonly apiKeyId: string;
  readonly organisationId: string;
  /** The key's scopes, such as `subscriptions:write`. */
  readonly scopes: ReadonlySet<string>;
  /** False for a key of a sandbox organisation (`sk_test_…`). */
  readonly livemode: boolean;
  /** Organisation setting: customers may be created through the API. Spec: Organisation. */
  readonly canCreateLedgerContacts: boolean;
  /** Organisation setting: usage may be reported (for a sandbox: with test keys too). decisions §4, Sandbox. */
  readonly usageAllowed: boolean;
  /** The organisation's clock at admission: the database's time, or the sandbox's test clock. One instant a request. */
  readonly now: Date;
}

/** What an operator may do; each role may do all that the one before it may. decisions §8. */
export const operatorRoles = ["read-only", "admin", "owner"] as const;

/** One of them. */
export type OperatorRole = (typeof operatorRoles)[number];

/** The operator behind a request on the application's side, as it stood when the request was admitted. */
export interface OperatorCaller {
  readonly operatorId: string;
  readonly name: string;
  readonly role: OperatorRole;
  /** The token that it came with. */
  readonly tokenId: string;
}

/** Whoever calls: an organisation's platform by its API key, or an operator. */
export type Principal = Caller | OperatorCaller;

/** The id of the API key or token that was shown: what idempotency keys belong to, and what log and traces name. */
export function credentialIdOf(principal: Principal): string {
  return "tokenId" in principal ? principal.tokenId : principal.apiKeyId;
}

/** The organisation whose key was shown; null for an operator, who belongs to none. */
export function organisationIdOf(principal: Principal): string | null {
  return "tokenId" in principal ? null : principal.organisationId;
}

/** The sliding window of a key after one request was counted or refused. Spec: Limits. */
export interface RateState {
  /** Requests allowed in any 60 seconds. */
  readonly limit: number;
  /** How many are left in the current window. */
  readonly remaining: number;
  /** Whole seconds until the oldest counted request stops counting. */
  readonly resetSeconds: number;
}

/** What a service method knows of its call. */
export interface Call<C extends Principal = Caller> {
  readonly caller: C;
  /** `billing.v1.SubscriptionService/CreateSubscription`. */
  readonly operation: string;
  /** The `Request-Id` of the response. */
  readonly requestId: string;
  /** The `Idempotency-Key` that was sent, or null. */
  readonly idempotencyKey: string | null;
  /** Aborted when the client has gone or the server shuts down; work that was accepted goes on all the same. */
  readonly signal: AbortSignal;
}
