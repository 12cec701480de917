/**
 * LedgerMirrorService: the state of a ledger's sync, and starting one at once. LEDGER-4, LEDGER-5
 */
import { setTimeout as pause } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  LedgerMirrorService,
  LedgerSyncSchema,
} from "../../gen/proto/billing/admin/v1/ledger_mirror_pb.ts";
import type { LedgerSyncView } from "../../store/admin/ledger/ledger-sync.ts";
import { present } from "../present/present.ts";
import {
  type AdminImplementation,
  type AdminParts,
  actorOf,
  requireOrganisation,
} from "./dependencies.ts";
import { notConnected } from "./ledger-answers.ts";

/**
 * How long a request waits for the sync, which needs a few calls to the ledger. A longer sync
 * continues in the background.
 */
const waitMs = 20_000;

/** The interval between two reads of the sync's state. */
const lookEveryMs = 250;

/** Implements the service. Refuses `organisation_not_found`, `ledger_not_connected`. */
export function ledgerSyncService(
  parts: AdminParts,
): AdminImplementation<typeof LedgerMirrorService> {
  const view = async (organisationId: string): Promise<LedgerSyncView> => {
    const found = await parts.store.ledgerSync.get(organisationId);
    if (found === null) throw notConnected();
    return found;
  };
  return {
    getLedgerSync: async ({ organisation }) => {
      const { id } = await requireOrganisation(parts, organisation);
      return { sync: presentSync(id, await view(id)) };
    },
    syncLedger: async ({ organisation }, call) => {
      const { id } = await requireOrganisation(parts, organisation);
      const askedAt = await parts.store.ledgerSync.request(actorOf(call), id);
      if (askedAt === null) throw notConnected();
      await parts.startLedgerSync(id);
      const end = performance.now() + waitMs;
      for (;;) {
        const sync = await view(id);
        const finished = isReadSince(sync, askedAt);
        // A pause that outlasts the wait is returned at once.
        const isPaused =
          sync.problem !== null &&
          (sync.notBefore?.getTime() ?? Number.POSITIVE_INFINITY) > Date.now() + waitMs;
        if (finished || isPaused || performance.now() >= end)
          return { finished, sync: presentSync(id, sync) };
        await pause(lookEveryMs);
      }
    },
  };
}

function isReadSince({ beganAt, endedAt }: LedgerSyncView, askedAt: Date): boolean {
  return beganAt !== null && endedAt !== null && beganAt >= askedAt && endedAt >= beganAt;
}

function presentSync(
  organisation: string,
  sync: LedgerSyncView,
): MessageInitShape<typeof LedgerSyncSchema> {
  const {
    isWaiting: waiting,
    problem,
    customersChanged,
    creditNotesChanged,
    invoicesChanged,
    notifications,
  } = sync;
  return {
    organisation,
    waiting,
    customersChanged,
    creditNotesChanged,
    invoicesChanged,
    hints: notifications,
    ...present("beganAt", sync.beganAt?.toISOString() ?? null),
    ...present("endedAt", sync.endedAt?.toISOString() ?? null),
    ...present("problem", problem),
    ...present("hintsProblem", sync.notificationsProblem),
    ...present("notBefore", sync.notBefore?.toISOString() ?? null),
  };
}
