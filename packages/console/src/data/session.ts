/** Signing in and out, and whether the session has ended meanwhile. */
import { useSyncExternalStore } from "react";

let isOver = false;
const listeners = new Set<() => void>();

function note(over: boolean): void {
  isOver = over;
  for (const listener of listeners) listener();
}

/** Notes that a call was refused because nobody is signed in. */
export function noteSignedOut(): void {
  note(true);
}

/** Whether the session has ended while the page was open. */
export function useIsSignedOut(): boolean {
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return useSyncExternalStore(subscribe, () => isOver);
}

/** What begins a session: an operator's token, or the code of a link. */
export type Proof = { readonly token: string } | { readonly code: string };

const address = "/console/session";

/** Begins a session. Returns why it did not, or null. */
export async function signIn(proof: Proof): Promise<string | null> {
  let response: Response;
  try {
    const headers = { "Content-Type": "application/json", "Connect-Protocol-Version": "1" };
    response = await fetch(address, { method: "POST", headers, body: JSON.stringify(proof) });
  } catch {
    return "The service does not answer. Is it running?";
  }
  if (response.ok) {
    note(false);
    return null;
  }
  const body: unknown = await response.json().catch(() => null);
  const { error } = Object(body) as { error?: { message?: string } };
  return error?.message ?? `The service answered ${response.status}.`;
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  await fetch(address, { method: "DELETE", headers: { "Connect-Protocol-Version": "1" } });
}
