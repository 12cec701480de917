/** What was done last, which the page says until it is left. */
import { useSyncExternalStore } from "react";

/** An act that was done. */
export interface DoneAct {
  /** What it did, as its button said. */
  readonly words: string;
  /** How it came otherwise than previewed. Null if nothing was previewed. */
  readonly differences: readonly string[] | null;
  readonly requestId: string | null;
  readonly curl: string;
  /** The path of the page that says it. */
  readonly path: string;
}

let last: DoneAct | null = null;
const listeners = new Set<() => void>();

/** Notes what was done, or that nothing of it is said any more. */
export function noteDone(done: DoneAct | null): void {
  last = done;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns what was done last. */
export function useLastAct(): DoneAct | null {
  return useSyncExternalStore(subscribe, () => last);
}

/** Moves the focus to what an act left: the newest entry of a timeline, or else what is said. */
export function focusNewest(): void {
  const found =
    document.querySelector<HTMLElement>("[data-timeline] li") ??
    document.querySelector<HTMLElement>("[data-last-act]");
  if (found === null) return;
  found.tabIndex = -1;
  found.focus();
}
