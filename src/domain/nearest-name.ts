/** Finds the name that somebody who wrote an unknown one probably meant. */

/** The search takes time by the length of the name. No name that we know is longer. */
const maxLength = 60;

/**
 * Returns the name with the fewest edits, or null if more than half of the letters differ. A name
 * that begins or ends with the unknown one counts as one edit: `plan` and `code` are near
 * `plan_code`.
 */
export function nearestOf(name: string, candidates: readonly string[]): string | null {
  if (name.length > maxLength) return null;
  const [best] = candidates
    .map((candidate) => {
      const isPart = candidate.startsWith(`${name}_`) || candidate.endsWith(`_${name}`);
      return { candidate, edits: isPart ? 1 : editsBetween(name, candidate) };
    })
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

/** Returns the question after the refusal of an unknown name, or nothing if no name is near. */
export function nearestQuestion(name: string, candidates: readonly string[]): string {
  const nearest = nearestOf(name, candidates);
  return nearest === null ? "" : `. Is ${nearest} meant?`;
}
