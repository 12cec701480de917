/**
 * Converts the reference data that a ledger reported into the form that `ledger-validation.ts`
 * validates documents by.
 */
import type { LedgerReferenceData } from "./validation.ts";

/** Returns the properties of a ledger's organisation that decide whether it accepts a document. */
export function organisationReferenceData({
  currency,
  periodLockDate,
  yearLockDate,
  multicurrency,
}: {
  readonly currency: string;
  readonly periodLockDate: string | null;
  readonly yearLockDate: string | null;
  readonly multicurrency: boolean;
}): NonNullable<LedgerReferenceData["organisation"]> {
  return { currency, multicurrency, periodLockDate, yearLockDate };
}

/**
 * Returns a list as a record of code to active. A code with two entries is active if one of them
 * is.
 */
export function referenceDataList(
  options: readonly { readonly code: string; readonly active: boolean }[],
): Readonly<Record<string, boolean>> {
  const referenceData: Record<string, boolean> = {};
  for (const { code, active } of options)
    referenceData[code] = active || referenceData[code] === true;
  return referenceData;
}
