/**
 * Previews: the decision of each real operation without its write, its ledger and its idempotency
 * key, and the upcoming invoice (PREVIEW-1, PREVIEW-5).
 */
import { strict as assert } from "node:assert";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { isOver } from "../../domain/billing/due-date.ts";
import { laterOfClock } from "../../domain/calendar/test-clock.ts";
import { checkNothingRuns } from "../../domain/model/billing-state.ts";
import type { Invoice } from "../../domain/model/invoice.ts";
import { previewEnd } from "../../domain/previews/end.ts";
import {
  noId,
  previewCreation,
  previewRestoration,
  previewUnitsChange,
} from "../../domain/previews/operations.ts";
import type { Preview } from "../../domain/previews/preview.ts";
import { decideUpcoming, type Upcoming } from "../../domain/previews/upcoming.ts";
import { Refusal } from "../../domain/refusal.ts";
import { decideCreation } from "../../domain/subscriptions/create.ts";
import type {
  SubscriptionPreviewSchema,
  SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { presentPreview, presentUpcoming } from "../../present/previews.ts";
import type { PreviewReads } from "../../store/previews.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import type { Deps } from "../deps.ts";
import { readUnitsChange } from "./change-units.ts";
import { readCreation } from "./create.ts";
import { readEnd } from "./end.ts";

type Methods = Pick<
  Implementation<typeof SubscriptionService>,
  | "previewCreateSubscription"
  | "previewChangeUnits"
  | "previewEndSubscription"
  | "previewRestoreSubscription"
  | "getUpcomingInvoice"
>;

/**
 * Returns the methods. Each preview refuses as its operation decides, in the same order. The
 * upcoming invoice refuses `subscription_not_found` and `invalid_state`.
 */
export function previewMethods(deps: Pick<Deps, "tenant">): Methods {
  return {
    previewCreateSubscription: async (request, call) => {
      const wanted = readCreation(request);
      const { facts, testClock } = await deps.tenant(call).previews.loadCreation({
        subscriptionId: noId,
        customerCode: wanted.customerCode,
        planCode: wanted.planCode,
        chargeCodes: wanted.charges.map(({ chargeCode }) => chargeCode),
      });
      const now = laterOfClock(call.caller.now, testClock);
      const decision = decideCreation({ ...facts, now }, wanted);
      return { preview: await present(previewCreation(facts.organisation, decision), null) };
    },
    previewChangeUnits: async (request, call) => ({
      preview: await deps
        .tenant(call)
        .previews.onSubscription(request.id, (reads, before) =>
          present(previewUnitsChange(before, readUnitsChange(request)), reads),
        ),
    }),
    previewEndSubscription: async (request, call) => ({
      preview: await deps
        .tenant(call)
        .previews.onSubscription(request.id, async (reads, before) => {
          const facts = await reads.endFacts(before.state);
          return present(previewEnd(before, facts, readEnd(request)), reads);
        }),
    }),
    previewRestoreSubscription: async (request, call) => ({
      preview: await deps
        .tenant(call)
        .previews.onSubscription(request.id, async (reads, before) => {
          const facts = await reads.restorationFacts(before.state);
          return present(previewRestoration(before, facts), reads);
        }),
    }),
    getUpcomingInvoice: async ({ id }, call) => ({
      upcomingInvoice: await deps.tenant(call).previews.onSubscription(id, upcomingOf),
    }),
  };
}

async function upcomingOf(
  reads: PreviewReads,
  before: Preview,
): Promise<ReturnType<typeof presentUpcoming>> {
  const { state } = before;
  // A running amendment ends before the renewal. A running end may leave no renewal.
  if (state.running?.kind === "end_subscription") checkNothingRuns(state);
  const upcoming = decideUpcoming(state);
  if (upcoming === null) throw nothingUpcoming(before);
  return presentUpcoming(before, upcoming, await storedInvoices(before, upcoming, reads));
}

function nothingUpcoming({ state: { subscription } }: Preview): Refusal {
  assert(isOver(subscription), "a subscription that runs has a renewal date");
  const is = subscription.status === "ended" ? "has ended" : "is complete";
  return new Refusal("invalid_state", `The subscription ${is}: no invoice is upcoming.`);
}

/** `reads` is null for a subscription that does not exist yet: it has no stored invoices. */
async function present(
  preview: Preview,
  reads: PreviewReads | null,
): Promise<MessageInitShape<typeof SubscriptionPreviewSchema>> {
  const upcoming = upcomingUnlessRefused(preview);
  return presentPreview(preview, upcoming, await storedInvoices(preview, upcoming, reads));
}

/** Usage that cannot be billed refuses the renewal, but not this operation (USAGE-9). */
function upcomingUnlessRefused({ state }: Preview): Upcoming | null {
  try {
    return decideUpcoming(state);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** Loads the stored invoices that a preview shows, by id. */
async function storedInvoices(
  { amended, removed }: Preview,
  upcoming: Upcoming | null,
  reads: PreviewReads | null,
): Promise<ReadonlyMap<string, Invoice>> {
  const ids = [...amended, ...removed].map(({ invoiceId }) => invoiceId);
  const ahead = upcoming?.ahead ?? null;
  const all = ahead === null ? ids : [...ids, ahead.id];
  const invoices = (await reads?.invoices(all)) ?? [];
  return new Map(invoices.map((invoice) => [invoice.id, invoice]));
}
