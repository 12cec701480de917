/**
 * The first start over an empty database: its first data, the subscriptions of its sandbox, and the
 * text for a new user.
 */
import type { Counting } from "../progress-line.ts";
import { describeFirstData, type StackAddresses } from "./describe-first-data.ts";
import { createFirstData, type FirstDataSettings } from "./first-data.ts";
import { beginningOfHistory, createSandboxHistory } from "./sandbox-history.ts";

/**
 * Creates everything, and returns the text. Null if the database has an organisation already. A
 * sandbox without its subscriptions still works, so an error there is only a line of the log.
 */
export async function createFirstStart(
  settings: FirstDataSettings & StackAddresses,
  { begin, log }: Counting,
): Promise<string | null> {
  const sandboxClock = beginningOfHistory(new Date());
  const data = await createFirstData({ ...settings, sandboxClock });
  if (data === null) return null;
  const { sandbox, operatorToken } = data;
  const wait = begin("Subscriptions of the sandbox");
  try {
    await createSandboxHistory({ ...settings, sandbox, operatorToken });
    wait.end();
  } catch (error) {
    wait.drop();
    const cause = error instanceof Error ? error.message : String(error);
    log(`The sandbox has not all of its subscriptions: ${cause}`);
  }
  return describeFirstData(data, settings);
}
