/**
 * gRPC's health protocol (grpc.health.v1): what load balancers ask, without a key. Every service of
 * ours has the same answer. Nothing is looked up for a request: all are answered from what the
 * process last found out.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/proto/grpc/health/v1/health_pb.ts";
import { connectionOf, type OpenRoutes } from "./routes.ts";
import { createPlaces, type Places } from "./stream-places.ts";

/** What health is told by. */
export interface HealthParts {
  /** Whether requests can be answered, as of the last check. Never rejects. */
  readonly isServing: () => Promise<boolean>;
  /** Calls `listener` when that may have changed, until the returned function is called. */
  readonly subscribe: (listener: () => void) => () => void;
  /** The full names of the services that this process has; any other is NotFound (Check) or SERVICE_UNKNOWN (Watch). */
  readonly services: readonly string[];
  /** Those of a server in service, unless a test chooses others. */
  readonly limits?: WatchLimits;
}

/** What watches may take of the process: no key is needed for them. */
export interface WatchLimits {
  readonly inAll: number;
  readonly perConnection: number;
  /** After which a watch is ended, in milliseconds. */
  readonly watchMs: number;
}

/**
 * A client has one watch for each service that it uses, on one connection. A thousand watches hold
 * some 11 MB. Half an hour is what gRPC servers commonly give a whole connection; clients watch
 * again without a pause.
 */
const defaultLimits: WatchLimits = { inAll: 1_000, perConnection: 16, watchMs: 30 * 60_000 };

/**
 * Watches that were opened together end apart by up to this part of their time, so that they do not
 * return together.
 */
const spread = 0.2;

/** Registers Check, List and Watch; the empty name stands for the whole process. */
export function healthRoutes({ isServing, subscribe, services, limits = defaultLimits }: HealthParts): OpenRoutes {
  const names = new Set(["", ...services]);
  const status = async () => ((await isServing()) ? Status.SERVING : Status.NOT_SERVING);
  const places = createPlaces(limits);
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
      watch: async function* ({ service }, { signal, values }) {
        const leave = enter(places, connectionOf(values));
        const changes = hearChanges(subscribe, signal, limits.watchMs * (1 - spread * Math.random()));
        try {
          let told: Status | null = null;
          while (!signal.aborted) {
            if (changes.isOver())
              throw new ConnectError("this watch has lasted long enough; watch again", Code.Unavailable);
            const next = changes.next();
            const now = names.has(service) ? await status() : Status.SERVICE_UNKNOWN;
            if (now !== told) yield { status: now };
            told = now;
            await next;
          }
        } finally {
          changes.end();
          leave();
        }
      },
    });
}

/**
 * A refused watch must not count as unhealthy: strangers who take every place would else cut
 * clients off. After Unimplemented a client goes on without watching (gRFC A17); after any other
 * code it stops sending requests.
 */
function enter(places: Places, connection: object): () => void {
  const leave = places.enter(connection);
  if (leave !== null) return leave;
  throw new ConnectError("too many watches are open", Code.Unimplemented);
}

/** Changes as promises, from now until the call is aborted or `watchMs` have passed. */
function hearChanges(subscribe: HealthParts["subscribe"], signal: AbortSignal, watchMs: number) {
  let heard = Promise.withResolvers<void>();
  let isOver = false;
  const wake = () => heard.resolve();
  const unsubscribe = subscribe(wake);
  signal.addEventListener("abort", wake);
  const timer = setTimeout(() => {
    isOver = true;
    wake();
  }, watchMs).unref();
  return {
    isOver: () => isOver,
    /** Resolves at the first change, end or abort from this call on. */
    next: () => {
      heard = Promise.withResolvers();
      return heard.promise;
    },
    end: () => {
      clearTimeout(timer);
      unsubscribe();
      signal.removeEventListener("abort", wake);
    },
  };
}
