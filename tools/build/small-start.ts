/**
 * Keeps the memory of a start small. V8 doubles the space of new objects for what survives in it,
 * and what a start loads survives: it would end with 128 MB that an idle process never uses.
 */
import { setFlagsFromString } from "node:v8";

/** A start takes one to four seconds. The rest is for a machine under load. */
const startMs = 10_000;

/** Lets the space of new objects grow with the work, but not during the start. */
export function startSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setTimeout(() => setFlagsFromString("--semi-space-growth-factor=2"), startMs).unref();
}
