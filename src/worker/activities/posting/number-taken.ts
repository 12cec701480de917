/** What happens to a document whose number another one has in the ledger (POSTING-9). */
import type { LedgerInvoiceStatus } from "../../../ledger/port/ledger.ts";
import type { UndoneOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import { renumberedReason } from "../../../store/ledger-jobs/renumber.ts";
import { againOutcome, attemptOf, type Carried } from "./ledger-call.ts";

/** A document that a look-up found. */
export interface FoundDocument {
  readonly id: string;
  readonly number: string;
  readonly contactId: string;
  readonly status: LedgerInvoiceStatus;
  readonly subtotal: string;
  readonly sourceUrl: string | null;
}

/**
 * How often a number may be refused as taken and then not be found. Once, a list may lag behind.
 * After twice, no look-up will find it.
 */
const maxTaken = 2;

/**
 * How long a list may lag behind. A number that is taken and not found is looked up again after
 * this.
 */
const lagMs = 60_000;

/**
 * Returns the outcome of a number that is taken although no document has it. It is looked up once
 * more when no list lags behind any longer. If that finds nothing either, it is refused in the
 * ledger's words.
 */
export function numberTakenOutcome(
  job: Carried & { readonly number: string; readonly numberTaken: number },
  messages: readonly string[],
): UndoneOutcome {
  const words = messages.join(" ");
  const answered = { ...attemptOf(job), isNumberTaken: true, isRemembered: true } as const;
  const reason = `taken and not found: ${words}`;
  if (job.numberTaken + 1 < maxTaken)
    return { ...answered, kind: "uncertain", delayMs: lagMs, reason };
  const message =
    `The ledger says: ${words} It shows no document with the number ${job.number}: ` +
    "search for it there before this is tried again under another number.";
  return { ...answered, kind: "refused", reason: "duplicate_number", message };
}

/**
 * How often one document takes the next number. Each try is a creation and a look-up: ten are a
 * third of a minute's calls. More foreign numbers in a row mean that the prefix is another
 * program's, and an operator must choose another one.
 */
const renumberLimit = 10;

/**
 * Returns the outcome of a number that another document has. If that is a foreign one, the next
 * number is tried at once.
 */
export function numberUsedOutcome(
  job: Carried & { readonly number: string; readonly renumbered: number },
  name: string,
  isForeign: boolean,
): UndoneOutcome {
  if (isForeign && job.renumbered < renumberLimit) {
    const again = againOutcome(job, 0, false, renumberedReason);
    return { ...again, isRenumbered: true, isRemembered: true };
  }
  const many = isForeign ? `, as were the ${renumberLimit} before: choose another prefix` : "";
  const message = `The number ${job.number} is taken by another ${name} in the ledger${many}.`;
  return { ...attemptOf(job), kind: "refused", reason: "duplicate_number", message };
}

/**
 * Whether a found document with other content is surely none of this service. After a restore the
 * ledger may have one that the database does not know, and another number would bill it a second
 * time (LEDGER-19). `hasLink`: the ledger keeps our links.
 */
export function isForeign(
  { contactId, subtotal }: { readonly contactId: string; readonly subtotal: string },
  found: FoundDocument,
  hasLink: boolean,
): boolean {
  if (found.sourceUrl !== null) return !found.sourceUrl.includes("/v1/invoices/");
  return found.contactId !== contactId || (hasLink && found.subtotal !== subtotal);
}
