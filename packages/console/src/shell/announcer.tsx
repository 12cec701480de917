/** Says to screen readers what happened without a change of page. */
import { useSyncExternalStore } from "react";

let said = "";
const listeners = new Set<() => void>();

/** Says a text politely. The same text twice is said twice. */
export function announce(text: string): void {
  said = text === said ? `${text}\u00a0` : text;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The region that screen readers listen to. */
export function Announcer() {
  const text = useSyncExternalStore(subscribe, () => said);
  return (
    <div className="unseen" role="status" aria-live="polite">
      {text}
    </div>
  );
}
