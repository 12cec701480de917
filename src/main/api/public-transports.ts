/** The transports of the public API: keys and rate limits, idempotency, and the services. */
import type { Config } from "../../config.ts";
import { permits } from "../../services/permits.ts";
import { textFormats } from "../../services/text-formats.ts";
import { createAccess } from "../../store/access/api-keys.ts";
import type { IdempotencyStore } from "../../store/access/idempotency.ts";
import type { Pool } from "../../store/database/pool.ts";
import type { Readiness } from "../../transport/http/readiness.ts";
import type { HttpParts } from "../../transport/http/server.ts";
import { compileRoutes } from "../../transport/rest/routes.ts";
import { createCall } from "../../transport/rpc/call.ts";
import { createCallLimit, publicCallLimits } from "../../transport/rpc/call-limit.ts";
import type { Caller } from "../../transport/rpc/caller.ts";
import { createGate } from "../../transport/rpc/gate/gate.ts";
import { createIdempotency } from "../../transport/rpc/idempotency.ts";
import type { ServiceBinding } from "../../transport/rpc/implementation.ts";
import { operationsOf } from "../../transport/rpc/operation.ts";
import { createReportError } from "../../transport/rpc/refusals.ts";
import { createLogFailure, type Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { observeInContext } from "./request-context.ts";
import { createTransports } from "./transports.ts";

/** Creates the handlers of the public port. */
export function createPublicTransports(parts: {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly pool: Pool;
  readonly keys: IdempotencyStore;
  readonly bindings: readonly ServiceBinding[];
  readonly readiness: Readiness;
  readonly shutdownSignal: AbortSignal;
}): Pick<HttpParts, "rest" | "connect"> {
  const { config, log, metrics, bindings } = parts;
  const access = createAccess(parts.pool, {
    limitPerMinute: config.api.rateLimitPerMinute,
    onBatch: (size) => metrics.admissions.observe(size),
  });
  const gate = createGate({
    access,
    permits: (operation, caller) => permits(operation.name, caller),
  });
  const limitCalls = createCallLimit(publicCallLimits);
  const call = createCall({
    idempotency: createIdempotency(parts.keys),
    observe: observeInContext,
    implementations: bindings,
    formats: textFormats,
    limit: ({ caller }, run) => limitCalls(caller.organisationId, run),
  });
  const findRoute = compileRoutes(operationsOf(bindings.map(({ service }) => service)));
  return createTransports<Caller>({
    ...parts,
    gate,
    call,
    reportError: createReportError(createLogFailure(log)),
    findRoute,
    isReflected: config.api.grpcReflection,
  });
}
