/**
 * The adapters of a process: one ledger adapter for each organisation. Tokens and sockets are
 * reused from call to call.
 */
import { createHash } from "node:crypto";
import type { buildConnector } from "undici";
import { type LedgerSettings, settingOf } from "../../ledger/ledger-settings.ts";
import type { Ledger } from "../../ledger/port/ledger.ts";
import {
  type LedgerKinds,
  ledgerKindOf,
  type ReportedAnswer,
  type SharedAuthorisation,
} from "../../ledger/port/ledger-kind.ts";
import type { Encryption } from "../../store/database/encryption.ts";
import type { createPool } from "../../store/database/pool.ts";
import { createCallBudget } from "../../store/ledger-connection/call-budget.ts";
import type { LedgerConnection } from "../../store/ledger-connection/connections.ts";
import { createLedgerTokens } from "../../store/ledger-connection/oauth-tokens.ts";
import type { Log } from "../telemetry/log.ts";
import { observedBudget, observedLedger } from "./observed-ledger.ts";

/** How long after its deadline a call may still run before its permit returns to the budget. */
const callEndMs = 1_000;

/** The dependencies of the adapters. */
interface AdapterParts {
  readonly kinds: LedgerKinds;
  readonly callDeadlineMs: number;
  readonly encryption: Encryption;
  /** Opens the connections to ledgers. */
  readonly connect: buildConnector.connector;
  /** Our apps, for connections by authorisation. */
  readonly apps: LedgerSettings["apps"];
  readonly metrics: Parameters<typeof observedLedger>[2];
  readonly log: Pick<Log, "warn" | "info">;
}

/** The adapters of a process. The connection's kind chooses the adapter. */
export interface LedgerAdapters {
  /** Returns the organisation's adapter. Throws if this process does not have the kind. */
  readonly open: (organisationId: string, connection: LedgerConnection) => Ledger;
  readonly close: () => Promise<void>;
}

/**
 * Opens one adapter for each organisation and reuses it, with its tokens and sockets, while the
 * connection is unchanged. A new consent to the same connection opens a new adapter: the previous
 * tokens may belong to a person whose access has ended.
 */
export function createLedgerAdapters(
  pool: ReturnType<typeof createPool>,
  parts: AdapterParts,
): LedgerAdapters {
  const adapters = new Map<
    string,
    { readonly print: string; readonly consentedAt: string | null; readonly ledger: Ledger }
  >();
  return {
    open: (organisationId, { consentedAt = null, ...connection }) => {
      const print = createHash("sha256").update(JSON.stringify(connection)).digest("base64");
      const known = adapters.get(organisationId);
      // While a new consent is pending, the previous one is valid.
      const isSameConsent = consentedAt === null || consentedAt === known?.consentedAt;
      if (known?.print === print && isSameConsent) return known.ledger;
      void known?.ledger.close();
      const ledger = openAdapter(pool, parts, organisationId, connection);
      adapters.set(organisationId, { print, consentedAt, ledger });
      return ledger;
    },
    close: async () => {
      await Promise.all([...adapters.values()].map(({ ledger }) => ledger.close()));
    },
  };
}

function openAdapter(
  pool: ReturnType<typeof createPool>,
  parts: AdapterParts,
  organisationId: string,
  connection: LedgerConnection,
): Ledger {
  const kind = ledgerKindOf(parts.kinds, connection.kind);
  const leaseMs = parts.callDeadlineMs + callEndMs;
  const budget = createCallBudget(pool, organisationId, leaseMs, kind.traits.calls);
  const ledger = kind.connect(connection, {
    connect: parts.connect,
    observeAnswer: (answer) => logAnswer(parts.log, organisationId, answer),
    budget: observedBudget(budget, connection.kind, parts.metrics),
    ...(connection.grantKind === "custom"
      ? {}
      : { authorisation: authorisationOf(pool, parts, organisationId, connection) }),
  });
  return observedLedger(ledger, connection.kind, parts.metrics);
}

function authorisationOf(
  pool: ReturnType<typeof createPool>,
  { encryption, apps, log }: AdapterParts,
  organisationId: string,
  { kind, clientId }: LedgerConnection,
): SharedAuthorisation {
  const tokens = createLedgerTokens(pool, encryption, organisationId);
  const app = settingOf(apps, kind);
  return {
    // These tokens work only with the app that got them. No other app's credentials are sent with
    // them.
    app: app?.clientId === clientId ? app : null,
    tokens: {
      ...tokens,
      disconnect: async (leaseId) => {
        await tokens.disconnect(leaseId);
        log.warn({ organisationId }, disconnectedText);
      },
    },
  };
}

const disconnectedText = "the ledger has ended its authorisation: an owner must authorise it again";

/** A warning is for operators. An error is logged for diagnosis. */
function logAnswer(log: AdapterParts["log"], organisationId: string, answer: ReportedAnswer): void {
  if (answer.warnings.length > 0)
    log.warn({ organisationId, ...answer }, "the ledger warned of something that it took");
  else log.info({ organisationId, ...answer }, "the ledger answered with an error");
}
