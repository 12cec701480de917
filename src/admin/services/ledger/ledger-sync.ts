/**
 * LedgerSyncService: the state of a ledger's sync, and starting one at once. LEDGER-4, LEDGER-5
 */
import { setTimeout as pause } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  LedgerSyncSchema,
  LedgerSyncService,
} from "../../../gen/proto/billing/admin/v1/ledger_sync_pb.ts";
import type { LedgerSyncView } from "../../../store/admin/ledger/ledger-sync.ts";
import { membersOf } from "../../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  requireOrganisation,
} from "../dependencies.ts";
import { notConnected } from "./ledger-answers.ts";

/**
 * How long a request waits for the sync, which needs a few calls to the ledger. A longer sync
 * continues in the background.
 */
const waitMs = 20_000;

/** The interval between two reads of the sync's state. */
const pollEveryMs = 250;

/** Implements the service. Refuses `organisation_not_found`, `ledger_not_connected`. */
export function ledgerSyncService(
  deps: AdminDependencies,
): AdminImplementation<typeof LedgerSyncService> {
  const view = async (organisationId: string): Promise<LedgerSyncView> => {
    const found = await deps.store.ledgerSync.get(organisationId);
    if (found === null) throw notConnected();
    return found;
  };
  return {
    getLedgerSync: async ({ organisation }) => {
      const { id } = await requireOrganisation(deps, organisation);
      return { sync: presentSync(id, await view(id)) };
    },
    syncLedger: async ({ organisation }, call) => {
      const { id } = await requireOrganisation(deps, organisation);
      const requestedAt = await deps.store.ledgerSync.request(actorOf(call), id);
      if (requestedAt === null) throw notConnected();
      await deps.startLedgerSync(id);
      const end = performance.now() + waitMs;
      for (;;) {
        const sync = await view(id);
        const finished = isSyncedSince(sync, requestedAt);
        // A pause that outlasts the wait is returned at once.
        const isPaused =
          sync.problem !== null && (sync.pausedMs ?? Number.POSITIVE_INFINITY) > waitMs;
        if (finished || isPaused || performance.now() >= end)
          return { finished, sync: presentSync(id, sync) };
        await pause(pollEveryMs);
      }
    },
  };
}

function isSyncedSince({ beganAt, endedAt }: LedgerSyncView, requestedAt: Date): boolean {
  return beganAt !== null && endedAt !== null && beganAt >= requestedAt && endedAt >= beganAt;
}

function presentSync(
  organisation: string,
  sync: LedgerSyncView,
): MessageInitShape<typeof LedgerSyncSchema> {
  return { ...membersOf(sync), organisation, waiting: sync.isWaiting };
}
