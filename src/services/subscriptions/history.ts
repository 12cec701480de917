/** Lists a subscription's changes of units and its billing periods. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  BillingPeriodSchema,
  SubscriptionService,
  UnitChangeSchema,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { optional } from "../../present/objects.ts";
import type {
  ListedPeriod,
  ListedUnitChange,
} from "../../store/subscriptions/subscription-history.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import type { Deps } from "../deps.ts";
import { getObject, pageOf } from "../reading.ts";

type Methods = Pick<Implementation<typeof SubscriptionService>, "listUnitChanges" | "listPeriods">;

/**
 * Returns the methods. Both refuse `subscription_not_found`, and `invalid_parameter` for a wrong
 * position.
 */
export function historyMethods(deps: Deps): Methods {
  const get = getObject(deps, ({ subscriptions }) => subscriptions, "subscription_not_found");
  return {
    listUnitChanges: async (request, call) => {
      const { subscription } = await get(request.id, call);
      const { subscriptions } = deps.tenant(call);
      const page = await subscriptions.listUnitChanges(subscription.id, pageOf(request));
      return { ...page, data: page.data.map(presentUnitChange) };
    },
    listPeriods: async (request, call) => {
      const { subscription } = await get(request.id, call);
      const { subscriptions } = deps.tenant(call);
      const page = await subscriptions.listPeriods(subscription.id, pageOf(request));
      return { ...page, data: page.data.map(presentPeriod) };
    },
  };
}

function presentUnitChange(change: ListedUnitChange): MessageInitShape<typeof UnitChangeSchema> {
  return {
    id: change.id,
    object: "unit_change",
    subscription: change.subscriptionId,
    fromUnits: change.fromUnits,
    units: change.toUnits,
    ...optional("effectiveDate", change.effectiveDate),
    ...optional("invoice", change.invoiceId),
    ...optional("renewalInvoice", change.renewalInvoiceId),
    deferredToRenewal: change.deferred,
    ...optional("creditNote", change.creditNoteId),
    created: (change.changedAt ?? change.createdAt).toISOString(),
  };
}

function presentPeriod(period: ListedPeriod): MessageInitShape<typeof BillingPeriodSchema> {
  return {
    id: `${period.index}`,
    object: "period",
    subscription: period.subscriptionId,
    index: period.index,
    start: period.startDate,
    end: period.endDate,
    ...optional("billedUnits", period.billedUnits),
    ...optional("priceOverride", period.priceOverride),
    setupMode: period.setupMode,
  };
}
