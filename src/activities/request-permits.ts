/**
 * Permits for requests to webhook endpoints: so many at once for all endpoints of one organisation
 * in this process, so that those of one that has many slow ones leave connections to the others.
 * The first request of an endpoint needs none, lest it waits for others that are slow.
 */

/** The permits of all organisations. */
export interface RequestPermits {
  /**
   * Takes one, and answers what gives it back; null where all are taken. `isFirst`: there is one in
   * any case.
   */
  take(organisationId: string, isFirst: boolean): (() => void) | null;
}

/** Requests at once to each endpoint: what many servers take from one sender without queueing. */
export const requestsAtOnce = 5;

/** Requests at once for each organisation: those of four endpoints that take all they may. */
export const organisationRequestsAtOnce = 20;

/** Permits of one process. */
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
