/**
 * Lists a subscription's usage by period and meter and what bills took of it, and retrieves usage
 * events (USAGE-16).
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { formatDecimal, parseDecimal } from "../domain/money/decimal.ts";
import { Refusal, unknownPosition } from "../domain/refusal.ts";
import { usageEventNotFound } from "../domain/usage/void-event.ts";
import {
  type MeterUsageSchema,
  type StoredUsageEventSchema,
  type UsageBillSchema,
  UsageEventBilling,
  UsageEventStatus,
  type UsageService,
} from "../gen/proto/billing/v1/usage_pb.ts";
import { optional } from "../present/objects.ts";
import { isId } from "../store/database/ids.ts";
import type { UsageOfMeter, UsagePosition } from "../store/usage/read-usage.ts";
import { type BilledUsage, usageBillId } from "../store/usage/usage-bills.ts";
import type { StoredUsageEvent } from "../store/usage/usage-events.ts";
import type { MethodImplementation } from "../transport/rpc/implementation.ts";
import type { Deps } from "./deps.ts";
import { getObject, pageOf } from "./reading.ts";

type Methods = typeof UsageService.method;

/** Returns the list. Refuses `subscription_not_found`, and `invalid_parameter` for its position. */
export function listUsage(deps: Pick<Deps, "tenant">): MethodImplementation<Methods["listUsage"]> {
  return async (request, call) => {
    const { limit, startingAfter } = pageOf(request);
    const after = startingAfter === null ? null : readPosition(startingAfter);
    const query = { meterCode: request.meterCode ?? null, limit, after };
    const page = await deps.tenant(call).usage.list(request.id, query);
    if (page === null)
      throw new Refusal("subscription_not_found", "There is no subscription with this id.");
    return { data: page.data.map(presentUsage), hasMore: page.hasMore };
  };
}

/** Returns the list of bills. Refuses as `listUsage` does. */
export function listUsageBills(
  deps: Pick<Deps, "tenant">,
): MethodImplementation<Methods["listUsageBills"]> {
  const get = getObject(deps, ({ subscriptions }) => subscriptions, "subscription_not_found");
  return async (request, call) => {
    const { subscription } = await get(request.id, call);
    const page = await deps.tenant(call).usage.listBills(subscription.id, pageOf(request));
    return { ...page, data: page.data.map(presentBill) };
  };
}

/** Returns the look-up. Refuses `usage_event_not_found`. */
export function getUsageEvent(
  deps: Pick<Deps, "tenant">,
): MethodImplementation<Methods["getUsageEvent"]> {
  return async ({ eventId }, call) => {
    const { usage } = deps.tenant(call);
    const event = await usage.getEvent(eventId);
    if (event === null) throw usageEventNotFound(await usage.wasDropped(eventId));
    return { event: presentEvent(event) };
  };
}

/** The position of an id, also if nothing stands there any more. Voided usage leaves the list. */
function readPosition(id: string): UsagePosition {
  const [, periodIndex, meterId = ""] = /^([0-9]{1,9})\.(.*)$/.exec(id) ?? [];
  if (isId(meterId)) return { periodIndex: Number(periodIndex), meterId: meterId.toLowerCase() };
  throw unknownPosition();
}

function presentUsage(usage: UsageOfMeter): MessageInitShape<typeof MeterUsageSchema> {
  const { period, meter, currency } = usage;
  return {
    id: `${period.index}.${meter.id}`,
    object: "meter_usage",
    subscription: usage.subscriptionId,
    meter: meter.id,
    meterCode: meter.code,
    unitLabel: meter.unitLabel,
    period: { start: period.start, end: period.end },
    events: Number(usage.events),
    quantity: formatDecimal(usage.quantity),
    billedQuantity: formatDecimal(usage.billedQuantity),
    lateQuantity: formatDecimal(usage.lateQuantity),
    currency,
    billedAmount: formatDecimal(usage.billedAmount),
    amount: formatDecimal(usage.amount),
  };
}

function presentBill(usage: BilledUsage): MessageInitShape<typeof UsageBillSchema> {
  const { period } = usage;
  return {
    id: usageBillId(usage.bill, period.index, usage.meterId),
    object: "usage_bill",
    subscription: usage.subscriptionId,
    bill: usage.bill,
    periodIndex: period.index,
    period: { start: period.start, end: period.end },
    meter: usage.meterId,
    meterCode: usage.meterCode,
    events: usage.events,
    quantity: formatDecimal(usage.quantity),
    before: formatDecimal(usage.before),
    priced: formatDecimal(usage.priced),
    currency: usage.currency,
    amount: formatDecimal(usage.amount),
    ...optional("invoice", usage.invoiceId),
    ...optional("creditNote", usage.creditNoteId),
  };
}

function presentEvent(event: StoredUsageEvent): MessageInitShape<typeof StoredUsageEventSchema> {
  const { period, meter, invoice, creditNote, voidedAt } = event;
  return {
    eventId: event.eventId,
    object: "usage_event",
    status: UsageEventStatus.CREATED,
    subscription: event.subscriptionId,
    meter: meter.id,
    meterCode: meter.code,
    quantity: formatDecimal(parseDecimal(event.quantity)),
    timestamp: event.occurredAt,
    created: event.createdAt.toISOString(),
    period: { start: period.start, end: period.end },
    billing: billingOf(event),
    ...(invoice === null ? {} : { invoice: invoice.id }),
    ...(creditNote === null ? {} : { creditNote: creditNote.id }),
    ...(voidedAt === null ? {} : { voided: voidedAt.toISOString() }),
  };
}

function billingOf({ voidedAt, isBilled, invoice, creditNote }: StoredUsageEvent) {
  if (voidedAt !== null) return UsageEventBilling.VOIDED;
  if (!isBilled) return UsageEventBilling.OPEN;
  const isOnDocument = invoice !== null || creditNote !== null;
  return isOnDocument ? UsageEventBilling.BILLED : UsageEventBilling.NOT_BILLED;
}
