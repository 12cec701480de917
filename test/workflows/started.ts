/**
 * Starts by tests, at a server that may be too busy to answer within the time that the service
 * gives it.
 */
import type { Client, WorkflowHandle } from "@temporalio/client";
import { until } from "../support/system.ts";

/**
 * The workflow once it is there: a start without an answer in time may have arrived all the same,
 * and is repeated if it did not.
 */
export async function started(
  client: Client,
  workflowId: string,
  begin: () => Promise<boolean>,
): Promise<WorkflowHandle> {
  const handle = client.workflow.getHandle(workflowId);
  const isThere = () =>
    handle.describe().then(
      () => true,
      () => false,
    );
  await until(`${workflowId} is started`, async () => (await begin()) || isThere());
  return handle;
}
