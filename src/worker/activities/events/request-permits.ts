/**
 * Permits for requests to webhook endpoints. They limit the requests of one organisation in this
 * process: many slow endpoints of one organisation leave connections to the others. The first
 * request of an endpoint always gets a permit, so that no endpoint waits for slow ones.
 */

/** The permits of all organisations. */
export interface RequestPermits {
  /**
   * Takes a permit and returns its release function. Null if all are taken and the request is not
   * the endpoint's first.
   */
  take(organisationId: string, isFirst: boolean): (() => void) | null;
}

/** Concurrent requests to each endpoint. Small servers accept as many from one sender. */
export const requestsAtOnce = 5;

/** Concurrent requests for each organisation: four endpoints with five requests each. */
export const organisationRequestsAtOnce = 20;

/** Creates the permits of one process. */
export function createRequestPermits(): RequestPermits {
  const taken = new Map<string, number>();
  return {
    take: (organisationId, isFirst) => {
      const count = taken.get(organisationId) ?? 0;
      if (!isFirst && count >= organisationRequestsAtOnce) return null;
      taken.set(organisationId, count + 1);
      return () => {
        const left = (taken.get(organisationId) ?? 1) - 1;
        if (left > 0) taken.set(organisationId, left);
        else taken.delete(organisationId);
      };
    },
  };
}
