/**
 * Usage rating: prices each meter's quantity of each period over its whole sum, less what was
 * billed of it before (MONEY-7).
 */

export type { UsageCharges, UsageFacts, UsageLine } from "../billing/usage-charges.ts";
export { chargeUsage, usageInvoice } from "../billing/usage-charges.ts";
export type { BilledUsage, OpenUsage, UsageBills } from "../model/usage.ts";
