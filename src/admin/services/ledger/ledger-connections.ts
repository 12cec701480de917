/**
 * LedgerConnectionService: credentials, encrypted on receipt, consents, and the ledger's reference
 * data. ADMIN-3, ADMIN-4
 */
import { Refusal } from "../../../domain/refusal.ts";
import type {
  ConnectLedgerRequest,
  LedgerConnectionService,
} from "../../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import { fillForm } from "../../../ledger/port/connection-form.ts";
import type { LedgerOrganisation } from "../../../ledger/port/ledger.ts";
import { settingNamesOf } from "../../../ledger/port/oauth-app.ts";
import { wordOf } from "../../../present/enums.ts";
import { isUnsaved } from "../../../store/admin/ledger/connections.ts";
import type { LedgerConnection } from "../../../store/ledger-connection/connections.ts";
import { urlFault } from "../../../webhooks/address.ts";
import { beginConsent, chooseTenant } from "../../oauth/consent.ts";
import { authorisationStatuses, mappingKinds } from "../../present/enums.ts";
import { membersOf, presentConnection } from "../../present/present.ts";
import { unfitCurrencies } from "../catalogue/fitting-currency.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  requireKind,
  requireOrganisation,
} from "../dependencies.ts";
import {
  describeFailure,
  notConnected,
  readCall,
  refusalOf,
  whyUnsaved,
} from "./ledger-answers.ts";
import { describeLedger, queryMappingOptions } from "./query-reference-data.ts";
import { usedNumbers } from "./used-numbers.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `ledger_not_connected`,
 * `ledger_refused`, `ledger_unavailable`. Refuses `invalid_parameter` for an unknown kind of
 * ledger, for a field that its form does not accept, and for an address outside the public network,
 * unless the server is started for development. Refuses `invalid_state` for a connection to another
 * tenant than the customers' contacts belong to, and for a new one to a tenant that another
 * organisation is connected to.
 */
export function ledgerConnectionService(
  parts: AdminDependencies,
): AdminImplementation<typeof LedgerConnectionService> {
  const { connections } = parts.store;
  const view = async (organisationId: string) => {
    const connection = await connections.view(organisationId);
    if (connection === null) throw notConnected();
    return connection;
  };
  return {
    connectLedger: async (request, call) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      const connection = connectionOf(parts, request);
      const ledger = request.skipCheck ? null : await describe(parts, connection);
      const saved = await connections.save(actorOf(call), id, connection);
      if (isUnsaved(saved)) throw new Refusal("invalid_state", whyUnsaved(saved), "tenant_id");
      // Jobs that were rescheduled because of a pause or a missing connection are due again.
      await parts.wake(id);
      return {
        connection: presentConnection(saved),
        ledger: ledger === null ? undefined : membersOf(ledger),
        warnings: await warningsOf(parts, id),
      };
    },
    beginLedgerAuthorisation: async ({ organisation, kind }, call) => {
      const { id } = await requireOrganisation(parts, organisation);
      const { url, expiresAt } = await beginConsent(parts, call, id, kind ?? null);
      return { url, expiresAt: expiresAt.toISOString() };
    },
    getLedgerAuthorisation: async ({ organisation }) => {
      const { id } = await requireOrganisation(parts, organisation);
      const consent = await parts.store.consents.view(id);
      if (consent === null) throw new Refusal("invalid_state", "No authorisation was ever begun.");
      return { ...membersOf(consent), status: authorisationStatuses[consent.status] };
    },
    chooseLedgerTenant: async ({ organisation, tenantId }, call) => {
      const { id } = await requireOrganisation(parts, organisation);
      const chosen = await chooseTenant(parts, actorOf(call), id, tenantId);
      return { connection: presentConnection(chosen) };
    },
    disconnectLedger: async ({ organisation, skipLedger }, call) => {
      const { id } = await requireOrganisation(parts, organisation);
      const endedInLedger = !skipLedger && (await endInLedger(parts, id));
      const ended = await connections.disconnect(actorOf(call), id, disconnectedByOwner);
      if (ended === null) throw notConnected();
      return { connection: presentConnection(ended), endedInLedger };
    },
    getLedgerConnection: async ({ organisation }) => {
      const { id } = await requireOrganisation(parts, organisation);
      return { connection: presentConnection(await view(id)) };
    },
    checkLedgerConnection: async ({ organisation }) => {
      const { id } = await requireOrganisation(parts, organisation);
      const answer = await describeLedger(parts, id);
      const { pausedUntil } = presentConnection(await view(id));
      return {
        ok: answer.kind === "ok",
        ...(answer.kind === "ok"
          ? { ledger: membersOf(answer.value) }
          : { problem: describeFailure(answer) }),
        pausedUntil,
        warnings: [
          ...(await warningsOf(parts, id)),
          ...(answer.kind === "ok" ? await usedNumbers(parts, id) : []),
        ],
      };
    },
    listMappingOptions: async ({ organisation, kind }) => {
      const { id } = await requireOrganisation(parts, organisation);
      const list = wordOf(mappingKinds, kind) ?? "accounts";
      return { data: [...(await queryMappingOptions(parts, id, list))] };
    },
  };
}

/** What an operator should know of the connection, in sentences. */
async function warningsOf(parts: AdminDependencies, id: string): Promise<string[]> {
  const others = await parts.store.connections.sharing(id);
  const shared =
    others.length === 0
      ? []
      : [
          `The same tenant is connected to other organisations: ${others.join(", ")}. ` +
            "They share its daily calls, and its numbers.",
        ];
  return [...shared, ...(await unfitCurrencies(parts, id))];
}

/**
 * The connection that a request describes, checked by the form of its kind of ledger. Refuses
 * `invalid_parameter` for an unknown kind and for a field that the form does not accept.
 */
function connectionOf(parts: AdminDependencies, request: ConnectLedgerRequest): LedgerConnection {
  const { form } = requireKind(parts, request.kind);
  const filled = fillForm(form, fieldsOf(request), (address, example) =>
    addressFaultOf(parts, address, example),
  );
  if (filled.kind === "wrong") throw new Refusal("invalid_parameter", filled.message, filled.field);
  const { values } = filled;
  return {
    kind: request.kind,
    grantKind: "custom",
    tenantId: values.tenant_id,
    clientId: values.client_id,
    clientSecret: values.client_secret,
    baseUrl: values.base_url.replace(/\/$/, ""),
    identityUrl: values.identity_url,
  };
}

function fieldsOf(request: ConnectLedgerRequest) {
  return {
    tenant_id: request.tenantId,
    client_id: request.clientId,
    client_secret: request.clientSecret,
    base_url: request.baseUrl,
    identity_url: request.identityUrl,
  };
}

/** An address must have no query: each call appends its own path and query. */
function addressFaultOf(
  { ledgerAddresses }: AdminDependencies,
  address: string,
  example: string | null,
): string | null {
  return (
    urlFault(address, ledgerAddresses, example ?? "https://ledger.example.com") ??
    (address.includes("?") ? "must have no query (?)" : null)
  );
}

/** The stored reason of a connection that an owner disconnected. */
const disconnectedByOwner = "Disconnected by an owner.";

/**
 * Ends the connection at the ledger before it ends here, because that call needs its tokens.
 * Returns false if the ledger has nothing to end. A custom connection is the organisation's own
 * app. A connection that the ledger ended itself (`invalid_grant`) is already over. Any other
 * failure ends nothing and refuses `ledger_refused` or `ledger_unavailable`.
 */
async function endInLedger(parts: AdminDependencies, organisationId: string): Promise<boolean> {
  const { connections } = parts.store;
  const ledgerConnection = await connections.inLedger(organisationId);
  const connection = await connections.view(organisationId);
  if (ledgerConnection === null || connection === null) return false;
  const { kind, clientId } = connection;
  const app = parts.ledgerApps.get(kind);
  if (app === undefined) {
    throw new Refusal(
      "ledger_unavailable",
      `${settingNamesOf(kind).clientId} is not set for this process: it cannot call the ledger.`,
    );
  }
  const answer = await app.end(organisationId, { clientId, ledgerConnection });
  if (answer.kind === "ok") return answer.value === "ended";
  const { code, message, param, retryAfterSeconds } = refusalOf(answer);
  throw new Refusal(code, `${message} ${stillConnected}`, param, retryAfterSeconds);
}

/** What an owner can do if the ledger does not end a connection. */
const stillConnected = "It is connected still: skip_ledger ends it here alone.";

/** Tries credentials on a separate adapter, so that wrong ones are never stored. */
async function describe(
  parts: AdminDependencies,
  connection: LedgerConnection,
): Promise<LedgerOrganisation> {
  const ledger = parts.connect(connection);
  try {
    const answer = await ledger.describe(readCall(parts));
    if (answer.kind !== "ok") throw refusalOf(answer);
    return answer.value;
  } finally {
    await ledger.close();
  }
}
