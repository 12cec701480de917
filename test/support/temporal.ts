/**
 * A separate Temporal namespace for each test file, on the server that the global set-up started.
 */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { msToTs } from "@temporalio/common/lib/time.js";
import { inject } from "vitest";
import { ensureSchedule } from "../../src/worker/temporal/schedules.ts";
import { ensureSearchAttributes } from "../../src/worker/temporal/search-attributes.ts";
import { billingScheduleId } from "../../workflows/contract.ts";

/** The address of a test's client and worker. */
interface TestTemporal {
  readonly address: string;
  readonly namespace: string;
}

/** The shortest retention that the server takes is an hour; a run ends long before a day. */
const retention = msToTs("1 day");

/**
 * Creates an empty namespace with all search attributes, ready for workflows; any number of files
 * may do so at once.
 */
export async function testTemporal(): Promise<TestTemporal> {
  const address = inject("temporalAddress");
  const namespace = `test-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: retention,
    });
    await ensureSearchAttributes(connection, namespace);
    return { address, namespace };
  } finally {
    await connection.close();
  }
}

/** Creates the schedule in the namespace, as a deployment does before its workers start. */
export async function createSchedule(
  { address, namespace }: TestTemporal,
  taskQueue = "billing",
): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    await ensureSchedule(new Client({ connection, namespace }), taskQueue);
  } finally {
    await connection.close();
  }
}

/**
 * Deletes it, so that the server starts no more runs that no worker takes. A test may have ended
 * its server or deleted its schedule.
 */
export async function deleteSchedule({ address, namespace }: TestTemporal): Promise<void> {
  try {
    const connection = await Connection.connect({ address });
    try {
      const { schedule } = new Client({ connection, namespace });
      await schedule.getHandle(billingScheduleId).delete();
    } finally {
      await connection.close();
    }
  } catch {
    // The server is gone, and its schedule with it.
  }
}
