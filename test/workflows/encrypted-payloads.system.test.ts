/**
 * With TEMPORAL_PAYLOAD_KEY the server stores no plain payload, and keys are rotated while work
 * waits. The real API, worker and server.
 */
import { randomBytes } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectTemporal, dataConverterOf } from "../../src/worker/temporal/connect.ts";
import { payloadKeyId } from "../../src/worker/temporal/payload-codec.ts";
import { setUpTemporal } from "../../src/worker/temporal/schedules.ts";
import { billingScheduleId, ledgerWorkflowId } from "../../workflows/contract.ts";
import {
  createSynced,
  expectOneDocumentEach,
  scheduled,
  shownInvoice,
  subscriptionPost,
  synced,
} from "../faults/ledger-documents.ts";
import { postUntilCreated } from "../faults/processes.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { bundle } from "./bundle.ts";
import { replayFailure } from "./replay.ts";

const [old, next] = [randomBytes(32), randomBytes(32)];
const base64 = (key: Buffer) => key.toString("base64");
const rotated = {
  TEMPORAL_PAYLOAD_KEY: base64(next),
  TEMPORAL_PAYLOAD_KEYS_BEFORE: base64(old),
};

let system: TestSystem;
let client: Client;

beforeAll(async () => {
  system = await startSystem({ env: { TEMPORAL_PAYLOAD_KEY: base64(old) } });
  const connection = await Connection.connect({ address: system.temporal.address });
  client = new Client({ connection, namespace: system.temporal.namespace });
});

afterAll(async () => {
  await client?.connection.close();
  await system?.stop();
});

/** The history of a workflow as the server stores it. */
async function storedHistory(workflowId: string): Promise<object> {
  return JSON.parse(historyToJSON(await client.workflow.getHandle(workflowId).fetchHistory()));
}

interface StoredPayload {
  readonly encoding: string;
  readonly keyId: string;
}

/** Every payload of a history except those of search attributes and headers. */
function payloadsOf(part: unknown): readonly StoredPayload[] {
  if (typeof part !== "object" || part === null) return [];
  const { metadata } = part as { metadata?: Record<string, string> };
  const text = (name: string) => Buffer.from(metadata?.[name] ?? "", "base64").toString();
  if (metadata?.encoding !== undefined)
    return [{ encoding: text("encoding"), keyId: text("encryption-key-id") }];
  return Object.entries(part)
    .filter(([name]) => name !== "searchAttributes" && name !== "header")
    .flatMap(([, value]) => payloadsOf(value));
}

test("no plain payload is stored, and search attributes still find the run", async () => {
  const organisation = await system.organisation();
  await createSynced(system, subscriptionPost(organisation, "first"));
  const workflowId = ledgerWorkflowId(organisation.organisationId);
  await until(
    "the run has ended",
    async () => (await client.workflow.getHandle(workflowId).describe()).status.name !== "RUNNING",
  );
  const history = await storedHistory(workflowId);
  const payloads = payloadsOf(history);
  // The input, the batch's input and result, and the summaries.
  expect(payloads.length).toBeGreaterThan(4);
  expect(new Set(payloads.map(({ encoding }) => encoding))).toEqual(new Set(["binary/encrypted"]));
  expect(new Set(payloads.map(({ keyId }) => keyId))).toEqual(new Set([payloadKeyId(old)]));
  const query = `OrganisationId = "${organisation.organisationId}" AND Outcome = "done"`;
  await until("it is found", async () => (await client.workflow.count(query)).count > 0);
  const keys = dataConverterOf({ payloadKey: old, payloadKeysBefore: [] });
  expect(await replayFailure(bundle, history, keys)).toBeNull();
});

test("the schedule stores no plain payload, and its runs are done", async () => {
  const { address, namespace } = system.temporal;
  const temporal = connectTemporal({
    connectionOptions: { address },
    namespace,
    payloadKey: old,
    payloadKeysBefore: [],
    deployment: null,
  });
  await setUpTemporal(temporal, { taskQueue: "billing", move: false, log: () => undefined });
  const stored = await client.connection.workflowService.describeSchedule({
    namespace,
    scheduleId: billingScheduleId,
  });
  // The summary of the runs, which have no input.
  const payloads = payloadsOf(JSON.parse(JSON.stringify(stored.schedule?.action)));
  expect(payloads.map(({ encoding }) => encoding)).toEqual(["binary/encrypted"]);
  const schedule = temporal.client.schedule.getHandle(billingScheduleId);
  const before = (await schedule.describe()).info.numActionsTaken;
  await schedule.trigger();
  const { recentActions } = await until("a run has begun", async () => {
    const { info } = await schedule.describe();
    return info.numActionsTaken > before && info;
  });
  const { workflowId } = recentActions.at(-1)?.action.workflow ?? {};
  await temporal.client.workflow.getHandle(workflowId ?? "").result();
  await temporal.close();
});

test("a worker without the key says so, and the rotated keys continue the run", async () => {
  const organisation = await system.organisation();
  await system.worker.stop();
  const created = await postUntilCreated(system.baseUrl, subscriptionPost(organisation, "first"));
  expect(created.json.invoice).toMatchObject(scheduled);
  const workflowId = ledgerWorkflowId(organisation.organisationId);

  // Separate, because its whole output is searched for the key.
  await system.worker.start({ TEMPORAL_PAYLOAD_KEY: base64(next) }, true);
  await until("it is logged", async () =>
    system.worker.output().includes(`was encrypted with key \\"${payloadKeyId(old)}\\"`),
  );
  expect(system.worker.output()).not.toContain(base64(next));
  await system.worker.stop();

  await system.worker.start(rotated);
  await expectOneDocumentEach(system, organisation, 1);
  expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);

  await system.api.stop();
  await system.api.start(rotated);
  await createSynced(system, subscriptionPost(organisation, "second"));
  const history = await storedHistory(workflowId);
  const keyIds = new Set(payloadsOf(history).map(({ keyId }) => keyId));
  expect(keyIds).toContain(payloadKeyId(next));
  const keys = dataConverterOf({ payloadKey: next, payloadKeysBefore: [old] });
  expect(await replayFailure(bundle, history, keys)).toBeNull();
  expect(await replayFailure(bundle, history)).not.toBeNull();
});
