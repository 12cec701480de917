/**
 * The two transports of a port over one gate and one call: REST, and Connect with gRPC. The public
 * port has both. The port of the admin API has no REST.
 */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { exchangeOf } from "../../transport/http/exchanges.ts";
import type { Readiness } from "../../transport/http/readiness.ts";
import type { HttpParts } from "../../transport/http/server.ts";
import type { HttpRequest, HttpResponse } from "../../transport/rest/exchange.ts";
import { restHandler } from "../../transport/rest/handler.ts";
import { compileReader } from "../../transport/rest/read-json.ts";
import type { FindRoute } from "../../transport/rest/routes.ts";
import type { Principal } from "../../transport/rpc/caller.ts";
import { connectRoutes } from "../../transport/rpc/connect/routes.ts";
import type { ServiceBinding } from "../../transport/rpc/implementation.ts";
import { healthRoutes } from "../../transport/rpc/open/health.ts";
import { reflectionRoutes } from "../../transport/rpc/open/reflection.ts";

type ConnectParts<C extends Principal> = Parameters<typeof connectRoutes<C>>[1];

/** The parts of a port's transports. */
interface TransportParts<C extends Principal>
  extends Pick<ConnectParts<C>, "gate" | "call" | "reportError"> {
  readonly bindings: readonly ServiceBinding<C>[];
  readonly findRoute: FindRoute;
  readonly readiness: Readiness;
  /** Aborted when the process stops. */
  readonly shutdownSignal: AbortSignal;
  /** Whether gRPC clients may list the services. */
  readonly isReflected: boolean;
}

/** Creates the handlers of REST and Connect. */
export function createTransports<C extends Principal>(
  parts: TransportParts<C>,
): Pick<HttpParts, "rest" | "connect"> {
  const { bindings, gate, call, reportError, shutdownSignal } = parts;
  const services = bindings.map(({ service }) => service);
  const health = healthRoutes({
    ...parts.readiness,
    services: services.map(({ typeName }) => typeName),
  });
  const open = parts.isReflected ? [health, reflectionRoutes(services)] : [health];
  const rest = restHandler<C>(parts);
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
        open,
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
