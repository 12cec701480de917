/** Civil dates as Xero reads them, and the validation of a document's dates. */
import { type ExactJson, filledTextOf } from "../../../../src/ledger/port/exact-json.ts";
import type { DemoTenant } from "../tenants.ts";

/**
 * Returns a plain date or a date with a time as `YYYY-MM-DD`. Returns `otherwise` for an absent
 * value and undefined for an invalid one.
 */
export function dateOf(
  value: ExactJson | undefined,
  otherwise: string | null,
): string | null | undefined {
  const text = filledTextOf(value);
  if (text === undefined) return otherwise;
  const day = text.slice(0, 10);
  const isPlain = /^\d{4}-\d{2}-\d{2}(T|$)/.test(text);
  const at = new Date(`${day}T00:00:00Z`);
  return isPlain && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day)
    ? day
    : undefined;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the current date in the organisation's timezone. To create a format takes 0.3 ms. */
export function todayIn(timezone: string): string {
  const format = formats.get(timezone) ?? new Intl.DateTimeFormat("en-CA", { timeZone: timezone });
  formats.set(timezone, format);
  return format.format(new Date());
}

/** Returns the faults of an issue date: invalid, or in a closed period (XERO-13). */
export function issueDateFaults(
  tenant: DemoTenant,
  issueDate: string | null | undefined,
): readonly string[] {
  return issueDate ? lockFaults(tenant, issueDate) : ["The Date is not a valid date."];
}

/** Returns the faults of any change to a document of that day: a closed period (XERO-13). */
export function lockFaults(tenant: DemoTenant, issueDate: string): readonly string[] {
  if (tenant.periodLockDate === null || issueDate > tenant.periodLockDate) return [];
  return [
    "The document date cannot be before the period lock date, " +
      `currently set at ${tenant.periodLockDate}`,
  ];
}
