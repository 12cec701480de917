/**
 * Our OAuth app at a ledger (ADMIN-4): its settings, the calls of a consent, and the tokens that
 * all processes share (LEDGER-6).
 */
import type { LedgerAnswer } from "./failures.ts";

/** Where the ledger's API, its token endpoint, its consent page and its list of tenants are. */
interface LedgerAppAddresses {
  readonly baseUrl: string;
  readonly identityUrl: string;
  readonly authoriseUrl: string;
  readonly connectionsUrl: string;
}

/**
 * The app's credentials and addresses. `redirectUrl` is where a browser returns to. Null takes the
 * callback of the admin port on this machine.
 */
export interface LedgerAppSettings extends LedgerAppAddresses {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUrl: string | null;
}

/** How a kind of ledger knows apps. */
export interface LedgerAppKind {
  /**
   * Returns the ledger's addresses. With an origin they are those of one server that speaks like
   * the ledger.
   */
  addresses(origin: string | null): LedgerAppAddresses;
  /** Creates the app. `timeoutMs` limits each request. */
  create(settings: LedgerAppSettings, timeoutMs: number): LedgerOAuthApp;
}

/** The calls to a ledger that need the app's credentials or a consent's tokens. */
export interface LedgerOAuthApp {
  /**
   * Returns the consent page's address. The redirect brings back the state, and a code that needs
   * the verifier.
   */
  consentUrl(consent: {
    readonly state: string;
    readonly verifier: string;
    readonly redirectUrl: string;
  }): string;
  /** Exchanges a code for tokens. A code works once. */
  exchange(consent: {
    readonly code: string;
    readonly verifier: string;
    readonly redirectUrl: string;
  }): Promise<LedgerAnswer<AuthorisedTokens>>;
  /** Returns the organisations of the latest consent, or else all that the tokens reach. */
  tenants(accessToken: string): Promise<LedgerAnswer<ReachedTenants>>;
  /**
   * Ends a connection at the ledger. A connection that the ledger does not have counts as ended.
   * `ended_before`: the ledger or a person there had ended the authorisation.
   */
  end(
    connection: AuthorisedConnection,
    tokens: TokenStore,
  ): Promise<LedgerAnswer<"ended" | "ended_before">>;
  close(): Promise<void>;
}

/** A connection by consent: the app that it belongs to, and the ledger's id of it. */
export interface AuthorisedConnection {
  readonly clientId: string;
  readonly ledgerConnection: string;
}

/**
 * The tokens of a person's consent. `freshMs`: how long to use the access token, in milliseconds.
 */
export interface AuthorisedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly freshMs: number;
}

/** An organisation that the tokens reach, and the ledger's id of that connection. */
export interface AuthorisedTenant {
  readonly connectionId: string;
  readonly tenantId: string;
  readonly name: string;
}

/**
 * The organisations that tokens reach. With `areOfConsent` they are exactly those of the latest
 * consent. Without it they are all of the authorisation.
 */
export interface ReachedTenants {
  readonly tenants: readonly AuthorisedTenant[];
  readonly areOfConsent: boolean;
}

/** A connection's current tokens. `freshMs`: how long the access token may still be used. */
export interface SharedTokens {
  readonly generation: string;
  readonly accessToken: string;
  readonly freshMs: number;
}

/**
 * The lease to refresh, held by one process at a time. `previous` is the previous refresh token.
 */
export interface RefreshPermit {
  readonly leaseId: string;
  readonly refreshToken: string;
  readonly previous: string | null;
}

/** The result of a refresh. `used` is the refresh token that was sent. */
export interface RenewedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly used: string;
  readonly freshMs: number;
}

/** Stores a connection's tokens for all processes. */
export interface TokenStore {
  /** Returns null if the connection has no tokens or is disconnected. */
  read(): Promise<SharedTokens | null>;
  /**
   * Takes the lease to refresh tokens of this generation. Null if another process has the lease, or
   * if the tokens are refreshed already.
   */
  take(generation: string, leaseMs: number): Promise<RefreshPermit | null>;
  /** Returns false if the lease was lost in the meantime. Then nothing was saved. */
  save(leaseId: string, tokens: RenewedTokens): Promise<boolean>;
  /** Returns the lease without new tokens. */
  release(leaseId: string): Promise<void>;
  /**
   * Disconnects the connection, because the ledger refuses the refresh token. Does nothing if the
   * lease was lost in the meantime.
   */
  disconnect(leaseId: string): Promise<void>;
}

/** Returns the path below the admin port to which a browser returns after a consent. */
export function callbackPathOf(kind: string): string {
  return `/ledger/${kind}/callback`;
}

/** The names of a kind's settings in the environment. */
interface LedgerSettingNames {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly origin: string;
  readonly redirectUrl: string;
  readonly webhookKey: string;
}

/** Returns the names of the settings of a kind: its name in upper case, and what each is. */
export function settingNamesOf(kind: string): LedgerSettingNames {
  const prefix = kind.toUpperCase();
  return {
    clientId: `${prefix}_CLIENT_ID`,
    clientSecret: `${prefix}_CLIENT_SECRET`,
    origin: `${prefix}_URL`,
    redirectUrl: `${prefix}_REDIRECT_URL`,
    webhookKey: `${prefix}_WEBHOOK_KEY`,
  };
}
