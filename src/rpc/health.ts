/** gRPC's health protocol (grpc.health.v1): what load balancers ask, without a key. Same answer for every service of ours. */
import { setTimeout as wait } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../gen/proto/grpc/health/v1/health_pb.ts";
import type { OpenRoutes } from "./routes.ts";

/** What health is told by. */
export interface HealthParts {
  /** Whether requests can be answered now: the database is there, and the process is not stopping. Never rejects. */
  readonly isServing: () => Promise<boolean>;
  /** The full names of the services that this process has; any other is NotFound (Check) or SERVICE_UNKNOWN (Watch). */
  readonly services: readonly string[];
  /** How often a watch looks again. */
  readonly watchEveryMs?: number;
}

/** A balancer that watches hears of a change within this time; asking the database costs less than a millisecond. */
const defaultWatchEveryMs = 5_000;

/** Registers Check, List and Watch; the empty name stands for the whole process. */
export function healthRoutes({ isServing, services, watchEveryMs = defaultWatchEveryMs }: HealthParts): OpenRoutes {
  const names = new Set(["", ...services]);
  const status = async () => ((await isServing()) ? Status.SERVING : Status.NOT_SERVING);
  return (router) =>
    router.service(Health, {
      check: async ({ service }) => {
        if (!names.has(service)) throw new ConnectError("unknown service", Code.NotFound);
        return { status: await status() };
      },
      list: async () => {
        const now = await status();
        return { statuses: Object.fromEntries([...names].map((name) => [name, { status: now }])) };
      },
      watch: async function* ({ service }, { signal }) {
        let told: Status | null = null;
        while (!signal.aborted) {
          const now = names.has(service) ? await status() : Status.SERVICE_UNKNOWN;
          if (now !== told) yield { status: now };
          told = now;
          // An aborted wait is the end of the watch, no error.
          await wait(watchEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
        }
      },
    });
}
