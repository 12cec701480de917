/** What the domain takes to be so. It needs nothing of Node, because browsers price plans too. */

/** Something that was taken to be so is not: a defect, and no answer to a client. */
class AssertionError extends Error {}

/** Throws with the message unless the condition holds. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}
