/** What a ledger told of what it offers, put down as documents are judged by it (`preflight.ts`). */
import type { LedgerReferenceData } from "./ledger-validation.ts";

/** What of a ledger's organisation decides whether it takes a document. */
export function organisationReferenceData({
  currency,
  periodLockDate,
  yearLockDate,
  capabilities: { multicurrency },
}: {
  readonly currency: string;
  readonly periodLockDate: string | null;
  readonly yearLockDate: string | null;
  readonly capabilities: { readonly multicurrency: boolean };
}): NonNullable<LedgerReferenceData["organisation"]> {
  return { currency, multicurrency, periodLockDate, yearLockDate };
}

/** A list as codes that are active or not. One code in two entries is active where one of them is. */
export function referenceDataList(
  options: readonly { readonly code: string; readonly active: boolean }[],
): Readonly<Record<string, boolean>> {
  const offer: Record<string, boolean> = {};
  for (const { code, active } of options) offer[code] = active || offer[code] === true;
  return offer;
}
