/**
 * The port with both real transports, the real gate and the real call. Only keys and services are
 * the test's own.
 */
import { connect as connectTcp } from "node:net";
import type { DescService, Message } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { test } from "vitest";
import { textFormats } from "../../../src/services/text-formats.ts";
import { exchangeOf } from "../../../src/transport/http/exchanges.ts";
import type { HttpLimits } from "../../../src/transport/http/limits/limits.ts";
import type { HttpRequest, HttpResponse } from "../../../src/transport/rest/exchange.ts";
import { restHandler } from "../../../src/transport/rest/handler.ts";
import { compileReader } from "../../../src/transport/rest/read-json.ts";
import { createCall } from "../../../src/transport/rpc/call.ts";
import { connectRoutes, type OpenRoutes } from "../../../src/transport/rpc/connect/routes.ts";
import { generateApiKey } from "../../../src/transport/rpc/gate/api-key.ts";
import { createGate } from "../../../src/transport/rpc/gate/gate.ts";
import { bind, type Implementation } from "../../../src/transport/rpc/implementation.ts";
import { observeCall } from "../../../src/transport/rpc/observe.ts";
import { operationOf } from "../../../src/transport/rpc/operation.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { accessOf, admitted } from "../rpc/gate/admission-fixture.ts";
import { gatewayParts, services, startPort, type TestPort } from "./port-fixture.ts";

/** The only key that the gate knows. */
export const key = generateApiKey(true).value;

const scopes = services.flatMap(({ methods }) =>
  methods.map(operationOf).flatMap(({ scope, anyScope }) => [scope ?? "", ...anyScope]),
);

/** A running port and the requests that reached a service. */
export interface TestTransports extends TestPort {
  readonly requests: Message[];
}

/** Starts it; `answer` is what every service says, `open` are routes without a key. */
export async function startTransports(
  answer: () => object = () => ({}),
  open: readonly OpenRoutes[] = [],
  limits: Partial<HttpLimits> = {},
): Promise<TestTransports> {
  const requests: Message[] = [];
  const bindings = services.map((service) => bindAll(service, requests, answer));
  const { findRoute, reportError } = gatewayParts(() => ({}));
  const gate = createGate({ access: accessOf(admitted(scopes)), permits: () => null });
  const call = createCall({
    idempotency: async (_, execute) => ({ message: await execute(), replayed: false }),
    observe: observeCall,
    implementations: bindings,
    formats: textFormats,
  });
  const rest = restHandler({ findRoute, gate, call, reportError });
  const connect = connectNodeAdapter({
    ...connectRoutes(bindings, {
      gate,
      call,
      reportError,
      checkJson: (message) => compileReader(message, [], "protobuf"),
      recordOf: exchangeOf,
      open,
    }),
    fallback: (request, response) => {
      const exchange = exchangeOf(request);
      if (exchange !== undefined)
        void rest(request as HttpRequest, response as HttpResponse, exchange);
    },
  });
  return { ...(await startPort(() => ({}), { rest, connect, limits })), requests };
}

/** Tests on one port, whose services answer empty messages. */
export const transportsTest = test.extend(
  "transports",
  perFile,
  started(
    () => startTransports(),
    (transports) => transports.stop({ graceMs: 0 }),
  ),
);

function bindAll(service: DescService, requests: Message[], answer: () => object) {
  const methods = service.methods.map((method) => {
    const take = async (request: Message) => {
      requests.push(request);
      return answer();
    };
    return [method.localName, take];
  });
  return bind(service, Object.fromEntries(methods) as Implementation<DescService>);
}

/** Sends bytes over a connection of their own; everything that comes until it is closed. */
export async function sendBytes(port: number, text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = "";
  const socket = connectTcp({ port, host: "127.0.0.1" });
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    received += chunk;
  });
  socket.once("end", () => resolve(received)).once("error", reject);
  socket.write(text);
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
