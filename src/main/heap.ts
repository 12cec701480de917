/** Settings of V8's heap for a process that answers requests for a long time. */
import { performance } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** A start takes one to four seconds. The rest is for a machine under load. */
const startMs = 10_000;

/** Far shorter than a load takes to fill one half of the space with objects that survive. */
const checkMs = 250;

/** The share of its time that an idle process does not reach. */
const busyShare = 0.1;

/**
 * The bound of the space of new objects, of which V8 uses one half at a time. What a request
 * creates lives for milliseconds.
 */
const newSpaceBytes = 32 * 2 ** 20;

/** The same of a thread that runs workflows, in megabytes of one half. It creates few objects. */
const threadHalfMb = 4;

/**
 * How much the old generation may grow before a full collection, in percent of what lives. V8 would
 * let it grow to four times that in a process with much work.
 */
const growingPercent = 50;

/**
 * Keeps the memory of a process small. Is called before it starts threads. After `afterMs` the
 * space of new objects may grow to `mostBytes`.
 */
export function tuneHeap(afterMs = startMs, mostBytes = newSpaceBytes): void {
  // V8 takes a place in the code whose objects once lived long, as in a burst of requests, and from
  // then on puts all objects of that place into the old generation. What every request creates then
  // stays, with all that it refers to, until the next full collection.
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
  // V8 reads this for each thread that starts, and not again for the one that runs.
  setFlagsFromString(`--max-semi-space-size=${threadHalfMb}`);
  // What a start loads survives, so V8 would double the space for it.
  allowGrowth(false);
  setTimeout(() => boundNewSpace(mostBytes), afterMs).unref();
}

/**
 * V8 doubles the space of new objects for what survives in it, to 128 MB on a machine with much
 * memory. It may do so while the process works and the space is smaller than its bound.
 */
function boundNewSpace(mostBytes: number): void {
  let before = performance.eventLoopUtilization();
  let canGrow = false;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const mayGrow = utilization >= busyShare && 2 * newSpaceSize() <= mostBytes;
    if (mayGrow !== canGrow) allowGrowth(mayGrow);
    canGrow = mayGrow;
  }, checkMs).unref();
}

function allowGrowth(isAllowed: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${isAllowed ? 2 : 1}`);
}

/** Both halves. V8 makes them smaller too, in a process with little work. */
function newSpaceSize(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return space?.space_size ?? 0;
}
