/**
 * What a deployment sets up in Temporal before its workers start: search attributes and schedules.
 * It may be repeated at any time.
 */

import { billingScheduleId } from "../../../workflows/contract.ts";
import type { TemporalClient } from "./connect.ts";
import { ensureSchedule, moveSchedule } from "./schedules.ts";
import { ensureSearchAttributes, searchAttributes } from "./search-attributes.ts";

/** `move` also takes over the schedule of another task queue. `log` gets one line a step. */
export interface SetUpSettings {
  readonly taskQueue: string;
  readonly move: boolean;
  readonly log: (line: string) => void;
}

/**
 * Registers missing search attributes, then creates or updates the schedule. Throws OtherQueue, and
 * changes no schedule, if it uses another task queue and is not to be moved.
 */
export async function setUpTemporal(
  { client, connection, namespace }: Pick<TemporalClient, "client" | "connection" | "namespace">,
  { taskQueue, move, log }: SetUpSettings,
): Promise<void> {
  try {
    const added = await ensureSearchAttributes(connection, namespace);
    if (added.length > 0) log(`search attributes were registered: ${added.join(", ")}`);
  } catch (error) {
    // In a cloud namespace only its console may register them.
    const why = error instanceof Error ? error.message : String(error);
    const names = searchAttributes.join(", ");
    log(`search attributes could not be registered (${why}): ${names}, all of type Keyword`);
  }
  if (move) await moveSchedule(client, taskQueue);
  else await ensureSchedule(client, taskQueue);
  log(
    `${billingScheduleId} (namespace ${namespace}) starts its runs on the task queue ${taskQueue}`,
  );
}
