/** Prints figures in the one form that all measurements share. */

/**
 * Prints `figure NAME VALUE UNIT floor VALUE ratio R`. The floor is the speed of the bare parts,
 * measured in the same run. Without a floor the line ends after the unit.
 */
export function printFigure(name: string, value: number, unit: string, floor?: number): void {
  const against =
    floor === undefined ? "" : ` floor ${plain(floor)} ratio ${(value / floor).toFixed(2)}`;
  console.log(`figure ${name} ${plain(value)} ${unit}${against}`);
}

/** The median of the values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Three significant digits. Whole numbers from a hundred on. */
function plain(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
