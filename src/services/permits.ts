/** What an organisation or a kind of key forbids in addition to scopes (ACCESS-3). */
import type { Caller } from "../transport/rpc/caller.ts";

/**
 * The rules by operation. A rule returns the reason of the `403 insufficient_scope`, or null if the
 * caller may.
 */
const rules: Readonly<Record<string, (caller: Caller) => string | null>> = {
  "billing.v1.CustomerService/CreateCustomer": ({ canCreateLedgerContacts }) =>
    canCreateLedgerContacts
      ? null
      : "The organisation does not allow customers to be created through the API.",
  "billing.v1.UsageService/ReportUsage": ({ usageAllowed, livemode }) => {
    if (usageAllowed) return null;
    return livemode
      ? "The organisation has not allowed usage to be reported."
      : "A test key cannot report usage.";
  },
};

/** Returns why this caller may not call this operation (`billing.v1.Service/Method`), or null. */
export function permits(operationName: string, caller: Caller): string | null {
  return rules[operationName]?.(caller) ?? null;
}
