/**
 * A port with the real routes of the contract and small functions in the place of gate and call: what the gateway does is
 * seen from outside, over real connections.
 */
import { create, type DescService, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { Refusal } from "../../src/domain/refusal.ts";
import type { ToldError } from "../../src/gateway/error-envelope.ts";
import { type GatewayParts, restHandler } from "../../src/gateway/handler.ts";
import { compileRoutes } from "../../src/gateway/routes.ts";
import { ChargeService, PlanService } from "../../src/gen/proto/billing/v1/catalogue_pb.ts";
import { CustomerService } from "../../src/gen/proto/billing/v1/customers_pb.ts";
import { InvoiceService } from "../../src/gen/proto/billing/v1/invoices_pb.ts";
import { OrganisationService } from "../../src/gen/proto/billing/v1/organisation_pb.ts";
import { SubscriptionService } from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { UsageService } from "../../src/gen/proto/billing/v1/usage_pb.ts";
import type { RequestLine } from "../../src/http/exchanges.ts";
import { type HttpParts, type HttpPort, startHttp } from "../../src/http.ts";
import { type Operation, operationsOf } from "../../src/rpc/operation.ts";

/** Every service of the contract. */
export const services: readonly DescService[] = [
  OrganisationService,
  CustomerService,
  PlanService,
  ChargeService,
  SubscriptionService,
  InvoiceService,
  UsageService,
];

/** Every operation, also those still planned: the gateway serves what is not marked as planned. */
export const operations: readonly Operation[] = operationsOf(services).map((operation) => ({
  ...operation,
  planned: false,
}));

/** What the pass of the test is: the operation, and what the gate was given. */
export interface TestPass {
  readonly operation: Operation;
  readonly idempotencyKey: string | null;
}

/** How an error is told, by the domain's own table. */
export function tell(error: unknown, requestId: string): ToldError {
  const refusal = error instanceof Refusal ? error : new Refusal("internal_error", String(error));
  const { status, type } = refusal.row;
  const { code, message, param, retryAfterSeconds } = refusal;
  return { status, type, code, message, param, requestId, retryAfterSeconds };
}

/** The parts of a gateway whose gate admits `Bearer sk_test_1` and whose operations answer what `answer` says. */
export function gatewayParts(answer: (pass: TestPass, request: Message) => object | Promise<object>) {
  const parts: GatewayParts<TestPass> = {
    findRoute: compileRoutes(operations),
    pass: async (operation, { authorization, idempotencyKey }, _requestId, setHeader) => {
      if (authorization !== "Bearer sk_test_1") throw new Refusal("invalid_api_key", "No such key");
      setHeader("RateLimit-Limit", "120");
      return { operation, idempotencyKey };
    },
    call: async (pass, request) => ({
      message: await answer(pass, request),
      replayed: pass.idempotencyKey === "again",
    }),
    organisationOf: () => "0199a0b2-0000-7000-8000-000000000001",
    tell,
    refusalOf: ({ code, message, param }) => new Refusal(code, message, param),
  };
  return parts;
}

/** A running port, what its log was told, and what its operations were called with. */
export interface TestPort extends HttpPort {
  readonly base: string;
  readonly lines: RequestLine[];
  readonly calls: { readonly pass: TestPass; readonly request: Message }[];
}

/** Starts a port on a free loopback port; stop it in the end. */
export async function startPort(
  answer: (pass: TestPass, request: Message) => object | Promise<object>,
  overrides: Partial<HttpParts> = {},
): Promise<TestPort> {
  const lines: RequestLine[] = [];
  const calls: TestPort["calls"] = [];
  const gateway = gatewayParts((pass, request) => {
    calls.push({ pass, request });
    return answer(pass, request);
  });
  const http = await startHttp({
    host: "127.0.0.1",
    port: 0,
    tls: null,
    rest: restHandler(gateway),
    connect: (_request, response) => response.writeHead(200, { "content-type": "application/proto" }).end(),
    openapi: { text: `{"openapi":"3.1.0"}`, etag: `"abc"` },
    checks: { database: { required: true, check: async () => {} } },
    metrics: async () => ({ contentType: "text/plain", text: "up 1\n" }),
    log: (line) => lines.push(line),
    ...overrides,
  });
  return { ...http, base: `http${overrides.tls ? "s" : ""}://127.0.0.1:${http.port}`, lines, calls };
}

/** A message of the schema, as an operation would answer it. */
export function answerOf<S extends Parameters<typeof create>[0]>(schema: S, init: MessageInitShape<S>): object {
  return create(schema, init);
}
