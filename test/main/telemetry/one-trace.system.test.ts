/**
 * The trace of a platform's request, as a collector gets it: from the request through the workflow,
 * its activities, the transactions and the ledger call to the webhook. The log lines of API and
 * worker have its id.
 */
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { billingScheduleId } from "../../../workflows/contract.ts";
import { startSystem, type TestSystem, until } from "../../support/system.ts";
import {
  type CollectedSpan,
  startTraceCollector,
  type TraceCollector,
} from "../../support/trace-collector.ts";
import { startReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";

let collector: TraceCollector;
let receiver: WebhookReceiver;
let system: TestSystem;
let own: CreatedOrganisation;
let client: Client;

beforeAll(async () => {
  collector = await startTraceCollector();
  receiver = await startReceiver();
  system = await startSystem({
    env: { ...collector.env, WEBHOOK_ADDRESSES: "development" },
    areSeparate: true,
  });
  own = await system.organisation();
  const { address, namespace } = system.temporal;
  client = new Client({ connection: await Connection.connect({ address }), namespace });
  const bearer = await system.operator();
  const endpoint = await system.askAdmin("WebhookService/CreateWebhookEndpoint", {
    key: bearer,
    idempotencyKey: "endpoint",
    body: { organisation: own.organisationId, url: receiver.url("/hook") },
  });
  expect(endpoint.status, endpoint.text).toBe(200);
});
afterAll(async () => {
  await client?.connection.close();
  await system?.stop();
  await receiver?.stop();
  await collector?.stop();
});

const create = (traceId: string, key: string) =>
  system.ask("POST", "/v1/subscriptions", {
    key: own.apiKey,
    idempotencyKey: key,
    headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    body: { customer_code: "ACME", plan_code: "team", units: 3 },
  });

const inTrace = (traceId: string) => collector.spans().filter((span) => span.traceId === traceId);

/** The names from a span up to the request, the span first. */
function ancestry(span: CollectedSpan): readonly string[] {
  const parent = collector.spans().find(({ spanId }) => spanId === span.parentSpanId);
  return [span.name, ...(parent === undefined ? [] : ancestry(parent))];
}

const request = "billing.v1.SubscriptionService/CreateSubscription";

test("a creation is one trace from the platform's header to its webhook", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  expect((await create(traceId, "first")).status).toBe(201);
  await client.schedule.getHandle(billingScheduleId).trigger();
  // An event about the posting alone continues from the worker's transaction.
  const delivered = await until("the delivery of the creation was traced", async () =>
    inTrace(traceId).find((span) => span.name === "deliver event" && ancestry(span).length === 3),
  );
  // The workflow's own span is exported when it ends.
  const call = await until("the ledger call and its workflow were traced", async () =>
    inTrace(traceId).find(
      (span) => span.name === "ledger createInvoices" && ancestry(span).length === 6,
    ),
  );
  const [server] = inTrace(traceId).filter(({ name }) => name === request);
  expect(server).toMatchObject({ service: "billing-api", parentSpanId: "00f067aa0ba902b7" });
  expect(ancestry(call)).toEqual([
    "ledger createInvoices",
    "RunActivity:postBatch",
    "StartActivity:postBatch",
    "RunWorkflow:ledgerPosting",
    "SignalWithStartWorkflow:ledgerPosting",
    request,
  ]);
  expect(call.service).toBe("billing-worker");
  // The delivery belongs to the changing transaction, and is linked to the run that sent it.
  expect(ancestry(delivered)).toEqual(["deliver event", "transaction", request]);
  expect(delivered.links).toHaveLength(1);
  const received = receiver.received("/hook").map(({ headers }) => headers.traceparent);
  expect(received).toContain(`00-${traceId}-${delivered.spanId}-01`);
  const names = new Set(inTrace(traceId).map(({ name }) => name));
  expect([...names]).toEqual(expect.arrayContaining(["transaction", "post create_invoice"]));
});

test("a creation that a running workflow posts keeps its trace, linked to the run", async () => {
  const traceId = "5bf92f3577b34da6a3ce929d0e0e4737";
  // The first of them starts the workflow, which waits ten seconds for more.
  expect((await create("7bf92f3577b34da6a3ce929d0e0e4739", "second")).status).toBe(201);
  expect((await create(traceId, "third")).status).toBe(201);
  // The two processes export apart from each other, so the request may come last.
  const posted = await until("its posting and the request were traced", async () =>
    inTrace(traceId).find(
      (span) => span.name === "post create_invoice" && ancestry(span).includes(request),
    ),
  );
  expect(ancestry(posted)).toEqual(["post create_invoice", "transaction", request]);
  const [link] = posted.links ?? [];
  const run = await until("the run was traced", async () =>
    collector.spans().find(({ spanId }) => spanId === link?.spanId),
  );
  expect(run.name).toBe("RunActivity:postBatch");
  expect(posted.attributes["billing.outcome"]).toBe("done");
});

test("the log lines of both processes have the trace, the organisation and the job", async () => {
  const traceId = "6bf92f3577b34da6a3ce929d0e0e4738";
  expect((await create(traceId, "fourth")).status).toBe(201);
  const linesOf = (output: string) =>
    output
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line.traceId === traceId);
  const [line] = await until("the request is logged", async () => {
    const lines = linesOf(system.api.output());
    return lines.length > 0 ? lines : undefined;
  });
  expect(line).toMatchObject({ msg: "request", organisationId: own.organisationId });
  const posted = await until("the posting is logged", async () =>
    linesOf(system.worker.output()).find(({ kind }) => kind === "create_invoice"),
  );
  expect(posted).toMatchObject({
    msg: "a document was posted to the ledger",
    organisationId: own.organisationId,
    activity: "postBatch",
    workflowId: `ledger/${own.organisationId}`,
    jobId: expect.any(String),
    invoiceId: expect.any(String),
  });
  await client.schedule.getHandle(billingScheduleId).trigger();
  const delivered = await until("the delivery is logged", async () =>
    linesOf(system.worker.output()).find(({ msg }) => msg === "an event was delivered"),
  );
  expect(delivered).toMatchObject({
    organisationId: own.organisationId,
    activity: "deliverDue",
    deliveryId: expect.any(String),
  });
});

test("a trace ends after ten activities of a run that never pauses", async () => {
  const traceOf = (at: number) => `8bf92f3577b34da6a3ce929d0e${String(at).padStart(6, "0")}`;
  const longestTrace = () => {
    const runs = collector.spans().filter(({ name }) => name === "RunActivity:postBatch");
    const traces = [...Map.groupBy(runs, ({ traceId }) => traceId).values()];
    return Math.max(0, ...traces.map((spans) => spans.length));
  };
  let creations = 0;
  const createOne = async (): Promise<void> => {
    creations += 1;
    expect((await create(traceOf(creations), `busy-${creations}`)).status).toBe(201);
  };
  // A machine that stalls lets a run pause, and its trace ends.
  await until("a trace has ten of them", async () => {
    await createOne();
    return longestTrace() >= 10;
  });
  for (let more = 0; more < 3; more += 1) await createOne();
  const last = traceOf(creations);
  const posted = await until("the last posting and its request were traced", async () =>
    inTrace(last).find(
      (span) => span.name === "post create_invoice" && ancestry(span).includes(request),
    ),
  );
  const runs = await until("the last run was traced", async () => {
    const found = collector.spans().filter(({ name }) => name === "RunActivity:postBatch");
    return found.some(({ spanId }) => spanId === posted.links?.[0]?.spanId) && found;
  });
  expect(runs.length).toBeGreaterThanOrEqual(creations);
  expect(longestTrace()).toBe(10);
});

test("no span holds a key, an amount or a customer's data", () => {
  const shown = JSON.stringify(collector.spans());
  expect(collector.spans().length).toBeGreaterThan(10);
  for (const secret of [own.apiKey, "acme@", "Acme", "12.50", "37.5"])
    expect(shown).not.toContain(secret);
});
