/**
 * The ledger workflow on the real Temporal server. A double replaces its activity: tests increase
 * the number of waiting documents, and every batch is recorded. So a test decides what a batch
 * finds and how long it takes.
 */
import { Client, Connection } from "@temporalio/client";
import { NativeConnection, Worker } from "@temporalio/worker";
import { test } from "vitest";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import type { OrganisationInput, PostingBatch } from "../../workflows/contract.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { testTemporal } from "../support/temporal.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";
import { bundled } from "./bundle.ts";

/** A worker in this process, and the results of its workflows' batches. */
export interface PostingFixture {
  readonly client: Client;
  /**
   * Adds one waiting document of the organisation and wakes its workflow. Returns how many wake-ups
   * were sent.
   */
  add(organisationId: string): Promise<number>;
  waiting(organisationId: string): number;
  /** When each batch of the organisation began, by `performance.now()`. */
  batches(organisationId: string): readonly number[];
  /** Replaces the organisation's batches, which otherwise post all that waits at once. */
  decide(organisationId: string, batch: () => Promise<PostingBatch>): void;
  stop(): Promise<void>;
}

/** The result of a batch that found nothing, as a base for others. */
export const nothing: PostingBatch = {
  posted: 0,
  refused: 0,
  waiting: 0,
  nextInMs: null,
  paused: null,
};

/** Starts the worker in a separate namespace. */
export async function startPostingFixture(): Promise<PostingFixture> {
  quietRuntime();
  const { address, namespace } = await testTemporal();
  const [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  const client = new Client({ connection, namespace });
  const waiting = new Map<string, number>();
  const begun = new Map<string, number[]>();
  const decisions = new Map<string, () => Promise<PostingBatch>>();
  const postBatch = async ({ organisationId }: OrganisationInput): Promise<PostingBatch> => {
    begun.set(organisationId, [...(begun.get(organisationId) ?? []), performance.now()]);
    const decision = decisions.get(organisationId);
    if (decision !== undefined) return decision();
    const posted = waiting.get(organisationId) ?? 0;
    waiting.set(organisationId, 0);
    return { ...nothing, posted };
  };
  const taskQueue = "billing";
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    ...bundled,
    activities: { postBatch },
  });
  const running = worker.run();
  const work = createStartWork(client, taskQueue, () => false);
  return {
    client,
    add: async (organisationId) => {
      waiting.set(organisationId, (waiting.get(organisationId) ?? 0) + 1);
      // If the server is too busy to answer in time, the wake-up is repeated, as by the dispatcher.
      for (let asked = 1; ; asked += 1) if (await work.wake(organisationId)) return asked;
    },
    waiting: (organisationId) => waiting.get(organisationId) ?? 0,
    batches: (organisationId) => begun.get(organisationId) ?? [],
    decide: (organisationId, batch) => void decisions.set(organisationId, batch),
    stop: async () => {
      worker.shutdown();
      await running;
      await native.close();
      await connection.close();
    },
  };
}

/** Tests of the ledger workflow, on one worker. */
export const postingTest = test.extend(
  "fixture",
  perFile,
  started(startPostingFixture, (fixture) => fixture.stop()),
);
