/** LedgerConnectionService: credentials, sealed as they come, and what the ledger offers. decisions §8. */
import { Refusal } from "../domain/refusal.ts";
import type {
  ConnectLedgerRequest,
  LedgerConnectionService,
} from "../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import type { LedgerOrganisation } from "../ledger/port.ts";
import { wordOf } from "../services/enums.ts";
import type { LedgerConnection } from "../store/ledger-connections.ts";
import { mappingKinds } from "./enums.ts";
import { askLedger, describeFailure, notConnected, readCall, refusalOf, tryLedger } from "./ledger-answers.ts";
import { type AdminImplementation, type AdminParts, actorOf, requireOrganisation } from "./parts.ts";
import { present, presentConnection, presentLedger } from "./present.ts";

/** Xero's own addresses. Facts: facts-ledger section 1.10. */
const xeroAddresses = {
  baseUrl: "https://api.xero.com/api.xro/2.0",
  identityUrl: "https://identity.xero.com/connect/token",
} as const;

/**
 * The methods of the service. Refuses `organisation_not_found`, `ledger_not_connected`, `ledger_refused`, `ledger_unavailable`,
 * and `invalid_state` for a connection to another tenant than the customers' contacts belong to.
 */
export function ledgerConnectionService(parts: AdminParts): AdminImplementation<typeof LedgerConnectionService> {
  const { connections } = parts.store;
  const view = async (organisationId: string) => {
    const connection = await connections.view(organisationId);
    if (connection === null) throw notConnected();
    return connection;
  };
  return {
    connectLedger: async (request, call) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      const connection = connectionOf(request);
      const ledger = request.skipCheck ? null : await describe(parts, connection);
      const saved = await connections.save(actorOf(call), id, connection);
      if (saved === "other_tenant") {
        throw new Refusal(
          "invalid_state",
          "There are customers: the connection must lead to the tenant they are of.",
          "tenant_id",
        );
      }
      // What was put off by a pause, or for want of a connection, is due again.
      await parts.wake(id);
      return {
        connection: presentConnection(saved, new Date()),
        ...present("ledger", ledger && presentLedger(ledger)),
      };
    },
    getLedgerConnection: async ({ organisation }) => {
      const { id } = await requireOrganisation(parts, organisation);
      return { connection: presentConnection(await view(id), new Date()) };
    },
    checkLedgerConnection: async ({ organisation }) => {
      const { id } = await requireOrganisation(parts, organisation);
      const answer = await tryLedger(parts, id, (ledger, call) => ledger.describe(call));
      const { pausedUntil } = presentConnection(await view(id), new Date());
      return {
        ok: answer.kind === "ok",
        ...(answer.kind === "ok" ? { ledger: presentLedger(answer.value) } : { problem: describeFailure(answer) }),
        ...present("pausedUntil", pausedUntil ?? null),
      };
    },
    listMappingOptions: async ({ organisation, kind }) => {
      const { id } = await requireOrganisation(parts, organisation);
      const list = wordOf(mappingKinds, kind) ?? "accounts";
      const data = await askLedger(parts, id, (ledger, call) => ledger.listMappingOptions(call, list));
      return {
        data: data.map(({ code, name, active, usableForRevenue }) => ({ code, name, active, usableForRevenue })),
      };
    },
  };
}

function connectionOf(request: ConnectLedgerRequest): LedgerConnection {
  return {
    kind: "xero",
    tenantId: request.tenantId,
    clientId: request.clientId,
    clientSecret: request.clientSecret,
    baseUrl: (request.baseUrl ?? xeroAddresses.baseUrl).replace(/\/$/, ""),
    identityUrl: request.identityUrl ?? xeroAddresses.identityUrl,
  };
}

/** Tries credentials on an adapter of their own, so that a wrong one is never kept. */
async function describe(parts: AdminParts, connection: LedgerConnection): Promise<LedgerOrganisation> {
  const ledger = parts.connect(connection);
  try {
    const answer = await ledger.describe(readCall(parts));
    if (answer.kind !== "ok") throw refusalOf(answer);
    return answer.value;
  } finally {
    await ledger.close();
  }
}
