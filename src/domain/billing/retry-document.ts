/** Decides how an operator's retry brings a document to the ledger. ADMIN-6. */
import type { DocumentStatus } from "../model/invoice.ts";
import { Refusal } from "../refusal.ts";
import { isLost } from "./document-presence.ts";

/**
 * The ledger state of a document. `waiting`: its last job is not done. `failed`: its last job was
 * refused. `drift`: neither, and the ledger has another amount, or another member (LEDGER-20).
 */
export type DocumentState = "failed" | "waiting" | "synced" | "drift";

/**
 * The kinds of job for a document: create it, change an invoice's lines, or allocate a note's
 * credit to an invoice.
 */
export type DocumentOperation = "creation" | "amendment" | "allocation";

/** What decides about a document. `ledgerId` is null if it has never been in the ledger. */
export interface RetriableDocument {
  readonly state: DocumentState;
  readonly status: DocumentStatus;
  readonly ledgerId: string | null;
  readonly operation: DocumentOperation | null;
}

/** Makes the waiting job due at once, or repeats the refused operation by a new job. */
export type Retry = "bring_forward" | DocumentOperation;

/**
 * Returns the retry. Refuses `invalid_state` if no job of the document failed or waits, if the
 * ledger has lost the document, and in Setup Mode (SETUP-1).
 */
export function decideRetry(
  { state, status, ledgerId, operation }: RetriableDocument,
  setupMode: boolean,
): Retry {
  const isGone = isLost({ status, inLedger: ledgerId !== null });
  if (state !== "waiting" && (state === "synced" || operation === null || isGone))
    throw new Refusal(
      "invalid_state",
      "The document has no failed or pending ledger job: the ledger has it, or had it.",
    );
  if (setupMode)
    throw new Refusal("invalid_state", "The organisation is in Setup Mode: no document is posted.");
  return state === "waiting" || operation === null ? "bring_forward" : operation;
}

/**
 * Refuses `invalid_state` while another job must end first. `running` names it as the end of a
 * sentence.
 */
export function requireNoneRunning(running: string | null): void {
  if (running === null) return;
  const message = `Another operation on this subscription is still running: ${running}.`;
  throw new Refusal("invalid_state", message);
}
