/** The Temporal namespaces of the other tests. */
import { Client, Connection } from "@temporalio/client";
import { expect, test } from "vitest";
import { testTemporal } from "../../../test/support/temporal.ts";

test("concurrent namespaces are separate, and search attributes find a workflow", async () => {
  const made = await Promise.all(Array.from({ length: 4 }, () => testTemporal()));
  const [first, second] = made;
  if (!first || !second) throw new Error("none made");
  const connection = await Connection.connect({ address: first.address });
  try {
    const client = new Client({ connection, namespace: first.namespace });
    const attributes = { OrganisationId: ["org_1"] };
    await client.workflow.start("any", {
      taskQueue: "none",
      workflowId: "w",
      searchAttributes: attributes,
    });
    await expect
      .poll(async () => (await client.workflow.count("OrganisationId = 'org_1'")).count)
      .toBe(1);
    const other = new Client({ connection, namespace: second.namespace });
    expect((await other.workflow.count("OrganisationId = 'org_1'")).count).toBe(0);
  } finally {
    await connection.close();
  }
});
