/** Settings of V8's heap for a process that answers requests for a long time. */
import { setFlagsFromString } from "node:v8";

/** A start takes one to four seconds. The rest is for a machine under load. */
const startMs = 10_000;

/** Keeps the memory of a process small. */
export function tuneHeap(): void {
  // V8 takes a place in the code whose objects once lived long, as in a burst of requests, and from
  // then on puts all objects of that place into the old generation. What every request creates then
  // stays, with all that it refers to, until the next full collection.
  setFlagsFromString("--no-allocation-site-pretenuring");
  // V8 doubles the space of new objects for what survives in it, and what a start loads survives.
  // It would end with 128 MB that an idle process never uses.
  setFlagsFromString("--semi-space-growth-factor=1");
  setTimeout(() => setFlagsFromString("--semi-space-growth-factor=2"), startMs).unref();
}
