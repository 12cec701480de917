/**
 * The caller of a request and the context of a service method. The gate creates them and the
 * services read them.
 */

/** The organisation and key behind a request, as of its admission. */
export interface Caller {
  readonly apiKeyId: string;
  readonly organisationId: string;
  /** The key's scopes, such as `subscriptions:write`. */
  readonly scopes: ReadonlySet<string>;
  /** False for a key of a sandbox organisation (`sk_test_…`). */
  readonly livemode: boolean;
  /** Organisation setting: customers may be created through the API (CUSTOMER-2). */
  readonly canCreateLedgerContacts: boolean;
  /**
   * Organisation setting: usage may be reported. In a sandbox this includes test keys (CLOCK-2).
   */
  readonly usageAllowed: boolean;
  /**
   * The organisation's clock at admission: the database's time, or the sandbox's test clock. One
   * instant for each request (PERIOD-2).
   */
  readonly now: Date;
}

/** The roles of operators. Each role may do everything that the previous one may (ADMIN-1). */
export const operatorRoles = ["read-only", "admin", "owner"] as const;

/** The role of an operator. */
export type OperatorRole = (typeof operatorRoles)[number];

/** The operator behind a request of the admin API, as of its admission. */
export interface OperatorCaller {
  readonly operatorId: string;
  readonly name: string;
  readonly role: OperatorRole;
  /** The id of the token that was sent, or that began the session. */
  readonly tokenId: string;
  /** The session of the cookie that was sent. Absent if a token was sent. */
  readonly session?: OperatorSession;
}

/** An operator's session in a browser. */
interface OperatorSession {
  readonly id: string;
  /** The address of the console's site, `https://billing.example.com`. Null if it is not known. */
  readonly origin: string | null;
}

/** The authenticated caller: an organisation's platform by its API key, or an operator. */
export type Principal = Caller | OperatorCaller;

/**
 * Returns the id of the API key or token. Idempotency keys belong to it, and log and traces name
 * it.
 */
export function credentialIdOf(principal: Principal): string {
  return "tokenId" in principal ? principal.tokenId : principal.apiKeyId;
}

/** Returns the organisation of the key, or null for an operator, who belongs to no organisation. */
export function organisationIdOf(principal: Principal): string | null {
  return "tokenId" in principal ? null : principal.organisationId;
}

/** The context of a service method's call. */
export interface Call<C extends Principal = Caller> {
  readonly caller: C;
  /** `billing.v1.SubscriptionService/CreateSubscription`. */
  readonly operation: string;
  /** The `Request-Id` of the response. */
  readonly requestId: string;
  /** The `Idempotency-Key` that was sent, or null. */
  readonly idempotencyKey: string | null;
  /**
   * Aborted when the client disconnects or the server shuts down. Accepted work continues anyway.
   */
  readonly signal: AbortSignal;
}
