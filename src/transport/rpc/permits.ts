/**
 * Permits of calls: how many a process carries out at once, shared fairly by organisations. A
 * process has one event loop. If it began every request at once, each step of one organisation's
 * request would wait for a step of every request of a busier one. LIMIT-3.
 */
import { Refusal } from "../../domain/refusal.ts";
import { createFairPlaces } from "./fair-places.ts";

/**
 * Runs work without the permit of its call, because it waits for something outside this process or
 * for a statement that many calls share. Then the call waits for a permit again, before new calls
 * of its organisation.
 */
export type WaitOutside = <T>(work: () => Promise<T>) => Promise<T>;

/** For calls that need no permit. */
export const withoutPermit: WaitOutside = (work) => work();

/** A call that asks for a permit. */
interface PermitRequest {
  readonly organisationId: string;
  /** Once it is aborted, a call that has not begun leaves the queue. */
  readonly signal: AbortSignal;
}

/** Runs a call when it has its permit, and has the outcome of `run`. */
export type WithPermit = <T>(
  request: PermitRequest,
  run: (waitOutside: WaitOutside) => Promise<T>,
) => Promise<T>;

/** How many calls are in progress at once. */
interface PermitLimits {
  readonly permits: number;
  /** Of one organisation. The others' first calls then start at once. */
  readonly mostOfOrganisation: number;
  /** A call that waits longer is refused. */
  readonly waitMs: number;
}

/** Requests normally wait milliseconds. The wait is below the 15 seconds for the ledger. */
const waitMs = 10_000;

/**
 * Database connections that permits leave to admissions, of which two statements run at once. They
 * would wait behind the calls in the pool's queue, which knows no organisation.
 */
const forAdmissions = 2;

/**
 * Returns the limits for a pool of so many connections. A call uses one at a time, so that none
 * waits in the pool. An organisation alone gets three quarters of the permits.
 */
export function permitLimits(connections: number): PermitLimits {
  const permits = Math.max(2, connections - forAdmissions);
  return { permits, mostOfOrganisation: Math.max(1, Math.floor((permits * 3) / 4)), waitMs };
}

/**
 * Starts few steps of calls in each iteration of the event loop, and organisations alternate.
 * Returns null if the step may start in this iteration.
 */
interface Pace {
  next(organisationId: string): Promise<void> | null;
}

/** What is measured of the waits for permits. */
export interface PermitObserver {
  /** A call begins to wait for a permit, or waits no longer. */
  readonly onWaiting: (change: 1 | -1) => void;
  /** A call has a permit, or none (`failed`), after so many milliseconds. */
  readonly onWaited: (outcome: "ok" | "failed", waitedMs: number) => void;
}

/** What permits need. */
interface PermitParts {
  /**
   * Aborted when the process drains. Calls then stay in the queue, because their clients have not
   * disconnected.
   */
  readonly stopping: AbortSignal;
  readonly limits: PermitLimits;
  readonly pace: Pace;
  readonly observer: PermitObserver;
  /** The message of a refusal for too long a wait, if it is not that of a busy organisation. */
  readonly tooBusyText?: string;
}

/**
 * Creates the permits of a process. A call that waits holds its connection or stream, whose limits
 * bound the queue.
 */
export function createPermits({
  stopping,
  limits,
  pace,
  observer,
  tooBusyText = "Too many requests of the organisation are waiting; please retry",
}: PermitParts): WithPermit {
  const places = createFairPlaces<() => void>({
    places: limits.permits,
    mostOfGroup: limits.mostOfOrganisation,
  });

  const observed = async (permit: Promise<void>): Promise<void> => {
    const beganMs = performance.now();
    let outcome: "ok" | "failed" = "failed";
    observer.onWaiting(1);
    try {
      await permit;
      outcome = "ok";
    } finally {
      observer.onWaiting(-1);
      observer.onWaited(outcome, performance.now() - beganMs);
    }
  };

  const begin = async ({ organisationId, signal }: PermitRequest): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const withdraw = places.enter(organisationId, resolve, false);
    if (withdraw === null) return observer.onWaited("ok", 0);
    const refuse = () => {
      if (withdraw()) reject(new Refusal("temporarily_unavailable", tooBusyText, null, 1));
    };
    const onAbort = () => {
      if (!stopping.aborted) refuse();
    };
    const timer = setTimeout(refuse, limits.waitMs);
    signal.addEventListener("abort", onAbort);
    // The client may have disconnected during the admission.
    if (signal.aborted) onAbort();
    try {
      await observed(promise);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  };

  const resume = async (organisationId: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (places.enter(organisationId, resolve, true) === null) observer.onWaited("ok", 0);
    else await observed(promise);
  };

  const leave = (organisationId: string) => places.leave(organisationId)?.();

  return async (request, run) => {
    const { organisationId } = request;
    await begin(request);
    const waitOutside: WaitOutside = async (work) => {
      leave(organisationId);
      try {
        return await work();
      } finally {
        await resume(organisationId);
        await pace.next(organisationId);
      }
    };
    try {
      await pace.next(organisationId);
      return await run(waitOutside);
    } finally {
      leave(organisationId);
    }
  };
}
