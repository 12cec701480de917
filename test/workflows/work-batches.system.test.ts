/**
 * Workflows that work in batches, on a real Temporal server: one run for each piece of work, pauses
 * respected, an end to long ones.
 */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createStartWork, type StartWork } from "../../src/worker/temporal/start-work.ts";
import {
  amendmentWorkflowId,
  type CreditAllocationInput,
  creditWorkflowId,
  type InvoiceAmendmentInput,
  type WorkBatch,
} from "../../workflows/contract.ts";
import { maxWaitMs } from "../../workflows/policies.ts";
import { until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";
import { bundled } from "./bundle.ts";
import { started } from "./started.ts";

let connection: Connection;
let native: NativeConnection;
let worker: Worker;
let running: Promise<void>;
let client: Client;
let work: StartWork;

/** The outcomes of a subscription's batches, in sequence; the last one again and again. */
const decided = new Map<string, readonly WorkBatch[]>();

/** What a subscription's batches wait for before they answer. */
const held = new Map<string, Promise<void>>();

/** When each of its batches began. */
const begun = new Map<string, number[]>();

const done: WorkBatch = {
  state: "done",
  outcome: "done",
  detail: "INV-0001 done",
  nextInMs: null,
};
const waiting = (nextInMs: number): WorkBatch => ({
  state: "waiting",
  outcome: null,
  detail: "amending",
  nextInMs,
});

async function runBatch({ subscriptionId }: CreditAllocationInput): Promise<WorkBatch> {
  const times = [...(begun.get(subscriptionId) ?? []), performance.now()];
  begun.set(subscriptionId, times);
  await held.get(subscriptionId);
  const results = decided.get(subscriptionId) ?? [];
  return results[times.length - 1] ?? results.at(-1) ?? done;
}

beforeAll(async () => {
  quietRuntime();
  const { address, namespace } = await testTemporal();
  [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  client = new Client({ connection, namespace });
  const activities = { amendBatch: runBatch, allocateBatch: runBatch };
  const taskQueue = "billing";
  worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    ...bundled,
    activities,
  });
  running = worker.run();
  work = createStartWork(client, taskQueue, () => false);
});

afterAll(async () => {
  worker?.shutdown();
  await running;
  await native?.close();
  await connection?.close();
});

function newInput(...results: readonly WorkBatch[]): InvoiceAmendmentInput {
  const [organisationId, subscriptionId, invoiceId, jobId] = [0, 1, 2, 3].map(() => randomUUID());
  if (!organisationId || !subscriptionId || !invoiceId || !jobId) throw new Error("four ids");
  decided.set(subscriptionId, results);
  return { organisationId, subscriptionId, invoiceId, jobId };
}

const startAmendment = (input: InvoiceAmendmentInput) =>
  started(client, amendmentWorkflowId(input.jobId), () => work.startAmendment(input));

const startAllocation = (input: CreditAllocationInput) =>
  started(client, creditWorkflowId(input.subscriptionId), () => work.startAllocation(input));

/** One that runs, or has run, is started once more. */
const again = (begin: () => Promise<boolean>) => until("it is started again", begin);

const ended = (workflowId: string) =>
  until("the workflow has ended", async () => {
    const description = await client.workflow.getHandle(workflowId).describe();
    return description.status.name === "COMPLETED" && description;
  });

describe.concurrent("work in batches", () => {
  test("ends when everything is decided, with its outcome", async () => {
    const input = newInput({ ...done, outcome: "moved" });
    await startAmendment(input);
    const { searchAttributes } = await ended(amendmentWorkflowId(input.jobId));
    expect(searchAttributes).toMatchObject({ Outcome: ["moved"], JobKind: ["amend_invoice"] });
    expect(begun.get(input.subscriptionId)).toHaveLength(1);
  });

  test("ends as refused if a part of it was, whatever the rest became", async () => {
    const input = newInput({ ...waiting(0), outcome: "refused" }, waiting(0), done);
    await startAllocation(input);
    const { searchAttributes } = await ended(creditWorkflowId(input.subscriptionId));
    expect(searchAttributes).toMatchObject({ Outcome: ["refused"] });
  });

  test("waits as long as a batch says, and never polls in a busy loop", async () => {
    const input = newInput(waiting(2_000), waiting(0), done);
    await startAllocation(input);
    await ended(creditWorkflowId(input.subscriptionId));
    const [first = 0, second = 0, third = 0, ...others] = begun.get(input.subscriptionId) ?? [];
    expect(others).toEqual([]);
    expect(second - first).toBeGreaterThan(1_900);
    expect(third - second).toBeGreaterThan(200);
  });

  test("ends at a pause longer than its wait, and the dispatcher starts it later", async () => {
    const input = newInput(waiting(maxWaitMs + 1), done);
    const workflowId = amendmentWorkflowId(input.jobId);
    await startAmendment(input);
    const first = await ended(workflowId);
    expect(first.searchAttributes).toMatchObject({ Outcome: ["rescheduled"] });
    await again(() => work.startAmendment(input));
    const second = await ended(workflowId);
    expect(second.runId).not.toBe(first.runId);
    expect(second.searchAttributes).toMatchObject({ Outcome: ["done"] });
  });

  test("is one run however often it is started, and continues at once if it waits", async () => {
    const input = newInput(waiting(maxWaitMs), done);
    const handle = await startAllocation(input);
    await until("it waits", async () => begun.get(input.subscriptionId)?.length === 1);
    const { runId } = await handle.describe();
    await Promise.all([1, 2, 3].map(() => again(() => work.startAllocation(input))));
    const last = await ended(creditWorkflowId(input.subscriptionId));
    expect(last.runId).toBe(runId);
    const [first = 0, second = 0] = begun.get(input.subscriptionId) ?? [];
    expect(second - first).toBeLessThan(maxWaitMs);
  });

  test("runs one more batch if it is started during its last", async () => {
    const input = newInput(done);
    const answer = Promise.withResolvers<void>();
    held.set(input.subscriptionId, answer.promise);
    await startAllocation(input);
    await until("its batch has begun", async () => begun.get(input.subscriptionId)?.length === 1);
    await again(() => work.startAllocation(input));
    answer.resolve();
    await ended(creditWorkflowId(input.subscriptionId));
    expect(begun.get(input.subscriptionId)).toHaveLength(2);
  });
});

test("is left to the dispatcher if Temporal does not receive its start", async () => {
  const troubles: string[] = [];
  const away = Connection.lazy({ address: "127.0.0.1:1" });
  const lost = createStartWork(new Client({ connection: away }), "billing", (workflowId) => {
    troubles.push(workflowId);
    return false;
  });
  const input = newInput();
  expect(await lost.startAmendment(input)).toBe(false);
  expect(troubles).toEqual([amendmentWorkflowId(input.jobId)]);
  await away.close();
});
