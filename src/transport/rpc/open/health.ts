/**
 * gRPC's health protocol (grpc.health.v1), which load balancers call without a key. All services
 * have the same status. A request starts no check: the answer is the last result of the process.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/proto/grpc/health/v1/health_pb.ts";
import { createPlaces } from "../../places.ts";
import { connectionOf, type OpenRoutes } from "../connect/routes.ts";

/** The dependencies of the health service. */
interface HealthParts {
  /** Whether the last check succeeded. Never rejects. */
  readonly isServing: () => Promise<boolean>;
  /** Calls `listener` when the result may have changed, until the returned function is called. */
  readonly subscribe: (listener: () => void) => () => void;
  /**
   * The full names of this process's services. Any other name is NotFound (Check) or
   * SERVICE_UNKNOWN (Watch).
   */
  readonly services: readonly string[];
  /** The limits of production, unless a test sets others. */
  readonly limits?: WatchLimits;
}

/** What watches may take of the process. They need no key. */
export interface WatchLimits {
  readonly inAll: number;
  /** Of one connection. */
  readonly ofOne: number;
  /** The time after which a watch ends, in milliseconds. */
  readonly watchMs: number;
}

/**
 * A client has one watch for each service that it uses, on one connection. A thousand watches take
 * about 11 MB. gRPC servers commonly end a whole connection after half an hour. Clients watch again
 * without a pause.
 */
const defaultLimits: WatchLimits = { inAll: 1_000, ofOne: 16, watchMs: 30 * 60_000 };

/**
 * Watches that were opened together end at times that differ by up to this share, so that they do
 * not return together.
 */
const spread = 0.2;

/** Registers Check, List and Watch. The empty name means the whole process. */
export function healthRoutes({
  isServing,
  subscribe,
  services,
  limits = defaultLimits,
}: HealthParts): OpenRoutes {
  const names = new Set(["", ...services]);
  const status = async () => ((await isServing()) ? Status.SERVING : Status.NOT_SERVING);
  const enter = createPlaces<object>(limits);
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
        const leave = enter(connectionOf(values));
        // A refused watch must not count as unhealthy, or clients without a key could cut others
        // off by taking every place. After Unimplemented a client continues without watching (gRFC
        // A17). After any other code it stops sending requests.
        if (leave === null) throw new ConnectError("too many watches are open", Code.Unimplemented);
        const watchMs = limits.watchMs * (1 - spread * Math.random());
        const changes = observeChanges(subscribe, signal, watchMs);
        try {
          let sent: Status | null = null;
          while (!signal.aborted) {
            if (changes.isOver())
              throw new ConnectError(
                "this watch has lasted long enough; watch again",
                Code.Unavailable,
              );
            const next = changes.next();
            const now = names.has(service) ? await status() : Status.SERVICE_UNKNOWN;
            if (now !== sent) yield { status: now };
            sent = now;
            await next;
          }
        } finally {
          changes.end();
          leave();
        }
      },
    });
}

/** Turns changes into promises until the call is aborted or `watchMs` have passed. */
function observeChanges(subscribe: HealthParts["subscribe"], signal: AbortSignal, watchMs: number) {
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
    /** Resolves at the next change, end or abort after this call. */
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
