/** The ledger adapters of a process: one for each organisation, so that its tokens and sockets last from call to call. */
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

/** How much longer than its deadline a call of the ledger may take until it is given back to the budget. */
const callEndMs = 1_000;

/** What the log says where a ledger has ended an authorisation. */
export const disconnectedText = "the ledger has ended its authorisation: an owner must authorise it again";

/** What adapters are opened with. */
export interface AdapterParts {
  readonly callDeadlineMs: number;
  readonly sealing: Encryption;
  /** Opens the connections to ledgers. */
  readonly connect: buildConnector.connector;
  /** Our app at Xero, for connections by authorisation; null where it is not set. */
  readonly xeroApp: IdentityClient | null;
  /** Told when a ledger has ended an authorisation: an owner must act. */
  readonly onDisconnected: (organisationId: string) => void;
  /** Told of a ledger's answer that is bad or warns of something. */
  readonly onAnswered?: (organisationId: string, told: XeroTold) => void;
}

/** Writes a ledger's answer into the log: warnings are for an operator, bad answers for whoever looks for a cause. */
export function logAnswer(log: Pick<Log, "warn" | "info">): NonNullable<AdapterParts["onAnswered"]> {
  return (organisationId, told) => {
    if (told.warnings.length > 0) log.warn({ organisationId, ...told }, "the ledger warned of something that it took");
    else log.info({ organisationId, ...told }, "the ledger answered with an error");
  };
}

/**
 * One adapter for each organisation, as long as its connection stays the same: tokens and sockets are kept with it. A new consent to
 * the same connection makes another one: the tokens of before may be another person's, whom the ledger lets in no more.
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
      // While another consent is asked for, the one of before stands.
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
  { sealing, xeroApp, onDisconnected }: AdapterParts,
  organisationId: string,
  { clientId }: LedgerConnection,
): SharedAuthorisation {
  const tokens = createLedgerTokens(pool, sealing, organisationId);
  return {
    // Another app's credentials are no use for these tokens, and not for another app's eyes.
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

/** An adapter over a connection; whoever asks for it closes it. One that is only tried has no budget. */
export function connectLedger(
  connection: LedgerConnection,
  options: Required<Pick<XeroOptions, "connect">> & Pick<XeroOptions, "budget" | "authorisation" | "observeAnswer">,
): Ledger {
  if (!isLedgerKind(connection.kind)) throw new Error(`there is no ledger of kind ${connection.kind}`);
  return ledgers[connection.kind](connection, options);
}
