/** Finds the name that somebody who wrote an unknown one probably meant. */

/** Returns the name with the fewest edits, or null if more than half of the letters differ. */
export function nearestOf(name: string, candidates: readonly string[]): string | null {
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: editsBetween(name, candidate) }))
    .sort((one, other) => one.edits - other.edits);
  return best === undefined || best.edits > name.length / 2 ? null : best.candidate;
}

/** Returns the Levenshtein distance. */
function editsBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1];
    for (const [column, wanted] of [...other].entries()) {
      const replaced = (above[column] ?? 0) + (letter === wanted ? 0 : 1);
      current.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    above = current;
  }
  return above.at(-1) ?? 0;
}
