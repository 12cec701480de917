/** Civil dates as Xero takes them, and what is wrong with a document's. Facts: facts-ledger sections 1.1 and 1.3. */
import { type ExactJson, filledTextOf } from "../../../ledger/port/exact-json.ts";
import type { Tenant } from "../tenants.ts";

/**
 * A plain date, one with a time, or `/Date(ms)/` as `YYYY-MM-DD`; `otherwise` where none is sent, undefined where it
 * is none.
 */
export function dateOf(value: ExactJson | undefined, otherwise: string | null): string | null | undefined {
  const text = filledTextOf(value);
  if (text === undefined) return otherwise;
  const milliseconds = /^\/Date\((-?\d{1,14})(?:[+-]\d{4})?\)\/$/.exec(text)?.[1];
  const day = milliseconds ? new Date(Number(milliseconds)).toISOString().slice(0, 10) : text.slice(0, 10);
  const isPlain = /^\d{4}-\d{2}-\d{2}$/.test(day) && (milliseconds !== undefined || /^.{10}(T|$)/.test(text));
  const at = new Date(`${day}T00:00:00Z`);
  return isPlain && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : undefined;
}

/** Today where the organisation is. */
export function todayIn(timezone: string): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: timezone }).format(new Date());
}

/** What is wrong with a date of issue: none at all, or one in a closed period. */
export function issueDateFaults(tenant: Tenant, issueDate: string | null | undefined): readonly string[] {
  return issueDate ? lockFaults(tenant, issueDate) : ["The Date is not a valid date."];
}

/** What keeps a document of that day from being made, changed, voided or deleted: a closed period. */
export function lockFaults(tenant: Tenant, issueDate: string): readonly string[] {
  if (tenant.periodLockDate === null || issueDate > tenant.periodLockDate) return [];
  return [`The document date cannot be before the period lock date, currently set at ${tenant.periodLockDate}`];
}
