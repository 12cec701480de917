/** Asks a person before what cannot be undone. */
import { RefusedError, UsageError } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Asks after the sentence whether to continue, unless `yes`. Throws `UsageError` if nobody can
 * answer, and `RefusedError` if the answer is no.
 */
export async function confirm(terminal: Terminal, sentence: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!terminal.interactive) throw new UsageError(`${sentence} Use --yes to confirm.`);
  const answer = await terminal.ask(`${sentence} Continue? [y/N] `, false);
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new RefusedError("not_confirmed", "Nothing was changed.");
}
