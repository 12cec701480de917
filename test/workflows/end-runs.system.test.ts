/**
 * Ends in the real service: what an operator sees of them, and the histories of a plain run, a
 * refusal and a pause, which must replay. With RECORD_HISTORIES set they are stored for
 * `replay.test.ts`.
 */
import type { Client } from "@temporalio/client";
import { describe, expect } from "vitest";
import { terminationWorkflowId } from "../../workflows/contract.ts";
import { type Endable, endPost } from "../faults/ends-builder.ts";
import { postUntilDecided } from "../faults/processes.ts";
import { scenarioTest as test } from "../scenario/fixtures.ts";
import { tables } from "../support/rows.ts";
import { allow } from "../support/slowness.ts";
import { type TestSystem, until } from "../support/system.ts";
import { expectReplayable } from "./recorded-history.ts";

/** The id of the newest end of the subscription, which is that of its operation. */
async function terminationOf(system: TestSystem, { id }: Endable): Promise<string> {
  const newest = { where: { subscriptionId: id }, orderBy: { seq: "desc" } } as const;
  const { termination } = tables(system.pool);
  return until("the end is begun", async () => (await termination.findFirst(newest))?.id);
}

/** What the Temporal UI shows as the current details of the workflow. */
async function detailsOf(client: Client, terminationId: string): Promise<string> {
  const handle = client.workflow.getHandle(terminationWorkflowId(terminationId));
  const shown = await handle.query<{ currentDetails?: string }>("__temporal_workflow_metadata");
  return shown.currentDetails ?? "";
}

async function attributesOf(client: Client, terminationId: string): Promise<object> {
  return (await client.workflow.getHandle(terminationWorkflowId(terminationId)).describe())
    .searchAttributes;
}

const write = "POST /api.xro/2.0/Invoices/";

describe.concurrent("an end", () => {
  test("removes and ends in one run, is found by its subject, and replays", async ({
    system,
    ends,
    client,
  }) => {
    const endable = await ends.withThree();
    const { own, id } = endable;
    const { status, json } = await postUntilDecided(system.baseUrl, endPost(endable, "plain"));
    expect(status).toBe(200);
    const terminationId = await terminationOf(system, endable);
    await expectReplayable(client, terminationWorkflowId(terminationId), "end");
    expect(await attributesOf(client, terminationId)).toMatchObject({
      OrganisationId: [own.organisationId],
      SubscriptionId: [id],
      CustomerId: [json.customer],
      JobId: [terminationId],
      JobKind: ["end_subscription"],
      Outcome: ["ended"],
    });
    expect(await detailsOf(client, terminationId)).toBe("ended, 3 of 3 removed");
  });

  test("that the ledger refuses names the invoice, and its history replays", async ({
    system,
    ends,
    client,
  }) => {
    const endable = await ends.withThree();
    const { own, id } = endable;
    const [, , first] = await ends.builder.invoices(own, id);
    const match = `${write}${first.ledger.invoice_id}`;
    await system.fault({
      kind: "refuse",
      match,
      tenantId: own.tenantId,
      messages: ["The lock date has passed."],
    });
    expect((await postUntilDecided(system.baseUrl, endPost(endable, "refused"))).status).toBe(409);
    const terminationId = await terminationOf(system, endable);
    await expectReplayable(client, terminationWorkflowId(terminationId), "end-refused");
    expect(await attributesOf(client, terminationId)).toMatchObject({ Outcome: ["refused"] });
    expect(await detailsOf(client, terminationId)).toBe(
      "refused at INV-0001, 2 of 3 removed: period_locked",
    );
  });

  test("that waits for a limit names the invoice and the reason, and replays", async ({
    system,
    ends,
    client,
  }) => {
    const endable = await ends.withThree();
    const { own, id } = endable;
    const [change] = await ends.builder.invoices(own, id);
    const match = `${write}${change.ledger.invoice_id}`;
    // For as long as a slow machine may need to see it.
    const retryAfterSeconds = Math.ceil(allow(2_000) / 1_000);
    const limit = { kind: "rate_limit", match, retryAfterSeconds };
    await system.fault({ ...limit, tenantId: own.tenantId });
    const answer = postUntilDecided(system.baseUrl, endPost(endable, "paused"));
    const terminationId = await terminationOf(system, endable);
    await until("it waits", async () => {
      const details = await detailsOf(client, terminationId).catch(() => "");
      return details === "removing INV-0003, 2 of 3: rate limit of the ledger: minute";
    });
    expect((await answer).status).toBe(200);
    await expectReplayable(client, terminationWorkflowId(terminationId), "end-pause");
  });
});
