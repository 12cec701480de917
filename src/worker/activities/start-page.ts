/** Starts the workflows of a page of objects that have something due. */
import type { DuePage } from "../../../workflows/contract.ts";

/** Objects on a page. All are started within seconds, so the activity stays short. */
export const pageSize = 500;

/** Concurrent starts. The engine answers several in the time of one. */
const startsAtOnce = 16;

/**
 * Starts the work of each object of a page, and returns what the next page begins after: `idOf` of
 * the last one. By default the objects are ids.
 */
export async function startPage<T>(
  page: readonly T[],
  start: (one: T) => Promise<boolean>,
  idOf: (one: T) => string = String,
): Promise<DuePage> {
  const started = await startEach(page, start);
  const last = page.at(-1);
  const next = last === undefined || page.length < pageSize ? null : idOf(last);
  return { found: page.length, started, next };
}

/**
 * Starts each, several at once, and returns how many were started. One queue for all: each starter
 * takes the next one when its last is started.
 */
export async function startEach<T>(
  all: readonly T[],
  start: (one: T) => Promise<boolean>,
): Promise<number> {
  const waiting = all.values();
  let started = 0;
  const starter = async (): Promise<void> => {
    for (const one of waiting) if (await start(one)) started += 1;
  };
  await Promise.all(Array.from({ length: startsAtOnce }, starter));
  return started;
}
