/**
 * Measures how long the disk takes to store a page, which PostgreSQL waits for at each commit. A
 * pause of the disk is a pause of all requests that write, and a list counts in its rate window.
 */
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** A page of PostgreSQL's log. */
const page = Buffer.alloc(8_192, 1);

/** Fifty pages a second cost next to nothing, and no pause of 20 ms is missed. */
const pauseMs = 20;

/** The durations of the pages, in milliseconds. */
interface DiskTimes {
  readonly p50Ms: number;
  readonly longestMs: number;
}

/** Begins to store pages next to the data of the measured system. The function returned ends it. */
export async function watchDisk(): Promise<() => Promise<DiskTimes>> {
  const folder = await mkdtemp(join(tmpdir(), "billing-disk-"));
  const file = await open(join(folder, "pages"), "w");
  const took: number[] = [];
  const ended = new AbortController();
  const store = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const beganMs = performance.now();
      await file.write(page, 0, page.length, 0);
      await file.datasync();
      took.push(performance.now() - beganMs);
      await wait(pauseMs);
    }
  };
  const storing = store();
  return async () => {
    ended.abort();
    await storing;
    await file.close();
    await rm(folder, { recursive: true });
    const sorted = took.toSorted((a, b) => a - b);
    return {
      p50Ms: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
      longestMs: sorted.at(-1) ?? Number.NaN,
    };
  };
}
