/**
 * Moves the schedules to the task queue TASK_QUEUE (`npm run schedules:move`). A worker refuses to
 * do this by itself, because the other queue's workers would get no more runs. The settings of
 * Temporal are those of a worker.
 */
import { connectTemporal } from "../src/worker/temporal/connect.ts";
import { moveSchedules, scheduleIds } from "../src/worker/temporal/schedules.ts";

const taskQueue = process.env.TASK_QUEUE || "billing";
const { client, connection, namespace } = connectTemporal();
try {
  await moveSchedules(client, taskQueue);
  const names = scheduleIds.join(", ");
  console.log(
    `${names} (namespace ${namespace}) start their runs on the task queue ${taskQueue} now`,
  );
} finally {
  await connection.close();
}
