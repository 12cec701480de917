/**
 * What happens to a document whose number another one has in the ledger, and whether that one has
 * the contact of ours (POSTING-9).
 */
import { maxMerges } from "../../../domain/customers/sync-contact.ts";
import type {
  LedgerAnswer,
  LedgerContact,
  LedgerCreditNote,
  LedgerFound,
} from "../../../ledger/port/ledger.ts";
import type { UndoneOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import { renumberedReason } from "../../../store/ledger-jobs/renumber.ts";
import { againOutcome, attemptOf, type Carried } from "./ledger-call.ts";

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
  found: Pick<LedgerCreditNote, "contactId" | "subtotal" | "sourceUrl">,
  hasLink: boolean,
): boolean {
  if (found.sourceUrl !== null) return !found.sourceUrl.includes("/v1/invoices/");
  return found.contactId !== contactId || (hasLink && found.subtotal !== subtotal);
}

/** The contact that a document was to have, and the one that the ledger shows. */
interface ContactPair {
  readonly wanted: string;
  readonly found: string;
}

/**
 * Returns the pairs whose wanted contact was merged into the found one. Equal content of a document
 * without a link to us is no proof: after a restore the ledger may have another customer's document
 * under a number that was reserved again. Calls the ledger only if a pair differs.
 */
export async function findMerged(
  pairs: readonly ContactPair[],
  read: (ids: readonly string[]) => Promise<LedgerAnswer<LedgerFound<LedgerContact>>>,
): Promise<LedgerAnswer<(pair: ContactPair) => boolean>> {
  const differing = pairs.filter(({ wanted, found }) => wanted !== found);
  const mergedInto = new Map<string, string>();
  let ids = [...new Set(differing.map(({ wanted }) => wanted))];
  for (let hop = 0; hop < maxMerges && ids.length > 0; hop += 1) {
    const answer = await read(ids);
    if (answer.kind !== "ok") return answer;
    const merges = answer.value.found.flatMap(({ id, mergedInto: into }) =>
      into === null ? [] : [{ id, into }],
    );
    for (const { id, into } of merges) mergedInto.set(id, into);
    ids = [...new Set(merges.map(({ into }) => into))].filter((id) => !mergedInto.has(id));
  }
  const isSame = ({ wanted, found }: ContactPair): boolean => {
    let id: string | undefined = wanted;
    for (let hop = 0; hop <= maxMerges && id !== undefined; hop += 1) {
      if (id === found) return true;
      id = mergedInto.get(id);
    }
    return false;
  };
  return { kind: "ok", value: isSame };
}
