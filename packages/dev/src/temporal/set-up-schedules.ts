/** The part of a deployment that the local start does itself: search attributes and schedules. */
import { readTemporalOnly } from "../../../../src/main/settings/temporal-only.ts";
import { connectTemporal } from "../../../../src/worker/temporal/connect.ts";
import { OtherQueue } from "../../../../src/worker/temporal/schedules.ts";
import { setUpTemporal } from "../../../../src/worker/temporal/set-up.ts";

/**
 * Creates or changes the schedules, as a deployment does. If an external Temporal cannot be
 * reached, the start goes on without them, and the worker warns.
 */
export async function setUpSchedules(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<void> {
  const { temporal: settings, taskQueue } = readTemporalOnly(env);
  const temporal = connectTemporal(settings);
  try {
    await setUpTemporal(temporal, { taskQueue, move: false, log: () => undefined });
  } catch (error) {
    if (error instanceof OtherQueue) throw new Error(error.message, { cause: error });
    const why = error instanceof Error ? error.message : String(error);
    log(`Schedules    not created (${why}): run npm run schedules`);
  } finally {
    await temporal.close();
  }
}
