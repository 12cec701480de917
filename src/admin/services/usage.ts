/**
 * UsageService of the admin API: lists usage with the document that bills it, checks its sums,
 * exports and drops events, and voids events. USAGE-13, USAGE-17, USAGE-18
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { formatDecimal } from "../../domain/money/decimal.ts";
import { unknownPosition } from "../../domain/refusal.ts";
import { endOfMonth, readExportedLines } from "../../domain/usage/exported-lines.ts";
import { requireVoidable, usageEventNotFound } from "../../domain/usage/void-event.ts";
import type {
  UsageEventSchema,
  UsageSchema,
  UsageService,
  UsageSumDifferenceSchema,
} from "../../gen/proto/billing/admin/v1/usage_pb.ts";
import { documentStatuses } from "../../present/enums.ts";
import type { SumDifference } from "../../store/admin/usage/check-usage-sums.ts";
import type { UsageOfPeriod, UsagePosition } from "../../store/admin/usage/usage.ts";
import { isId } from "../../store/database/ids.ts";
import type { StoredUsageEvent } from "../../store/usage/usage-events.ts";
import type { UsageDocument, UsagePlace } from "../../store/usage/usage-rows.ts";
import { usageStates } from "../present/enums.ts";
import { membersOf } from "../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  nowOf,
  pageOf,
  required,
  requireOrganisation,
} from "./dependencies.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `subscription_not_found`,
 * `usage_event_not_found`, `invalid_state`, and `invalid_parameter` for a `starting_after` of
 * another list.
 */
export function usageService(
  deps: Pick<AdminDependencies, "store">,
): AdminImplementation<typeof UsageService> {
  const { usage } = deps.store;
  return {
    listUsage: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { limit, startingAfter } = pageOf(request);
      const after = startingAfter === null ? null : readPosition(startingAfter);
      const page = await usage.list(id, request.subscription, {
        meterId: request.meter ?? null,
        limit,
        after,
      });
      const { data, hasMore } = required(page, "subscription_not_found");
      return { data: data.map(presentUsage), hasMore };
    },
    listUsageEvents: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const filters = { meterId: request.meter ?? null, periodIndex: request.period ?? null };
      const page = await usage.listEvents(id, request.subscription, filters, pageOf(request));
      const { data, hasMore } = required(page, "subscription_not_found");
      return { data: data.map(presentEvent), hasMore };
    },
    getUsageEvent: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const event = await usage.getEvent(owner.id, id);
      if (event === null) throw usageEventNotFound(await usage.wasDropped(owner.id, id));
      return { event: presentEvent(event) };
    },
    checkUsageSums: async ({ organisation, cursor }) => {
      const { id } = await requireOrganisation(deps, organisation);
      const { differences, read, next } = await usage.checkSums(id, cursor ?? null);
      const data = differences.map(presentDifference);
      return { data, read, hasMore: next !== null, nextCursor: next ?? undefined };
    },
    exportUsageEvents: async ({ organisation, lastMonth, cursor }) => {
      const owner = await requireOrganisation(deps, organisation);
      const end = endOfMonth(lastMonth, nowOf(owner));
      const { lines, next } = await usage.export(owner.id, end, cursor ?? null);
      return { lines: [...lines], hasMore: next !== null, nextCursor: next ?? undefined };
    },
    dropUsageEvents: async (request, call) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { dropped, before } = await deps.store.tenant(id, actorOf(call)).dropUsage({
        lines: readExportedLines(request.lines),
        events: request.exportEvents,
        checksum: request.exportChecksum,
        reason: request.reason,
      });
      return { dropped, droppedBefore: before };
    },
    previewVoidUsageEvent: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const preview = await usage.previewVoid(owner.id, id);
      if (preview === null) throw usageEventNotFound(await usage.wasDropped(owner.id, id));
      const { event, before, after, currency } = preview;
      return {
        event: presentEvent(event),
        before: membersOf(before),
        after: membersOf(after),
        currency,
        previewedState: preview.previewedState,
      };
    },
    voidUsageEvent: async ({ organisation, id, reason, previewedState }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const tenant = deps.store.tenant(owner.id, actorOf(call), previewedState);
      const order = { reason, now: nowOf(owner) };
      const event = await tenant.onUsageEvent(id, async (tx, found) => {
        if (found === null) throw usageEventNotFound(await usage.wasDropped(owner.id, id));
        requireVoidable(found);
        return tx.usageEvents.saveVoid(found, order);
      });
      return { event: presentEvent(event) };
    },
  };
}

/**
 * The id of usage in its list, `3.4.0199a0b2-…`: period, bill and meter. `readPosition` reads it.
 */
function usageId({ period, bill, meter }: UsagePlace): string {
  return `${period.index}.${bill}.${meter.id}`;
}

/** The position of an id, also if nothing stands there any more. Voided usage leaves the list. */
function readPosition(id: string): UsagePosition {
  const [, periodIndex, bill, meterId = ""] = /^([0-9]{1,9})\.([0-9]{1,9})\.(.*)$/.exec(id) ?? [];
  if (isId(meterId)) return { periodIndex: Number(periodIndex), bill: Number(bill), meterId };
  throw unknownPosition();
}

function presentUsage(usage: UsageOfPeriod): MessageInitShape<typeof UsageSchema> {
  return {
    ...membersOf(usage),
    id: usageId(usage),
    state: usageStates[usage.state],
    ...presentDocuments(usage),
  };
}

function presentDifference({
  subscriptionId,
  bill,
  periodIndex,
  meterId,
  stored,
  dropped,
  summed,
}: SumDifference): MessageInitShape<typeof UsageSumDifferenceSchema> {
  return {
    subscription: subscriptionId,
    bill,
    period: periodIndex,
    meter: meterId,
    events: stored.events,
    quantity: formatDecimal(stored.quantity),
    summedEvents: summed.events,
    summedQuantity: formatDecimal(summed.quantity),
    droppedEvents: dropped.events,
    droppedQuantity: formatDecimal(dropped.quantity),
  };
}

function presentEvent(event: StoredUsageEvent): MessageInitShape<typeof UsageEventSchema> {
  return {
    ...membersOf(event),
    id: event.eventId,
    subscription: event.subscriptionId,
    timestamp: event.occurredAt,
    received: event.createdAt.toISOString(),
    billed: event.isBilled,
    ...presentDocuments(event),
  };
}

function presentDocuments({ invoice, creditNote }: UsagePlace) {
  const shown = (document: UsageDocument | null) =>
    document === null ? undefined : { ...document, status: documentStatuses[document.status] };
  return { invoice: shown(invoice), creditNote: shown(creditNote) };
}
