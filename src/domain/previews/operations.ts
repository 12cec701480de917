/**
 * Previews of the operations on a subscription. Each takes the decision of the real operation and
 * applies it, so that its refusals are the same, in the same order (PREVIEW-1).
 */
import { withUnits } from "../billing/line-facts.ts";
import { todayIn } from "../calendar/civil-date.ts";
import type { BillingState, DeferredLine } from "../model/billing-state.ts";
import type { OrganisationSettings } from "../model/organisation-settings.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
  type UnitsDecision,
} from "../subscriptions/change-units.ts";
import { isUnamendable } from "../subscriptions/change-units-rules.ts";
import type { CreationDecision } from "../subscriptions/create.ts";
import { decideRestoration, type RestorationFacts } from "../subscriptions/restore.ts";
import { afterPosting, credit, issue, type Preview, periodsAfter, unchanged } from "./preview.ts";

/** The nil UUID: the id of a subscription that does not exist yet. */
export const noId = "00000000-0000-0000-0000-000000000000";

/** Returns the preview of a decided creation. */
export function previewCreation(
  organisation: OrganisationSettings,
  decision: CreationDecision,
): Preview {
  const { plan, subscription, firstPeriod, renewalPeriod, invoice, renewalInvoice } = decision;
  const flags = { prorationClosed: false, billedSeparately: false };
  const state: BillingState = {
    organisation,
    plan,
    subscription: { ...subscription, id: noId },
    period: { ...firstPeriod, ...flags },
    nextPeriod: renewalPeriod && { ...renewalPeriod, ...flags },
    endRemovedRenewal: false,
    invoices: [],
    deferred: [],
    usage: [],
    usageBills: { open: 0, billed: 0 },
    running: null,
    today: todayIn(subscription.timezone, subscription.createdAt),
  };
  return [invoice, renewalInvoice].reduce<Preview>(
    (now, draft) => (draft === null ? now : issue(now, { draft, deferredIds: [] })),
    { ...unchanged(state), was: null },
  );
}

/**
 * Previews a change of units. Refuses as `decideUnitsChange` does. An invoice that is still to be
 * sent counts as accepted by the ledger if the change could not amend it otherwise: the change
 * itself waits for the ledger then.
 */
export function previewUnitsChange(before: Preview, request: UnitsChangeRequest): Preview {
  try {
    return applyUnitsChange(before, decideUnitsChange(before.state, request));
  } catch (error) {
    if (!isUnamendable(error)) throw error;
    const decision = decideUnitsChange(afterPosting(before.state), request);
    const changed = applyUnitsChange(before, decision);
    return { ...changed, assumptions: ["invoices_accepted", ...changed.assumptions] };
  }
}

function applyUnitsChange(before: Preview, decision: UnitsDecision): Preview {
  const { state } = before;
  const { units, periods, invoice, joined, amended, deferred, creditNote } = decision;
  const amendments = [joined, amended].filter((one) => one !== null);
  const waiting: readonly DeferredLine[] =
    deferred === null ? [] : [{ ...deferred, id: "new deferred line" }];
  const changed: Preview = {
    ...before,
    state: {
      ...state,
      ...periodsAfter(state, periods, state.period.index),
      subscription: withUnits(state.subscription, { units }),
      deferred: [...state.deferred, ...waiting],
    },
    amended: amendments,
    assumptions: amendments.length === 0 ? [] : ["amendments_accepted"],
  };
  const issued = invoice === null ? changed : issue(changed, { draft: invoice, deferredIds: [] });
  return creditNote === null ? issued : credit(issued, creditNote);
}

/**
 * Previews a restoration. Refuses as `decideRestoration` does. `facts` are of the state of
 * `before`, with all of its usage.
 */
export function previewRestoration(before: Preview, facts: RestorationFacts): Preview {
  const { subscription, periods, invoices, creditNote } = decideRestoration(facts);
  const { state } = facts;
  const restored: Preview = {
    ...before,
    state: { ...state, ...periodsAfter(state, periods, state.period.index), subscription },
  };
  const issued = invoices.reduce((now, invoice) => issue(now, invoice), restored);
  return creditNote === null ? issued : credit(issued, creditNote);
}
