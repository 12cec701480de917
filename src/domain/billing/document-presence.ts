/** Whether the ledger has a document, is still to get it, or neither (DOCUMENT-7). */
import type { DocumentStatus } from "../model/invoice.ts";

/**
 * `stands`: the ledger has the document and it is not removed there. `to_be_sent`: the ledger is
 * still to get it. `nowhere`: the ledger refused it, lost it, or it is removed. Only a document
 * that is not `nowhere` bills or credits anything.
 */
export type DocumentPresence = "stands" | "to_be_sent" | "nowhere";

/** The presence of a document in each status. */
export const presences = {
  draft: "stands",
  awaiting_approval: "stands",
  approved: "stands",
  paid: "stands",
  scheduled: "to_be_sent",
  voided: "nowhere",
  deleted: "nowhere",
  not_in_external: "nowhere",
} as const satisfies Readonly<Record<DocumentStatus, DocumentPresence>>;

/** `inLedger`: the ledger has the document, or had it once. */
interface LedgerDocument {
  readonly status: DocumentStatus;
  readonly inLedger: boolean;
}

/** Returns the presence of a document. */
export function presenceOf({ status }: Pick<LedgerDocument, "status">): DocumentPresence {
  return presences[status];
}

/** Whether the ledger refused the document and never had it. A retry can still send it. */
export function isNeverThere({ status, inLedger }: LedgerDocument): boolean {
  return status === "not_in_external" && !inLedger;
}

/** Whether the ledger had the document and no longer shows it. */
export function isLost({ status, inLedger }: LedgerDocument): boolean {
  return status === "not_in_external" && inLedger;
}

/**
 * Whether the document keeps its place: it is not nowhere, or a retry can still send it. One that
 * the ledger lost is as one that a person removed.
 */
export function keepsPlace(document: LedgerDocument): boolean {
  return presenceOf(document) !== "nowhere" || isNeverThere(document);
}
