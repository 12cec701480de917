/**
 * Turns at an endpoint: so many attempts at once in this process, so that a slow or dead endpoint holds only a few of its places. Who finds all
 * taken is told when to ask again, each a little later than the one before, as fast as the endpoint answers.
 */

/** A turn, or in how many milliseconds to ask again. */
export type EndpointTurn =
  /** `end` ends it, with how long the endpoint took where it was asked. */
  { readonly kind: "taken"; end(tookMs?: number): void } | { readonly kind: "later"; readonly inMs: number };

/** The turns of all endpoints. */
export interface EndpointTurns {
  take(endpointId: string): EndpointTurn;
}

/** Attempts at once for each endpoint. */
export const turnsAtOnce = 5;

/** What an endpoint is taken to need until it has answered. */
const firstTookMs = 500;

/** How much of what it took last goes into the estimate. */
const weight = 0.2;

/** Of so many endpoints it is known how fast they answer: they come and go, a process stays. */
const knownAtMost = 1_000;

/** Asking again sooner costs the engine more than it brings. */
const leastMs = 100;

interface Endpoint {
  active: number;
  /** How long it takes to answer, the newest answers first. */
  tookMs: number;
  /** When the last of those who wait asks again. */
  waitedForUntil: number;
}

/** Turns of one process; `now` in milliseconds, which only rise. */
export function createEndpointTurns(now: () => number = () => performance.now()): EndpointTurns {
  const endpoints = new Map<string, Endpoint>();
  const add = (endpointId: string): Endpoint => {
    if (endpoints.size >= knownAtMost) {
      for (const [id, { active, waitedForUntil }] of endpoints) {
        if (active === 0 && waitedForUntil <= now()) endpoints.delete(id);
      }
    }
    const endpoint: Endpoint = { active: 0, tookMs: firstTookMs, waitedForUntil: 0 };
    endpoints.set(endpointId, endpoint);
    return endpoint;
  };
  return {
    take: (endpointId) => {
      const endpoint = endpoints.get(endpointId) ?? add(endpointId);
      if (endpoint.active >= turnsAtOnce) {
        const stepMs = endpoint.tookMs / turnsAtOnce;
        endpoint.waitedForUntil = Math.max(endpoint.waitedForUntil, now()) + stepMs;
        return { kind: "later", inMs: Math.max(leastMs, Math.ceil(endpoint.waitedForUntil - now())) };
      }
      endpoint.active += 1;
      return {
        kind: "taken",
        end: (tookMs) => {
          endpoint.active -= 1;
          if (tookMs !== undefined) endpoint.tookMs += weight * (tookMs - endpoint.tookMs);
        },
      };
    },
  };
}
