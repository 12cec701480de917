/** The transports of the public API: keys and rate limits, and the routes of REST. */
import { permits } from "../../services/permits.ts";
import { createAccess } from "../../store/access/api-keys.ts";
import type { Pool } from "../../store/database/pool.ts";
import type { HttpParts } from "../../transport/http/server.ts";
import { compileRoutes } from "../../transport/rest/routes.ts";
import { createCallLimit, publicCallLimits } from "../../transport/rpc/call-limit.ts";
import type { Caller } from "../../transport/rpc/caller.ts";
import { createGate } from "../../transport/rpc/gate/gate.ts";
import { operationsOf } from "../../transport/rpc/operation.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { createTransports, type TransportParts } from "./transports.ts";

/** What the public port needs in addition to what it makes itself. */
interface PublicTransportParts
  extends Omit<TransportParts<Caller>, "gate" | "findRoute" | "limit"> {
  readonly metrics: Metrics;
  readonly pool: Pool;
}

/** Creates the handlers of the public port. */
export function createPublicTransports(
  parts: PublicTransportParts,
): Pick<HttpParts, "rest" | "connect"> {
  const access = createAccess(parts.pool, {
    limitPerMinute: parts.config.api.rateLimitPerMinute,
    onBatch: (size) => parts.metrics.admissions.observe(size),
  });
  const limitCalls = createCallLimit(publicCallLimits);
  return createTransports<Caller>({
    ...parts,
    gate: createGate({
      access,
      permits: (operation, caller) => permits(operation.name, caller),
    }),
    limit: ({ caller }, run) => limitCalls(caller.organisationId, run),
    findRoute: compileRoutes(operationsOf(parts.bindings.map(({ service }) => service))),
  });
}
