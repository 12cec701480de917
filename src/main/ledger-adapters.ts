/**
 * The adapter registry of a process: one ledger adapter for each organisation. Tokens and sockets
 * are reused from call to call.
 */
import { createHash } from "node:crypto";
import type { buildConnector } from "undici";
import { isLedgerKind, ledgers } from "../ledger/index.ts";
import type { Ledger } from "../ledger/port/ledger.ts";
import type { SharedAuthorisation } from "../ledger/xero/auth/authorised-tokens.ts";
import type { IdentityClient } from "../ledger/xero/auth/identity.ts";
import type { XeroOptions, XeroTold } from "../ledger/xero/wire/connection.ts";
import type { Encryption } from "../store/database/encryption.ts";
import type { createPool } from "../store/database/pool.ts";
import { createCallBudget } from "../store/ledger-connection/call-budget.ts";
import type { LedgerConnection } from "../store/ledger-connection/connections.ts";
import { createLedgerTokens } from "../store/ledger-connection/oauth-tokens.ts";
import type { Log } from "./log.ts";

/** How long after its deadline a call may still run before its permit returns to the budget. */
const callEndMs = 1_000;

/** The log line for an authorisation that the ledger has ended. */
export const disconnectedText =
  "the ledger has ended its authorisation: an owner must authorise it again";

/** The dependencies of the adapters. */
export interface AdapterParts {
  readonly callDeadlineMs: number;
  readonly encryption: Encryption;
  /** Opens the connections to ledgers. */
  readonly connect: buildConnector.connector;
  /** Our app at Xero, for connections by authorisation. Null if it is not set. */
  readonly xeroApp: IdentityClient | null;
  /** Called when a ledger has ended an authorisation. An owner must authorise again. */
  readonly onDisconnected: (organisationId: string) => void;
  /** Called for a ledger's answer that is an error or has warnings. */
  readonly onAnswered?: (organisationId: string, told: XeroTold) => void;
}

/**
 * Writes a ledger's answer to the log. A warning is logged at `warn`, for operators. An error is
 * logged at `info`, for diagnosis.
 */
export function logAnswer(
  log: Pick<Log, "warn" | "info">,
): NonNullable<AdapterParts["onAnswered"]> {
  return (organisationId, told) => {
    if (told.warnings.length > 0)
      log.warn({ organisationId, ...told }, "the ledger warned of something that it took");
    else log.info({ organisationId, ...told }, "the ledger answered with an error");
  };
}

/**
 * Opens one adapter for each organisation and reuses it, with its tokens and sockets, while the
 * connection is unchanged. A new consent to the same connection opens a new adapter: the previous
 * tokens may belong to a person whose access has ended.
 */
export function keepAdapters(
  pool: ReturnType<typeof createPool>,
  parts: AdapterParts,
): {
  readonly open: (organisationId: string, connection: LedgerConnection) => Ledger;
  readonly close: () => Promise<void>;
} {
  const kept = new Map<
    string,
    { readonly print: string; readonly consentedAt: string | null; readonly ledger: Ledger }
  >();
  return {
    open: (organisationId, { consentedAt = null, ...connection }) => {
      const print = createHash("sha256").update(JSON.stringify(connection)).digest("base64");
      const known = kept.get(organisationId);
      // While a new consent is pending, the previous one is valid.
      const isSameConsent = consentedAt === null || consentedAt === known?.consentedAt;
      if (known?.print === print && isSameConsent) return known.ledger;
      void known?.ledger.close();
      const ledger = connectLedger(connection, {
        connect: parts.connect,
        observeAnswer: (told) => parts.onAnswered?.(organisationId, told),
        budget: createCallBudget(pool, organisationId, parts.callDeadlineMs + callEndMs),
        ...(connection.grantKind === "custom"
          ? {}
          : { authorisation: authorisationOf(pool, parts, organisationId, connection) }),
      });
      kept.set(organisationId, { print, consentedAt, ledger });
      return ledger;
    },
    close: async () => {
      await Promise.all([...kept.values()].map(({ ledger }) => ledger.close()));
    },
  };
}

function authorisationOf(
  pool: ReturnType<typeof createPool>,
  { encryption, xeroApp, onDisconnected }: AdapterParts,
  organisationId: string,
  { clientId }: LedgerConnection,
): SharedAuthorisation {
  const tokens = createLedgerTokens(pool, encryption, organisationId);
  return {
    // These tokens work only with the app that got them. No other app's credentials are sent with
    // them.
    app: xeroApp?.clientId === clientId ? xeroApp : null,
    keeper: {
      ...tokens,
      disconnect: async (leaseId) => {
        await tokens.disconnect(leaseId);
        onDisconnected(organisationId);
      },
    },
  };
}

/**
 * Returns a new adapter over a connection. The caller closes it. An adapter for a trial connection
 * has no budget. Throws for an unknown kind of ledger.
 */
export function connectLedger(
  connection: LedgerConnection,
  options: Required<Pick<XeroOptions, "connect">> &
    Pick<XeroOptions, "budget" | "authorisation" | "observeAnswer">,
): Ledger {
  if (!isLedgerKind(connection.kind))
    throw new Error(`there is no ledger of kind ${connection.kind}`);
  return ledgers[connection.kind](connection, options);
}
