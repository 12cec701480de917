/** Currencies: the decimal places of their minor unit, and which codes exist. */

/**
 * The currencies whose minor unit is not a hundredth. Source: ISO 4217, List One (current
 * currencies), "Minor unit". They are written out because `Intl` returns the places that are
 * customary in print (0 for IQD), not those of the standard.
 */
const minorUnitExceptions: ReadonlyMap<string, number> = new Map([
  ...[
    "BIF",
    "CLP",
    "DJF",
    "GNF",
    "ISK",
    "JPY",
    "KMF",
    "KRW",
    "PYG",
    "RWF",
    "UGX",
    "UYI",
    "VND",
    "VUV",
  ].map((code) => [code, 0] as const),
  ...["XAF", "XOF", "XPF"].map((code) => [code, 0] as const),
  ...["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"].map((code) => [code, 3] as const),
  ...["CLF", "UYW"].map((code) => [code, 4] as const),
]);

const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Returns the decimal places of a currency's minor unit: JPY 0, EUR 2, KWD 3. */
export function minorUnitDigits(currency: string): number {
  return minorUnitExceptions.get(currency) ?? 2;
}

/** Whether the text is the code of a current currency, in capitals (`EUR`). */
export function isCurrency(text: string): boolean {
  return currencies.has(text);
}
