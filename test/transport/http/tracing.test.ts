/**
 * The span of a call shows its operation, its caller and its outcome, and nothing that a client
 * sent.
 */
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { tracing } from "@opentelemetry/sdk-node";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { apiKeyId, organisationId } from "../rpc/gate/admission-fixture.ts";
import { key, startTransports, type TestTransports } from "./transports-fixture.ts";

const exporter = new tracing.InMemorySpanExporter();
const provider = new tracing.BasicTracerProvider({
  spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
});

let transports: TestTransports;
let answer: () => object;
beforeAll(async () => {
  trace.setGlobalTracerProvider(provider);
  transports = await startTransports(() => answer());
});
afterAll(async () => {
  await transports.stop({ graceMs: 1_000 });
  trace.disable();
  await provider.shutdown();
});
beforeEach(() => {
  exporter.reset();
  answer = () => ({});
});

const procedure = "billing.v1.SubscriptionService/CreateSubscription";
const idempotencyKey = "order-of-somebody";
const body = {
  customer_code: "acme",
  plan_code: "gold-plan",
  label: "Ada's own seat",
  price: "987.65",
};

async function ask(path: string, changes: object = {}, verb = "POST"): Promise<string | null> {
  const headers = {
    authorization: `Bearer ${key}`,
    "idempotency-key": idempotencyKey,
    "content-type": "application/json",
  };
  const sent = verb === "GET" ? {} : { body: JSON.stringify({ ...body, ...changes }) };
  const response = await fetch(transports.base + path, { method: verb, headers, ...sent });
  await response.text();
  return response.headers.get("request-id");
}

/** All that a collector gets of a span, except its times and ids. */
const spans = () =>
  exporter.getFinishedSpans().map(({ name, kind, attributes, status, events, links }) => {
    return { name, kind, attributes, status, events, links };
  });

test("each call is one span by its operation's name over every protocol", async () => {
  const requestIds = [await ask(`/${procedure}`), await ask("/v1/invoices", {}, "GET")];
  expect(spans()).toMatchObject([
    {
      name: procedure,
      kind: SpanKind.SERVER,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        "rpc.service": "billing.v1.SubscriptionService",
        "rpc.method": "CreateSubscription",
        "billing.organisation_id": organisationId,
        "billing.api_key_id": apiKeyId,
        "billing.request_id": requestIds[0],
      },
    },
    {
      name: "billing.v1.InvoiceService/ListInvoices",
      attributes: { "billing.request_id": requestIds[1] },
    },
  ]);
});

test("a refusal is its code and no error; a failure is an error without its message", async () => {
  await ask("/v1/subscriptions", { units: -1 });
  answer = () => {
    throw new Error("the password is hunter2");
  };
  await ask("/v1/subscriptions");
  expect(spans()).toMatchObject([
    {
      attributes: { "billing.outcome": "invalid_parameter" },
      status: { code: SpanStatusCode.UNSET },
    },
    { attributes: { "billing.outcome": "internal_error" }, status: { code: SpanStatusCode.ERROR } },
  ]);
});

test("no span holds a key or anything that a client sent", async () => {
  await ask(`/${procedure}`);
  await ask("/v1/subscriptions", { units: -1 });
  answer = () => {
    throw new Error(`${body.label} could not be written with ${key}`);
  };
  await ask("/v1/subscriptions");
  const shown = JSON.stringify(spans());
  expect(spans()).toHaveLength(3);
  for (const secret of [key, idempotencyKey, ...Object.values(body)])
    expect(shown).not.toContain(secret);
});

test("a request that does not pass the gate makes no span", async () => {
  await fetch(`${transports.base}/v1/organisation`).then((response) => response.text());
  expect(spans()).toEqual([]);
});
