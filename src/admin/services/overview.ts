/** OverviewService: the figures of an organisation at a glance. ADMIN-19 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetOverviewResponseSchema,
  LedgerState,
  type OverviewService,
} from "../../gen/proto/billing/admin/v1/overview_pb.ts";
import { WebhookEndpointStatus } from "../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import { documentStatuses, subscriptionStatuses } from "../../present/enums.ts";
import type { EndpointFigures, Figures, RenewalFigures } from "../../store/overview/figures.ts";
import type { Overview } from "../../store/overview/read-overview.ts";
import { documentStates, endpointStatuses } from "../present/enums.ts";
import { membersOf } from "../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  required,
  requireOrganisation,
} from "./dependencies.ts";

/** Implements the service. Refuses `organisation_not_found`. */
export function overviewService(
  deps: Pick<AdminDependencies, "store">,
): AdminImplementation<typeof OverviewService> {
  return {
    getOverview: async ({ organisation }) => {
      const { id } = await requireOrganisation(deps, organisation);
      const overview = required(await deps.store.overview(id), "organisation_not_found");
      return {
        asOf: overview.asOf?.toISOString(),
        ...(overview.figures !== null && presentFigures(overview.figures)),
        ledger: presentLedgerFigures(overview),
      };
    },
  };
}

type Shown = Omit<MessageInitShape<typeof GetOverviewResponseSchema>, "$typeName" | "$unknown">;

function presentFigures(figures: Figures): Shown {
  const { subscriptions, documents } = figures;
  const { states, statuses, notInLedger } = documents;
  return {
    today: figures.today,
    recurring: [...subscriptions.recurring],
    subscriptions: countsOf(subscriptionStatuses, subscriptions.statuses).map(
      ([status, count]) => ({ status, count }),
    ),
    started: subscriptions.started,
    ended: subscriptions.ended,
    parked: subscriptions.parked,
    renewals: figures.renewals.map(({ date, due, billed, failed, ending }) => ({
      date,
      due: presentRenewals(due),
      billed: presentRenewals(billed),
      failed: presentRenewals(failed),
      ...(ending !== undefined && { ending: presentRenewals(ending) }),
    })),
    documents: countsOf(documentStates, states).map(([state, count]) => ({ state, count })),
    invoices: countsOf(documentStatuses, statuses).map(([status, count]) => ({ status, count })),
    notInLedger: { count: notInLedger.count, oldest: notInLedger.oldest ?? undefined },
    endpoints: figures.endpoints.map(presentEndpoint),
  };
}

/** The counts above zero by the values of their words, in the order of the enum. */
function countsOf<Word extends string, Value>(
  values: Readonly<Record<Word, Value>>,
  counts: Partial<Readonly<Record<Word, number>>>,
): readonly [Value, number][] {
  return (Object.keys(values) as Word[]).flatMap((word): [Value, number][] => {
    const { [word]: count } = counts;
    return count === undefined || count === 0 ? [] : [[values[word], count]];
  });
}

function presentRenewals({ count, values }: RenewalFigures) {
  return { count, values: [...values] };
}

function presentEndpoint({ status, failingSince, ...endpoint }: EndpointFigures) {
  const shown = endpointStatuses[status] ?? WebhookEndpointStatus.UNSPECIFIED;
  return { ...endpoint, status: shown, failingSince: failingSince ?? undefined };
}

function presentLedgerFigures(overview: Overview) {
  const { pausedUntil, pausedReason, disconnectedReason } = overview;
  return {
    state: ledgerStateOf(overview),
    ...membersOf({
      pausedUntil,
      reason: disconnectedReason ?? pausedReason,
      lastSync: overview.syncedAt,
      callsLeft: overview.dayRemaining,
      callsLimit: overview.dayMost,
      callsReported: overview.dayObservedAt,
    }),
  };
}

function ledgerStateOf({ isConnected, isDisconnected, pausedUntil }: Overview): LedgerState {
  if (!isConnected) return LedgerState.NONE;
  if (isDisconnected) return LedgerState.DISCONNECTED;
  return pausedUntil === null ? LedgerState.CONNECTED : LedgerState.PAUSED;
}
