/**
 * A server of the Connect routes alone, on a free port, over HTTP/1.1 or HTTP/2. Its
 * implementations are the test's.
 */
import { createServer } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { InvoiceService } from "../../../../src/gen/proto/billing/v1/invoices_pb.ts";
import { SubscriptionService } from "../../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { UsageService } from "../../../../src/gen/proto/billing/v1/usage_pb.ts";
import { textFormats } from "../../../../src/services/text-formats.ts";
import type { Admission } from "../../../../src/store/access/api-keys.ts";
import type { Readiness } from "../../../../src/transport/http/readiness.ts";
import { credentialsOf } from "../../../../src/transport/http/request-head.ts";
import type { HttpRequest, HttpResponse } from "../../../../src/transport/rest/exchange.ts";
import { hasBody } from "../../../../src/transport/rest/read-body.ts";
import { compileReader } from "../../../../src/transport/rest/read-json.ts";
import { closeAfterAnswer, lingerAfterAnswer } from "../../../../src/transport/rest/respond.ts";
import { createCall } from "../../../../src/transport/rpc/call.ts";
import { connectRoutes } from "../../../../src/transport/rpc/connect/routes.ts";
import { createGate } from "../../../../src/transport/rpc/gate/gate.ts";
import type { Idempotency } from "../../../../src/transport/rpc/idempotency.ts";
import { bind, type Implementation } from "../../../../src/transport/rpc/implementation.ts";
import { observeCall, type RequestRecord } from "../../../../src/transport/rpc/observe.ts";
import { healthRoutes, type WatchLimits } from "../../../../src/transport/rpc/open/health.ts";
import {
  type ReflectionLimits,
  reflectionRoutes,
} from "../../../../src/transport/rpc/open/reflection.ts";
import { createReportError } from "../../../../src/transport/rpc/refusals.ts";
import { accessOf } from "../gate/admission-fixture.ts";

type SubscriptionMethods = Implementation<typeof SubscriptionService>;

/** What a test decides. */
interface ServerSettings {
  readonly admission: () => Admission;
  readonly idempotency?: Idempotency;
  readonly create?: SubscriptionMethods["createSubscription"];
  readonly list?: SubscriptionMethods["listSubscriptions"];
  /** The readiness behind health. Without it the process always serves. */
  readonly readiness?: Pick<Readiness, "isServing" | "subscribe">;
  readonly watches?: WatchLimits;
  readonly reflection?: ReflectionLimits;
}

/** A server and what it noted of its requests. */
export interface TestServer {
  readonly http1Url: string;
  readonly http2Url: string;
  readonly records: RequestRecord[];
  readonly failures: unknown[];
  readonly stop: () => Promise<void>;
}

/** Runs every request: idempotency has separate tests. */
const withoutKeys: Idempotency = async (_, execute) => ({
  message: await execute(),
  replayed: false,
});

const alwaysReady = { isServing: async () => true, subscribe: () => () => undefined };

/** Starts it with health and reflection. */
export async function startServer(settings: ServerSettings): Promise<TestServer> {
  const failures: unknown[] = [];
  const records: RequestRecord[] = [];
  const recordByRequest = new WeakMap<object, RequestRecord>();
  const invoices = Object.fromEntries(
    InvoiceService.methods.map((method) => [method.localName, answerEmpty]),
  );
  const usage = Object.fromEntries(
    UsageService.methods.map((method) => [method.localName, answerEmpty]),
  );
  const subscriptions = {
    ...Object.fromEntries(
      SubscriptionService.methods.map((method) => [method.localName, answerEmpty]),
    ),
    createSubscription: settings.create ?? (async () => ({})),
    listSubscriptions: settings.list ?? (async () => ({})),
  };
  const bindings = [
    bind(SubscriptionService, subscriptions as SubscriptionMethods),
    bind(InvoiceService, invoices as unknown as Implementation<typeof InvoiceService>),
    bind(UsageService, usage as unknown as Implementation<typeof UsageService>),
  ];
  const services = bindings.map(({ service }) => service);
  const stopping = new AbortController();
  const adapter = connectNodeAdapter(
    connectRoutes(bindings, {
      gate: createGate({
        access: { admit: (hash) => accessOf(settings.admission()).admit(hash) },
        permits: () => null,
      }),
      call: createCall({
        formats: textFormats,
        idempotency: settings.idempotency ?? withoutKeys,
        observe: observeCall,
        implementations: bindings,
      }),
      checkJson: (message) => compileReader(message, [], "protobuf"),
      reportError: createReportError((error) => failures.push(error)),
      recordOf: (request) => recordByRequest.get(request),
      open: [
        healthRoutes({
          ...(settings.readiness ?? alwaysReady),
          services: services.map(({ typeName }) => typeName),
          ...(settings.watches === undefined ? {} : { limits: settings.watches }),
        }),
        reflectionRoutes(services, settings.reflection),
      ],
      shutdownSignal: stopping.signal,
    }),
  );
  const handle = (request: HttpRequest, response: HttpResponse): void => {
    const record: RequestRecord = {
      requestId: `request-${records.length + 1}`,
      credentials: credentialsOf(request),
      holdBody: () => true,
      operation: null,
      protocol: null,
      organisationId: null,
      apiKeyId: null,
      code: null,
    };
    records.push(record);
    recordByRequest.set(request, record);
    response.setHeader("Request-Id", record.requestId);
    // As the port does: a client that is still sending would be reset, and could lose its refusal.
    if (!request.complete && hasBody(request)) {
      if (request.stream === undefined) lingerAfterAnswer(request, response);
      else closeAfterAnswer(request);
    }
    adapter(request, response);
  };
  const http1 = createServer((request, response) =>
    handle(request as HttpRequest, response as HttpResponse),
  );
  const http2 = createHttp2Server((request, response) =>
    handle(request as never, response as never),
  );
  // Longer than any client keeps a connection: none is ended under a request that is on its way.
  http1.keepAliveTimeout = 65_000;
  const sessions = new Set<ServerHttp2Session>();
  http2.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  const urlOf = (server: { address(): AddressInfo | string | null }) =>
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await Promise.all(
    [http1, http2].map(
      (server) => new Promise<void>((done) => server.listen(0, "127.0.0.1", done)),
    ),
  );
  return {
    http1Url: urlOf(http1),
    http2Url: urlOf(http2),
    records,
    failures,
    stop: async () => {
      stopping.abort();
      http1.closeAllConnections();
      for (const session of sessions) session.destroy();
      await Promise.all([http1, http2].map((server) => new Promise((done) => server.close(done))));
    },
  };
}

/** Answers a method with an empty message. */
async function answerEmpty(): Promise<object> {
  return {};
}
