/**
 * A time limit that counts only while this process could have read an answer. A timer of the driver
 * also runs while the process is busy, for example with a flood of requests, and would then report
 * a database that has answered as unreachable.
 */

/** A limit is counted in this many parts. However long the process was busy, it counts as one. */
const parts = 10;

/**
 * Calls `onEnd` after `limitMs`, unless the returned function is called before. Answers that have
 * already arrived are read first.
 */
export function startTimeLimit(limitMs: number, onEnd: () => void): () => void {
  let left = parts;
  let isStopped = false;
  let timer = setTimeout(next, limitMs / parts);
  function next(): void {
    left -= 1;
    if (left > 0) timer = setTimeout(next, limitMs / parts);
    else setImmediate(() => isStopped || onEnd());
  }
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
