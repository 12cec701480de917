/** Whole numbers as a person types them. */

/** Returns the whole number that was typed, or undefined. */
export function typedUnits(text: string): number | undefined {
  const plain = text.replaceAll(",", "").trim();
  return /^\d{1,10}$/.test(plain) ? Number(plain) : undefined;
}
