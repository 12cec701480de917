/**
 * The admin API: `billing.admin.v1` over Connect, gRPC and gRPC-Web on its own port (ADMIN-1). The
 * port has its own gate. Calls, health and reflection work as on the public port. There is no REST.
 */
import { join } from "node:path";
import { dearReads, maxDearReads } from "../admin/dear-reads.ts";
import { answerConsent } from "../admin/oauth/consent.ts";
import { consentPage } from "../admin/oauth/consent-page.ts";
import type { AdminDependencies } from "../admin/services/dependencies.ts";
import { adminServices, unattended } from "../admin/services/index.ts";
import { docsSiteFolder } from "../assets.ts";
import { type Config, encryptionOf } from "../config.ts";
import { callbackPathOf } from "../ledger/port/oauth-app.ts";
import { createPosting, type LedgerWork } from "../services/deps.ts";
import { subscriptionService } from "../services/subscriptions/index.ts";
import type { IdempotencyStore } from "../store/access/idempotency.ts";
import { createOperatorAccess } from "../store/access/operator-tokens.ts";
import { createActingTenants } from "../store/admin/acting-tenant.ts";
import { createAdminStore } from "../store/admin/admin-store.ts";
import { createPool, type Pool } from "../store/database/pool.ts";
import type { Readiness } from "../transport/http/readiness.ts";
import { type HttpParts, type HttpPort, startHttp } from "../transport/http/server.ts";
import type { HttpAnswer } from "../transport/http/system-endpoints.ts";
import { respond, responseHeaders } from "../transport/rest/respond.ts";
import { createCallLimit } from "../transport/rpc/call-limit.ts";
import type { OperatorCaller } from "../transport/rpc/caller.ts";
import { createOperatorGate } from "../transport/rpc/gate/operator-gate.ts";
import { docsSite } from "./api/docs-pages.ts";
import { withinRequest } from "./api/request-context.ts";
import { createTransports } from "./api/transports.ts";
import { createWorkflowPages } from "./api/workflow-pages.ts";
import { consoleSiteOf, withConsole } from "./console/console.ts";
import { createLedgerApps } from "./ledger/ledger-apps.ts";

/** The dependencies of the port, in addition to the settings. */
interface AdminPortParts
  extends Pick<
      AdminDependencies,
      | "wake"
      | "startAmendment"
      | "startAllocation"
      | "startBilling"
      | "startClock"
      | "startLedgerSync"
      | "startDeliveries"
      | "openLedger"
      | "kinds"
      | "connect"
      | "onContradiction"
    >,
    Pick<LedgerWork, "startTermination" | "outcomes">,
    Pick<HttpParts, "log" | "logFailure" | "metrics" | "onConnectionLimit"> {
  readonly config: Config;
  readonly readiness: Readiness;
  readonly keys: IdempotencyStore;
  readonly onPoolError: (error: Error) => void;
  /** Aborted when the process stops. */
  readonly shutdownSignal: AbortSignal;
}

/**
 * The port has its own connections, so that no operator's read takes one from the public API. A
 * write holds one while it reads through another. With a single pool, as many writes as connections
 * would wait for each other. Operators are few.
 */
const writers = 4;

/** Two of them are never held by dear reads: they are for admissions and all other calls. */
const readers = 4;

const dearCallLimits = {
  max: maxDearReads,
  maxOfCaller: maxDearReads,
  tooBusyText: "Two calls as large as this one are in progress; please retry",
};

/**
 * Opens the port. Rejects with an error that names `ADMIN_PORT` if another process has the port.
 */
export async function startAdminPort(parts: AdminPortParts): Promise<HttpPort> {
  const { config } = parts;
  const pools = openPools(parts);
  const encryption = encryptionOf(config);
  const store = createAdminStore(pools, encryption);
  const listening = { port: config.admin.port };
  const apps = createLedgerApps({
    ...parts,
    pool: pools.reading,
    encryption,
    redirectPort: () => listening.port,
  });
  const ledgerApps = apps.byKind;
  const platform = platformOf(parts, pools);
  const adminParts = { ...parts, ...settingsOf(config), store, ledgerApps, platform };
  const bindings = adminServices(adminParts);
  const limitDearReads = createCallLimit(dearCallLimits);
  const access = createOperatorAccess(pools.reading);
  const site = consoleSiteOf(config);
  const gate = createOperatorGate(access, site && { site, sessions: access, unattended });
  const transports = createTransports<OperatorCaller>({
    ...parts,
    bindings,
    gate,
    limit: ({ operation, caller }, run) =>
      dearReads.has(operation.name) ? limitDearReads(caller.operatorId, run) : run(),
    // This port has no REST, so every REST path is unknown.
    findRoute: () => null,
  });
  const docs = docsSite(join(docsSiteFolder(), "operators"));
  const rest = docs.withBrowsers(transports.rest);
  const port = await startHttp({
    ...parts,
    ...config.admin,
    setting: "ADMIN_PORT",
    tls: config.api.tls,
    trustedProxies: config.api.trustedProxies,
    ...transports,
    rest:
      site === null
        ? rest
        : withConsole({ ...parts, site, access, sessions: store.sessions }, rest),
    pages: new Map([...consentsOf(adminParts), ...docs.pages]),
    within: withinRequest,
  }).catch(async (error: unknown) => {
    await pools.end();
    throw error;
  });
  listening.port = port.port;
  return {
    port: port.port,
    stop: async (options) => {
      await port.stop(options);
      await apps.close();
      await pools.end();
    },
  };
}

/** The answers to the return from each ledger, by path. */
function consentsOf(parts: AdminDependencies): readonly (readonly [string, HttpAnswer])[] {
  return [...parts.ledgerApps.keys()].map((kind) => [callbackPathOf(kind), consentAnswer(parts)]);
}

/**
 * Answers the browser that returns from the ledger's consent page. It needs no token: the state in
 * the address works once, and only for the owner's own request (ADMIN-4). Neither address nor page
 * is stored: the address has a code in it, and the page shows its content once.
 */
function consentAnswer(parts: AdminDependencies): HttpAnswer {
  return async (request, response, exchange) => {
    const query = new URLSearchParams(exchange.query);
    const answered = {
      state: query.get("state"),
      code: query.get("code"),
      error: query.get("error"),
    };
    const { status, html } = consentPage(await answerConsent(parts, answered, exchange.requestId));
    const headers = {
      ...responseHeaders(exchange, "text/html; charset=utf-8"),
      "Referrer-Policy": "no-referrer",
      "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    };
    respond(request, response, status, headers, html);
  };
}

/** The pools of the port. */
interface AdminPools {
  readonly reading: Pool;
  readonly writing: Pool;
  end(): Promise<void>;
}

function openPools({ config, onPoolError }: AdminPortParts): AdminPools {
  const open = (name: string, size: number) =>
    createPool({ databaseUrl: config.database.url, size, name }, onPoolError);
  const [reading, writing] = [open("admin-reads", readers), open("admin", writers)];
  return {
    reading,
    writing,
    end: async () => void (await Promise.all([reading.end(), writing.end()])),
  };
}

/** Returns the platform's own methods, for an operator that acts on behalf of a platform. */
function platformOf(parts: AdminPortParts, pools: AdminPools): AdminDependencies["platform"] {
  const onIssued = (organisationId: string) => void parts.wake(organisationId);
  const openTenant = createActingTenants(pools, onIssued);
  return (acting) =>
    subscriptionService({
      tenant: ({ caller }) => openTenant(caller.organisationId, caller.now, acting),
      posting: ({ caller }) => createPosting(parts, caller.organisationId),
      onContradiction: parts.onContradiction,
    });
}

function settingsOf({ admin, ledger, temporal, webhooks }: Config) {
  const { callDeadlineMs, publicUrl, addresses: ledgerAddresses } = ledger;
  return {
    callDeadlineMs,
    publicUrl,
    ledgerAddresses,
    webhookAddresses: webhooks.addresses,
    workflowPages: createWorkflowPages(admin.temporalUiUrl, temporal.namespace),
  };
}
