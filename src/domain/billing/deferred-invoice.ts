/** Bills deferred amounts whose renewal never comes (UNITS-12). */
import type { BillingState } from "../model/billing-state.ts";
import { draftInvoice, prorationLine } from "./invoice-lines.ts";
import type { DueInvoice } from "./renewal-usage.ts";

/**
 * Returns the invoice of type `change` for deferred amounts whose renewal never comes; null if
 * there are none (UNITS-12).
 */
export function deferredInvoice({
  organisation,
  subscription,
  plan,
  period,
  deferred,
  today,
}: Pick<
  BillingState,
  "organisation" | "subscription" | "plan" | "period" | "deferred" | "today"
>): DueInvoice | null {
  if (deferred.length === 0) return null;
  const lines = deferred.map((line) => prorationLine(plan, line, organisation));
  const draft = draftInvoice(subscription, organisation, { type: "change", period, lines, today });
  return { draft, deferredIds: deferred.map(({ id }) => id), usage: [] };
}
