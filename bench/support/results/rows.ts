/**
 * The rows of the table of `npm run bench -- all`, read from what the measurements print, and their
 * comparison with the rows that were kept last.
 */

/** A figure with its floor from the same run. A larger ratio is better. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly floor: number;
  readonly ratio: number;
}

/** A row whose ratio fell, or that is missing now. */
export interface WorseRow {
  readonly name: string;
  readonly before: number;
  /** Null if the row is missing. */
  readonly now: number | null;
}

/** How much of its ratio a row may lose. Two runs of one commit differ by less. */
const tolerance = 0.1;

const figureLine = /^figure (\S+) (\S+) (\S+) floor (\S+) ratio \S+$/gm;

/**
 * Reads the figures that have a floor. The ratio is computed again, because the printed one is
 * rounded to hundredths.
 */
export function readRows(output: string): readonly Row[] {
  return [...output.matchAll(figureLine)].map(([, name = "", value, unit = "", floor]) => ({
    name,
    value: Number(value),
    unit,
    floor: Number(floor),
    ratio: Number((Number(value) / Number(floor)).toPrecision(3)),
  }));
}

/**
 * Returns the rows whose ratio is worse by more than a tenth, or that are missing. Speeds are not
 * compared: they depend on the machine, and the floor was measured on the same one.
 */
export function worseRows(before: readonly Row[], now: readonly Row[]): readonly WorseRow[] {
  return before.flatMap(({ name, ratio }): readonly WorseRow[] => {
    const found = now.find((row) => row.name === name);
    if (found === undefined) return [{ name, before: ratio, now: null }];
    // Not `ratio < limit`: a ratio that is no number must not pass.
    const isAsGood = found.ratio >= ratio * (1 - tolerance);
    return isAsGood ? [] : [{ name, before: ratio, now: found.ratio }];
  });
}

/**
 * Returns the better of two measurements of each row. Other work on the machine makes a row worse
 * and never better.
 */
export function betterRows(first: readonly Row[], second: readonly Row[]): readonly Row[] {
  const better = first.map((row) => {
    const again = second.find(({ name }) => name === row.name);
    return again !== undefined && again.ratio > row.ratio ? again : row;
  });
  const found = new Set(first.map(({ name }) => name));
  return [...better, ...second.filter(({ name }) => !found.has(name))];
}
