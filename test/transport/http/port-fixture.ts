/**
 * A port with the real routes of the contract, and small functions in the place of gate and call.
 * Tests observe the gateway's behaviour from outside, over real connections.
 */
import { BlockList } from "node:net";
import { create, type DescService, type Message } from "@bufbuild/protobuf";
import { Refusal } from "../../../src/domain/refusal.ts";
import { ChargeService, PlanService } from "../../../src/gen/proto/billing/v1/catalogue_pb.ts";
import { CreditNoteService } from "../../../src/gen/proto/billing/v1/credit_notes_pb.ts";
import { CustomerService } from "../../../src/gen/proto/billing/v1/customers_pb.ts";
import { InvoiceService } from "../../../src/gen/proto/billing/v1/invoices_pb.ts";
import { OrganisationService } from "../../../src/gen/proto/billing/v1/organisation_pb.ts";
import { SubscriptionService } from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { UsageService } from "../../../src/gen/proto/billing/v1/usage_pb.ts";
import { publishedFile } from "../../../src/transport/http/published-file.ts";
import { type HttpParts, type HttpPort, startHttp } from "../../../src/transport/http/server.ts";
import { type GatewayParts, restHandler } from "../../../src/transport/rest/handler.ts";
import { compileRoutes } from "../../../src/transport/rest/routes.ts";
import type { Pass } from "../../../src/transport/rpc/gate/gate.ts";
import type { RequestLine } from "../../../src/transport/rpc/observe.ts";
import { type Operation, operationsOf } from "../../../src/transport/rpc/operation.ts";
import { createReportError } from "../../../src/transport/rpc/refusals.ts";

/** Every service of the contract. */
export const services: readonly DescService[] = [
  OrganisationService,
  CustomerService,
  PlanService,
  ChargeService,
  SubscriptionService,
  InvoiceService,
  CreditNoteService,
  UsageService,
];

/** Every operation. */
export const operations: readonly Operation[] = operationsOf(services);

/** Reports an error by the domain's own table. */
const reportError = createReportError(() => {});

/** What a test's operation does: answers the message, or throws its refusal. */
export type Answer = (
  pass: Pass,
  request: Message,
  signal: AbortSignal,
) => object | Promise<object>;

const caller = {
  apiKeyId: "0199a0b2-9999-7000-8000-000000000001",
  organisationId: "0199a0b2-0000-7000-8000-000000000001",
  scopes: new Set<string>(),
  livemode: false,
  canCreateLedgerContacts: true,
  usageAllowed: true,
  now: new Date(0),
};

/**
 * The parts of a gateway whose gate admits `Bearer sk_test_1` and whose operations answer with
 * `answer`. The key `again` stands for one that was answered before.
 */
export function gatewayParts(answer: Answer): GatewayParts {
  return {
    findRoute: compileRoutes(operations),
    gate: async (operation, { authorization, idempotencyKey }, requestId, setHeader) => {
      if (authorization !== "Bearer sk_test_1") throw new Refusal("invalid_api_key", "No such key");
      setHeader("RateLimit-Limit", "120");
      return {
        operation,
        caller,
        requestId,
        idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : null,
      };
    },
    call: async (pass, request, { signal }) => {
      const answered = (await answer(pass, request, signal)) as Record<string, unknown>;
      const message = create(pass.operation.method.output, answered);
      return { message, replayed: pass.idempotencyKey === "again" };
    },
    reportError,
  };
}

/** The OpenAPI document as a page of the port. */
export function openapiPage(body: Buffer): NonNullable<HttpParts["pages"]> {
  const answer = publishedFile({ body, contentType: "application/json" });
  return new Map([["/v1/openapi.json", answer]]);
}

/** A running port, the lines of its log, and the calls of its operations. */
export interface TestPort extends HttpPort {
  readonly base: string;
  readonly lines: RequestLine[];
  readonly calls: { readonly pass: Pass; readonly request: Message }[];
}

/** Starts a port on a free loopback port; stop it in the end. */
export async function startPort(
  answer: Answer,
  overrides: Partial<HttpParts> = {},
): Promise<TestPort> {
  const lines: RequestLine[] = [];
  const calls: TestPort["calls"] = [];
  const gateway = gatewayParts((pass, request, signal) => {
    calls.push({ pass, request });
    return answer(pass, request, signal);
  });
  const http = await startHttp({
    setting: "API_PORT",
    host: "127.0.0.1",
    port: 0,
    tls: null,
    trustedProxies: new BlockList(),
    onConnectionLimit: () => {},
    rest: restHandler(gateway),
    connect: (_request, response) =>
      response.writeHead(200, { "content-type": "application/proto" }).end(),
    pages: openapiPage(Buffer.from(`{"openapi":"3.1.0"}`)),
    readiness: { report: async () => ({ status: "ready", checks: { database: "ok" } }) },
    metrics: async () => ({ contentType: "text/plain", text: "up 1\n" }),
    log: (line) => lines.push(line),
    logFailure: () => {},
    ...overrides,
  });
  return {
    ...http,
    base: `http${overrides.tls ? "s" : ""}://127.0.0.1:${http.port}`,
    lines,
    calls,
  };
}
