/**
 * The places of a worker's lingering batches. A posting batch with a place stays after its last
 * document for some seconds, and goes on as soon as a caller wakes it (POSTING-3).
 */

/**
 * The most lingering batches of a process. Each occupies one of its hundred activities. Without a
 * place a batch ends with its work, and Temporal wakes the next.
 */
const maxLingering = 50;

/** A place. One batch of an organisation has it in a process. */
export interface LingeringPlace {
  /** Whether the process is about to end. */
  isStopping(): boolean;
  /** Drops the wake-ups until now: what they announced is read next. */
  reading(): void;
  /** Waits for a wake-up, at most this long. Returns whether there was one. */
  sleep(ms: number): Promise<boolean>;
  leave(): void;
}

/** The places of a process. */
export interface LingeringPlaces {
  /** Takes the organisation's place. Null if it is taken, or if there is none. */
  take(organisationId: string): LingeringPlace | null;
  /** Wakes the organisation's batch, or every batch for null. */
  wake(organisationId: string | null): void;
  /** Makes all batches leave, and grants no further place. */
  stop(): void;
}

interface Lingering {
  isWoken: boolean;
  resume: () => void;
}

/** Creates the places, all of them free. */
export function createLingeringPlaces(): LingeringPlaces {
  const lingering = new Map<string, Lingering>();
  let isStopping = false;
  const wakeOne = (one: Lingering | undefined) => {
    if (one === undefined) return;
    one.isWoken = true;
    one.resume();
  };
  const wakeAll = () => {
    for (const one of lingering.values()) wakeOne(one);
  };
  return {
    take: (organisationId) => {
      if (isStopping || lingering.size === maxLingering || lingering.has(organisationId))
        return null;
      const place: Lingering = { isWoken: false, resume: () => undefined };
      lingering.set(organisationId, place);
      return {
        isStopping: () => isStopping,
        reading: () => {
          place.isWoken = false;
        },
        sleep: async (ms) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          place.resume = resolve;
          const alarm = setTimeout(resolve, ms);
          if (!place.isWoken && !isStopping) await promise;
          clearTimeout(alarm);
          return place.isWoken;
        },
        leave: () => void lingering.delete(organisationId),
      };
    },
    wake: (organisationId) => {
      if (organisationId === null) wakeAll();
      else wakeOne(lingering.get(organisationId));
    },
    stop: () => {
      isStopping = true;
      wakeAll();
    },
  };
}
