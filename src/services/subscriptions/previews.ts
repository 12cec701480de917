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
import { type PreviewedEvents, previewedEvents } from "../../domain/previews/events.ts";
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
import { explained } from "../../present/explanations.ts";
import { presentPreview, presentUpcoming, type ShownPreview } from "../../present/previews.ts";
import { hashName } from "../../store/documents/line-facts.ts";
import type { PreviewReads } from "../../store/previews.ts";
import type { Call } from "../../transport/rpc/caller.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import type { Deps } from "../deps.ts";
import { readUnitsChange } from "./change-units.ts";
import { readCreation } from "./create.ts";
import { readEnd } from "./end.ts";

type Service = Implementation<typeof SubscriptionService>;
type Previewing =
  | "previewCreateSubscription"
  | "previewChangeUnits"
  | "previewEndSubscription"
  | "previewRestoreSubscription";

/** The answer of a preview. Only operators are shown the events: its public message has none. */
export interface PreviewAnswer {
  readonly preview: MessageInitShape<typeof SubscriptionPreviewSchema>;
  readonly events: readonly PreviewedEvents[];
}

/** The methods. */
export type PreviewMethods = Pick<Service, "getUpcomingInvoice"> & {
  readonly [Name in Previewing]: (...call: Parameters<Service[Name]>) => Promise<PreviewAnswer>;
};

/** What a preview is shown by. Those of a subscription that does not exist yet find no invoices. */
type Reads = Pick<PreviewReads, "now" | "invoices">;

/** Returns what is shown of a preview. */
type Show = (preview: Preview, upcoming: Upcoming | null, reads: Reads) => Promise<ShownPreview>;

/**
 * Returns the methods. Each preview refuses as its operation decides, in the same order. The
 * upcoming invoice refuses `subscription_not_found` and `invalid_state`.
 */
export function previewMethods(deps: Pick<Deps, "tenant" | "onContradiction">): PreviewMethods {
  const showTo =
    ({ caller }: Call): Show =>
    async (preview, upcoming, reads) => ({
      preview,
      stored: await storedInvoices(preview, upcoming, reads),
      now: reads.now,
      explain: (document) =>
        explained(caller.organisationId, document, hashName, deps.onContradiction),
    });
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
      const preview = previewCreation(
        facts.organisation,
        decideCreation({ ...facts, now }, wanted),
      );
      return present(preview, { now, invoices: async () => [] }, showTo(call));
    },
    previewChangeUnits: (request, call) =>
      deps
        .tenant(call)
        .previews.onSubscription(request.id, (reads, before) =>
          present(previewUnitsChange(before, readUnitsChange(request)), reads, showTo(call)),
        ),
    previewEndSubscription: (request, call) =>
      deps.tenant(call).previews.onSubscription(request.id, async (reads, before) => {
        const facts = await reads.endFacts(before.state);
        return present(previewEnd(before, facts, readEnd(request)), reads, showTo(call));
      }),
    previewRestoreSubscription: (request, call) =>
      deps.tenant(call).previews.onSubscription(request.id, async (reads, before) => {
        const facts = await reads.restorationFacts(before.state);
        return present(previewRestoration(before, facts), reads, showTo(call));
      }),
    getUpcomingInvoice: async ({ id }, call) => ({
      upcomingInvoice: await deps
        .tenant(call)
        .previews.onSubscription(id, (reads, before) => upcomingOf(before, reads, showTo(call))),
    }),
  };
}

async function upcomingOf(
  before: Preview,
  reads: Reads,
  show: Show,
): Promise<ReturnType<typeof presentUpcoming>> {
  const { state } = before;
  // A running amendment ends before the renewal. A running end may leave no renewal.
  if (state.running?.kind === "end_subscription") checkNothingRuns(state);
  const upcoming = decideUpcoming(state);
  if (upcoming === null) throw nothingUpcoming(before);
  return presentUpcoming(await show(before, upcoming, reads), upcoming);
}

function nothingUpcoming({ state: { subscription } }: Preview): Refusal {
  assert(isOver(subscription), "a subscription that runs has a renewal date");
  const is = subscription.status === "ended" ? "has ended" : "is complete";
  return new Refusal("invalid_state", `The subscription ${is}: no invoice is upcoming.`);
}

async function present(preview: Preview, reads: Reads, show: Show): Promise<PreviewAnswer> {
  const upcoming = upcomingUnlessRefused(preview);
  const shown = await show(preview, upcoming, reads);
  return {
    preview: presentPreview(shown, upcoming),
    events: previewedEvents(preview, shown.stored),
  };
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
  reads: Reads,
): Promise<ReadonlyMap<string, Invoice>> {
  const ids = [...amended, ...removed].map(({ invoiceId }) => invoiceId);
  const ahead = upcoming?.ahead ?? null;
  const invoices = await reads.invoices(ahead === null ? ids : [...ids, ahead.id]);
  return new Map(invoices.map((invoice) => [invoice.id, invoice]));
}
