/**
 * `npm run schedules [-- --move]`: registers the search attributes and creates or changes the
 * schedule of this installation. A deployment runs it before its workers start. `--move` takes over
 * the schedule of another task queue. It needs the settings of Temporal and TASK_QUEUE.
 */
import { parseArgs } from "node:util";
import { connectTemporal } from "../../worker/temporal/connect.ts";
import { messageOf, OtherQueue, setUpTemporal } from "../../worker/temporal/schedules.ts";
import { readTemporalOnly } from "../settings/temporal-settings.ts";
import { unknownSettings } from "../settings/unknown-settings.ts";

const usage = "Usage: npm run schedules [-- --move]";

/** Shows an error that is for the operator to correct, without a stack. */
function end(message: string, code: number): never {
  console.error(message);
  process.exit(code);
}

function moveOf(): boolean {
  try {
    return parseArgs({ options: { move: { type: "boolean", default: false } } }).values.move;
  } catch {
    return end(usage, 2);
  }
}

function settings(): ReturnType<typeof readTemporalOnly> {
  try {
    return readTemporalOnly(process.env);
  } catch (error) {
    return end(error instanceof Error ? error.message : String(error), 1);
  }
}

const move = moveOf();
// A misspelt namespace or task queue would set up another one.
for (const unknown of unknownSettings(process.env, {})) console.error(unknown);
const { temporal: temporalSettings, taskQueue } = settings();
const temporal = connectTemporal(temporalSettings);
try {
  await setUpTemporal(temporal, { taskQueue, move, log: (line) => console.log(line) });
} catch (error) {
  if (error instanceof OtherQueue) end(error.message, 1);
  const { address = "localhost:7233" } = temporalSettings.connectionOptions;
  end(`Nothing more was changed. Temporal at ${address}: ${messageOf(error)}`, 1);
} finally {
  await temporal.close();
}
