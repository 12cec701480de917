/**
 * Turns at endpoints: so many attempts at once in this process at one endpoint, and at all of one organisation, so that what is slow or dead
 * holds only a few of its places. Who finds all taken is told when to ask again, each a little later than the one before, as fast as those at
 * work go on.
 */

/** A turn, or in how many milliseconds to ask again. */
export type EndpointTurn =
  /** `end` ends it, with how long it was held where something was sent. */
  { readonly kind: "taken"; end(tookMs?: number): void } | { readonly kind: "later"; readonly inMs: number };

/** The turns of all endpoints. */
export interface EndpointTurns {
  take(organisationId: string, endpointId: string): EndpointTurn;
}

/** Attempts at once for each endpoint. */
export const turnsAtOnce = 5;

/**
 * Attempts at once for each organisation, of the hundred of a process (src/temporal/run-worker.ts). An endpoint that nothing is being sent to
 * has its first turn even so, lest it waits for others that are slow.
 */
export const organisationTurnsAtOnce = 20;

/** What an attempt at an endpoint is taken to need until one has ended. */
const firstTookMs = 500;

/** The same of an organisation's, mostly fast ones: what waits for too long finds places empty, what comes too soon is told again. */
const organisationTookMs = 100;

/** How much of what it took last goes into the estimate. */
const weight = 0.2;

/** Of so many endpoints, and organisations, it is known how fast they are: they come and go, a process stays. */
const knownAtMost = 1_000;

/** Asking again sooner costs the engine more than it brings. */
const leastMs = 100;

/** Who takes turns: an endpoint, or an organisation with all of its endpoints. */
interface Party {
  active: number;
  /** How long a turn is held, the newest ones first. */
  tookMs: number;
  /** When the last of those who wait asks again. */
  waitedForUntil: number;
}

/** Turns of one process; `now` in milliseconds, which only rise. */
export function createEndpointTurns(now: () => number = () => performance.now()): EndpointTurns {
  const endpoints = new Map<string, Party>();
  const organisations = new Map<string, Party>();
  return {
    take: (organisationId, endpointId) => {
      const endpoint = known(endpoints, endpointId, now, firstTookMs);
      const organisation = known(organisations, organisationId, now, organisationTookMs);
      if (endpoint.active >= turnsAtOnce) return later(endpoint, turnsAtOnce, now);
      if (organisation.active >= organisationTurnsAtOnce && endpoint.active > 0) {
        return later(organisation, organisationTurnsAtOnce, now);
      }
      const parties = [endpoint, organisation];
      for (const party of parties) party.active += 1;
      return {
        kind: "taken",
        end: (tookMs) => {
          for (const party of parties) {
            party.active -= 1;
            if (tookMs !== undefined) party.tookMs += weight * (tookMs - party.tookMs);
          }
        },
      };
    },
  };
}

function known(parties: Map<string, Party>, id: string, now: () => number, tookMs: number): Party {
  const party = parties.get(id);
  if (party !== undefined) return party;
  if (parties.size >= knownAtMost) {
    for (const [other, { active, waitedForUntil }] of parties) {
      if (active === 0 && waitedForUntil <= now()) parties.delete(other);
    }
  }
  const added: Party = { active: 0, tookMs, waitedForUntil: 0 };
  parties.set(id, added);
  return added;
}

function later(party: Party, atOnce: number, now: () => number): EndpointTurn {
  party.waitedForUntil = Math.max(party.waitedForUntil, now()) + party.tookMs / atOnce;
  return { kind: "later", inMs: Math.max(leastMs, Math.ceil(party.waitedForUntil - now())) };
}
