/**
 * The two transports of a port over one gate and one call: REST, and Connect with gRPC. The public
 * port has both. The port of the admin API has no REST.
 */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Config } from "../../config.ts";
import { textFormats } from "../../services/text-formats.ts";
import type { IdempotencyStore } from "../../store/access/idempotency.ts";
import { exchangeOf } from "../../transport/http/exchanges.ts";
import type { Readiness } from "../../transport/http/readiness.ts";
import type { HttpParts } from "../../transport/http/server.ts";
import type { HttpRequest, HttpResponse } from "../../transport/rest/exchange.ts";
import { restHandler } from "../../transport/rest/handler.ts";
import { compileReader } from "../../transport/rest/read-json.ts";
import type { FindRoute } from "../../transport/rest/routes.ts";
import { createCall } from "../../transport/rpc/call.ts";
import type { Principal } from "../../transport/rpc/caller.ts";
import { connectRoutes } from "../../transport/rpc/connect/routes.ts";
import type { Gate } from "../../transport/rpc/gate/gate.ts";
import { createIdempotency } from "../../transport/rpc/idempotency.ts";
import type { ServiceBinding } from "../../transport/rpc/implementation.ts";
import { healthRoutes } from "../../transport/rpc/open/health.ts";
import { reflectionRoutes } from "../../transport/rpc/open/reflection.ts";
import { createReportError, type LogFailure } from "../../transport/rpc/refusals.ts";
import { observeInContext } from "./request-context.ts";

/** The parts of a port's transports. */
export interface TransportParts<C extends Principal>
  extends Required<Pick<Parameters<typeof createCall<C>>[0], "limit">> {
  readonly config: Config;
  readonly bindings: readonly ServiceBinding<C>[];
  readonly gate: Gate<C>;
  readonly findRoute: FindRoute;
  readonly keys: IdempotencyStore;
  readonly logFailure: LogFailure;
  readonly readiness: Readiness;
  /** Aborted when the process stops. */
  readonly shutdownSignal: AbortSignal;
}

/** Creates the handlers of REST and Connect. */
export function createTransports<C extends Principal>(
  parts: TransportParts<C>,
): Pick<HttpParts, "rest" | "connect"> {
  const { bindings, gate, findRoute, shutdownSignal } = parts;
  const reportError = createReportError(parts.logFailure);
  const call = createCall<C>({
    idempotency: createIdempotency(parts.keys),
    observe: observeInContext,
    implementations: bindings,
    formats: textFormats,
    limit: parts.limit,
  });
  const services = bindings.map(({ service }) => service);
  const health = healthRoutes({
    ...parts.readiness,
    services: services.map(({ typeName }) => typeName),
  });
  const isReflected = parts.config.api.grpcReflection;
  const rest = restHandler<C>({ findRoute, gate, call, reportError });
  return {
    rest,
    connect: connectNodeAdapter({
      ...connectRoutes<C>(bindings, {
        gate,
        call,
        reportError,
        checkJson: (message) => compileReader(message, [], "protobuf"),
        recordOf: exchangeOf,
        shutdownSignal,
        open: isReflected ? [health, reflectionRoutes(services)] : [health],
      }),
      // An unknown procedure is answered like any other unknown path.
      fallback: (request, response) => {
        const exchange = exchangeOf(request);
        if (exchange !== undefined)
          void rest(request as HttpRequest, response as HttpResponse, exchange);
      },
    }),
  };
}
