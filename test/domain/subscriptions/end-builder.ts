/** Requests to end a subscription, invoices that the options may remove, and the decisions. */
import { Refusal } from "../../../src/domain/refusal.ts";
import {
  decideEnd,
  type EndRequest,
  type OpenInvoice,
} from "../../../src/domain/subscriptions/end.ts";
import { issued, type StateOrder, stateOf } from "./billing-state-builder.ts";

/** The state is inside the invoice window. */
export const inWindow = { today: "2026-06-20" };

/** A request for an end now, with these differences. */
export function end(differs: Partial<EndRequest> = {}): EndRequest {
  return { when: "now", deleteUnsentInvoices: false, voidApprovedInvoices: false, ...differs };
}

/** A request for an end at period end. */
export const atPeriodEnd = end({ when: "period_end" });
/** A request for an end now with both invoice options. */
export const both = end({ deleteUnsentInvoices: true, voidApprovedInvoices: true });

/** An invoice that an option may remove: not sent, of an earlier period. */
export function open(id: string, differs: Partial<OpenInvoice> = {}): OpenInvoice {
  return { ...issued({ periodIndex: 3 }), id, number: id, sent: false, ...differs };
}

/** The ids of the invoices that a request removes. */
export function removals(
  order: StateOrder,
  request: EndRequest,
  invoices: readonly OpenInvoice[] = [],
): readonly string[] {
  const state = stateOf(order);
  const all = [...state.invoices.map((invoice) => ({ ...invoice, sent: false })), ...invoices];
  const decision = decideEnd({ state, invoices: all }, request);
  if (decision.kind !== "ends") throw new Error(decision.kind);
  return decision.removals;
}

/** Code, param and message of the refusal, or `accepted` if there is none. */
export function refusal(order: StateOrder, request: EndRequest): [string, string | null, string] {
  const state = stateOf(order);
  try {
    decideEnd(
      { state, invoices: state.invoices.map((invoice) => ({ ...invoice, sent: false })) },
      request,
    );
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param, error.message];
    throw error;
  }
  return ["accepted", null, ""];
}

/** The running job that ends the subscription. */
export function running() {
  return {
    kind: "end_subscription",
    id: "ending",
    description: "the subscription is being ended",
  } as const;
}
