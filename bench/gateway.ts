/**
 * The cost of the gateway: create subscription as an echo on the real port. The request passes the
 * route, the gate with data in memory, the strict reader, a trivial operation and the writer. The
 * floor is bare node:http with the same bytes in both directions.
 *
 * Aim: half of the floor.
 */
import assert from "node:assert/strict";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { DocumentStatus, LedgerSyncStatus } from "../src/gen/proto/billing/v1/common_pb.ts";
import { InvoiceLineKind, InvoiceType } from "../src/gen/proto/billing/v1/invoices_pb.ts";
import {
  type CreateSubscriptionRequest,
  type CreateSubscriptionResponseSchema,
  SubscriptionService,
  SubscriptionStatus,
} from "../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { trustedProxies } from "../src/main/settings/read-settings.ts";
import { startHttp } from "../src/transport/http/server.ts";
import { restHandler } from "../src/transport/rest/handler.ts";
import { compileRoutes } from "../src/transport/rest/routes.ts";
import { operationsOf } from "../src/transport/rpc/operation.ts";
import { median, printFigure } from "./support/figure.ts";
import { startHttpFloor } from "./support/http-floor.ts";
import { type HttpLoad, startHttpLoad } from "./support/http-load.ts";

/** Enough to keep one core of the server busy, few enough that waiting is a small part. */
const connections = 32;
/** Long enough that the compiler is done after the first, short enough that all end within 20 s. */
const batchMs = 1_500;
/** Gateway and floor alternate, so that other work on the machine affects both. */
const repetitions = 5;

const body = JSON.stringify({
  customer_code: "ACME",
  plan_code: "team",
  units: 10,
  discount_percent: "5",
  invoice_reference: "PO-1881",
});
const request = [
  "POST /v1/subscriptions HTTP/1.1",
  "Host: 127.0.0.1",
  "Authorization: Bearer sk_test_1",
  "Content-Type: application/json",
  "Idempotency-Key: 0199a0b2-6f3c-7d2e-9d5e-4a8c1f1b2c3d",
  `Content-Length: ${body.length}`,
  "",
  body,
].join("\r\n");

/** Returns the initialiser of the response, as the service's methods do. */
function answer({
  customerCode,
  units,
  invoiceReference = "",
}: CreateSubscriptionRequest): MessageInitShape<typeof CreateSubscriptionResponseSchema> {
  const created = "2026-03-01T09:30:00.000Z";
  const id = "6f1ed002-ab59-5d6e-9e0f-1c7a3f0d9b11";
  return {
    subscription: {
      id,
      object: "subscription",
      customer: "0199a0b2-1111-7000-8000-000000000001",
      customerCode,
      plan: "0199a0b2-2222-7000-8000-000000000001",
      status: SubscriptionStatus.ACTIVE,
      currency: "NZD",
      interval: { unit: "month", count: 1 },
      timezone: "Pacific/Auckland",
      startDate: "2026-03-01",
      renewalDate: "2026-04-01",
      units: units ?? 0,
      minimumUnits: 1,
      discountPercent: "5.0000",
      invoiceReference,
      renewalValue: "118.7500",
      created,
    },
    invoice: {
      id: "0199a0b2-4444-7000-8000-000000000001",
      object: "invoice",
      number: "INV-0042",
      reference: invoiceReference,
      type: InvoiceType.FIRST,
      customer: "0199a0b2-1111-7000-8000-000000000001",
      subscription: id,
      status: DocumentStatus.DRAFT,
      currency: "NZD",
      subtotal: "118.7500",
      total: "118.7500",
      amountDue: "118.7500",
      issueDate: "2026-03-01",
      period: { start: "2026-03-01", end: "2026-04-01" },
      lines: [
        {
          id,
          kind: InvoiceLineKind.PLAN,
          name: "Team",
          description: "Team, 10 seats",
          units: 10,
          amount: "118.7500",
        },
      ],
      ledger: { syncStatus: LedgerSyncStatus.SYNCED, invoiceId: id },
      created,
    },
  };
}

function startGateway() {
  const caller = {
    apiKeyId: "0199a0b2-9999-7000-8000-000000000001",
    organisationId: "0199a0b2-0000-7000-8000-000000000001",
    scopes: new Set(["subscriptions:write"]),
    livemode: false,
    canCreateLedgerContacts: false,
    usageAllowed: false,
    now: new Date(),
  };
  const rest = restHandler({
    findRoute: compileRoutes(operationsOf([SubscriptionService])),
    gate: async (operation, { authorization }, requestId, setHeader) => {
      assert.equal(authorization, "Bearer sk_test_1");
      setHeader("RateLimit-Limit", "120");
      setHeader("RateLimit-Remaining", "119");
      setHeader("RateLimit-Reset", "60");
      return { operation, caller, requestId, idempotencyKey: null };
    },
    call: async (_pass, message) => ({
      message: answer(message as CreateSubscriptionRequest),
      replayed: false,
    }),
    reportError: (error) => assert.fail(error as Error),
  });
  return startHttp({
    setting: "API_PORT",
    host: "127.0.0.1",
    port: 0,
    tls: null,
    trustedProxies: trustedProxies({}),
    onConnectionLimit: () => undefined,
    rest,
    connect: () => assert.fail("no Connect request is sent"),
    readiness: { report: async () => ({ status: "ready", checks: {} }) },
    metrics: null,
    log: () => {},
    logFailure: (error) => assert.fail(error as Error),
  });
}

interface Speed {
  /** Answers in a second of the clock. */
  readonly perSecond: number;
  /**
   * Answers in a second of this process's processor time. Other work on the machine does not change
   * it.
   */
  readonly perCpuSecond: number;
}

async function measure(load: HttpLoad, port: number, durationMs: number): Promise<Speed> {
  const before = process.cpuUsage();
  const result = await load.run({
    port,
    requests: [request],
    status: 201,
    connections,
    durationMs,
  });
  const used = process.cpuUsage(before);
  assert.equal(result.failures, 0, "every request is answered");
  const cpuSeconds = (used.user + used.system) / 1_000_000;
  return {
    perSecond: (result.answers * 1_000) / result.elapsedMs,
    perCpuSecond: result.answers / cpuSeconds,
  };
}

/**
 * Prints two figures, by the clock and by processor time. Rejects if a request was not answered.
 */
export async function run(): Promise<void> {
  const gateway = await startGateway();
  const text = await (
    await fetch(`http://127.0.0.1:${gateway.port}/v1/subscriptions`, {
      method: "POST",
      headers: { authorization: "Bearer sk_test_1", "content-type": "application/json" },
      body,
    })
  ).text();
  const floor = await startHttpFloor(201, "x".repeat(Buffer.byteLength(text)), body.length);
  const load = startHttpLoad();
  const speeds: { gateway: Speed[]; floor: Speed[] } = { gateway: [], floor: [] };
  for (const port of [gateway.port, floor.port]) await measure(load, port, batchMs);
  for (let repetition = 0; repetition < repetitions; repetition++) {
    speeds.gateway.push(await measure(load, gateway.port, batchMs));
    speeds.floor.push(await measure(load, floor.port, batchMs));
  }
  load.stop();
  floor.stop();
  await gateway.stop({ graceMs: 1_000 });
  const middle = (of: Speed[], by: keyof Speed) => median(of.map((speed) => speed[by]));
  for (const [name, unit, by] of [
    ["gateway_echo", "requests/s", "perSecond"],
    ["gateway_echo_cpu", "requests/cpu-s", "perCpuSecond"],
  ] as const) {
    printFigure(name, middle(speeds.gateway, by), unit, middle(speeds.floor, by));
  }
}
