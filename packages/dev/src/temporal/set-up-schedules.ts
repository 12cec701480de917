/** What the local start does of a deployment: search attributes and the schedule. */
import { readTemporalOnly } from "../../../../src/main/settings/temporal-settings.ts";
import { connectTemporal } from "../../../../src/worker/temporal/connect.ts";
import { OtherQueue, setUpTemporal } from "../../../../src/worker/temporal/schedules.ts";

/**
 * Creates or changes the schedule, as a deployment does. If an external Temporal cannot be
 * reached, the start goes on without it, and the worker warns.
 */
export async function setUpSchedule(
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
    log(`Schedule     not created (${why}): run npm run schedules`);
  } finally {
    await temporal.close();
  }
}
