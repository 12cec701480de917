/** The details of google.rpc on the wire of each protocol (REQUEST-17). */
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ErrorDetailSchema } from "../../../../src/gen/proto/billing/v1/common_pb.ts";
import { SubscriptionService } from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../../src/gen/proto/google/rpc/error_details_pb.ts";
import type { Admission } from "../../../../src/store/access/api-keys.ts";
import { generateApiKey } from "../../../../src/transport/rpc/gate/api-key.ts";
import { admitted } from "../gate/admission-fixture.ts";
import { startServer, type TestServer } from "./connect-server-fixture.ts";

const headers = {
  Authorization: `Bearer ${generateApiKey(true).value}`,
  "Idempotency-Key": "order-1",
};

let server: TestServer;
let admission: Admission;
const transports: Record<string, Transport> = {};

beforeAll(async () => {
  server = await startServer({ admission: () => admission });
  const http1 = { baseUrl: server.http1Url, httpVersion: "1.1" } as const;
  Object.assign(transports, {
    "Connect JSON": createConnectTransport(http1),
    "Connect binary": createConnectTransport({ ...http1, useBinaryFormat: true }),
    gRPC: createGrpcTransport({ baseUrl: server.http2Url }),
    "gRPC-Web": createGrpcWebTransport(http1),
  });
});

afterAll(() => server.stop());

const protocols = ["Connect JSON", "Connect binary", "gRPC", "gRPC-Web"];

async function refusedBy(protocol: string, request: object): Promise<ConnectError> {
  const transport = transports[protocol];
  if (transport === undefined) throw new Error(`there is no transport for ${protocol}`);
  const client = createClient(SubscriptionService, transport);
  try {
    await client.createSubscription(request, { headers });
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error("the request was answered");
}

test.each(protocols)("over %s a bad request names every field at fault", async (protocol) => {
  admission = admitted(["subscriptions:write"]);
  const error = await refusedBy(protocol, {
    planCode: "pro",
    units: -1,
    discountPercent: "ten",
    startDate: "2026-02-30",
    charges: [{ chargeCode: "setup" }, { chargeCode: "", quantity: 0 }],
  });
  const [first] = error.findDetails(ErrorDetailSchema);
  const [faults] = error.findDetails(BadRequestSchema);
  const fields = faults?.fieldViolations.map(({ field }) => field) ?? [];
  expect(fields[0]).toBe(first?.param);
  expect(new Set(fields)).toEqual(
    new Set([
      "customer_code",
      "units",
      "discount_percent",
      "start_date",
      "charges.1.charge_code",
      "charges.1.quantity",
    ]),
  );
  expect(faults?.fieldViolations.every(({ reason }) => reason === "INVALID_PARAMETER")).toBe(true);
  expect(faults?.fieldViolations.every(({ description }) => description !== "")).toBe(true);
});

test.each(protocols)("over %s a request over the rate says when to come back", async (protocol) => {
  admission = admitted(["subscriptions:write"], "limited");
  const error = await refusedBy(protocol, { customerCode: "acme", planCode: "pro" });
  const [info] = error.findDetails(ErrorInfoSchema);
  expect(info).toMatchObject({ reason: "RATE_LIMITED", domain: "billing.v1" });
  expect(info?.metadata.request_id).toBe(error.findDetails(ErrorDetailSchema)[0]?.requestId);
  expect(error.findDetails(RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 42n } }]);
  expect(error.findDetails(BadRequestSchema)).toEqual([]);
});

test("JSON that cannot be read names every member at fault", async () => {
  admission = admitted(["subscriptions:write"]);
  const path = "billing.v1.SubscriptionService/CreateSubscription";
  const response = await fetch(`${server.http1Url}/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: `{"customerCode":5,"planCode":"pro","units":"10",
      "charges":[{"chargeCode":null}],"none":{}}`,
  });
  const { details } = (await response.json()) as { details: readonly { debug: object }[] };
  const bad = details.find(({ debug }) => "fieldViolations" in debug);
  expect(bad?.debug).toMatchObject({
    fieldViolations: [
      { field: "customerCode", description: "customerCode must be a string" },
      { field: "units", description: "units must be a whole number, written plainly" },
      { field: "charges.0.chargeCode", description: "charges.0.chargeCode must be a string" },
      { field: "none", description: "none is not a member of this request" },
    ],
  });
});
