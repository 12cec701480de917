/**
 * Before a document is created in the ledger, takes an equal one that the ledger has from before
 * the database was restored. Nothing is billed twice by it. LEDGER-19
 */
import { presenceOf } from "../../../domain/billing/document-presence.ts";
import type { ClaimedJobs } from "../../../store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import type { UnknownDocument } from "../../../store/ledger-jobs/unknown-documents.ts";
import { lineOf } from "./document-lines.ts";
import { type GroupOutcome, joinOutcomes } from "./grouped-calls.ts";
import { againOutcome, failureOutcome } from "./ledger-call.ts";
import {
  type CallSettings,
  callOf,
  type DocumentToSend,
  type FoundDocument,
  type PostedKind,
  postDocuments,
} from "./post-documents.ts";

/**
 * The pause of a document that waits for an operator's decision. After the decision it is posted
 * within this time, or at once by a retry.
 */
const undecidedPauseMs = 60_000;

/** A document here with the document of the ledger that it takes. */
interface Match<Document> {
  readonly document: Document;
  readonly unknown: UnknownDocument;
}

/**
 * Posts documents. Those that the ledger has from before a restore are taken, not created. A
 * document without an equal one waits while its customer has an open one: it may be the same charge
 * with another content. Makes no call and no query for that unless the organisation has unknown
 * documents.
 */
export async function adoptOrPost<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  claimed: ClaimedJobs<Document>,
): Promise<GroupOutcome> {
  const concerned = [...claimed.ready, ...claimed.uncertain].filter((one) => one.mayBeThere);
  if (concerned.length === 0) return postDocuments(kind, claimed);
  const unknown = await kind.unknown.load(
    kind.name,
    [...new Set(concerned.map(({ contactId }) => contactId))],
    concerned.map(kind.idOf),
  );
  const open = unknown.filter(({ documentId }) => documentId === null);
  const matches: Match<Document>[] = [];
  const takeFor = (document: Document, isReady: boolean): boolean => {
    const unknownDocument = unknown.find(({ documentId }) => documentId === kind.idOf(document));
    // An uncertain document is looked up by its own number first.
    const index = isReady ? open.findIndex((one) => isSame(document, one, kind)) : -1;
    const match = unknownDocument ?? (index < 0 ? undefined : open.splice(index, 1)[0]);
    if (match !== undefined) matches.push({ document, unknown: match });
    return match !== undefined;
  };
  const uncertain = claimed.uncertain.filter((one) => !takeFor(one, false));
  const unmatched = claimed.ready.filter((one) => !takeFor(one, true));
  const isOpen = ({ contactId }: Document) => open.some((one) => one.contactId === contactId);
  const waiting = unmatched.filter(isOpen).map((document): PostingOutcome => {
    const { number } = open.find(({ contactId }) => contactId === document.contactId) ?? document;
    return againOutcome(
      document,
      undecidedPauseMs,
      false,
      `the ledger has ${number}, unknown since a restore`,
    );
  });
  const groups: GroupOutcome[] = [{ outcomes: waiting, failures: [] }];
  for (let first = 0; first < matches.length; first += kind.lookUpAtOnce) {
    groups.push(await adopt(kind, matches.slice(first, first + kind.lookUpAtOnce)));
  }
  const ready = unmatched.filter((one) => !isOpen(one));
  groups.push(await postDocuments(kind, { ready, uncertain }));
  return joinOutcomes(groups);
}

/**
 * Reads the documents as the ledger has them now, and records them as ours. One that was removed in
 * the meantime is not taken, and its document is posted in the next batch.
 */
async function adopt<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  matches: readonly Match<Document>[],
): Promise<GroupOutcome> {
  const documents = matches.map(({ document }) => document);
  const numbers = matches.map(({ unknown }) => unknown.number);
  const answer = await kind.find(callOf(documents, kind), { numbers });
  if (answer.kind !== "ok") {
    const outcomes = documents.map((one) => failureOutcome(one, answer, kind.deadlineMs, false));
    return { outcomes, failures: [answer] };
  }
  const read = matches.map((match) => {
    const found = answer.value.find(({ id }) => id === match.unknown.ledgerId);
    const isOurs = match.unknown.documentId !== null;
    return {
      ...match,
      found: found !== undefined && (isOurs || presenceOf(found) === "stands") ? found : null,
    };
  });
  const gone = read.filter(({ found, unknown }) => found === null && unknown.documentId === null);
  await kind.unknown.remove(
    kind.name,
    gone.map(({ unknown }) => unknown.ledgerId),
  );
  const wanted = read.filter(({ found, unknown }) => found !== null && unknown.documentId === null);
  const taken = await kind.unknown.adopt(
    kind.name,
    wanted.map(({ document, unknown }) => ({
      ledgerId: unknown.ledgerId,
      documentId: kind.idOf(document),
      jobId: document.id,
    })),
  );
  const outcomes = read.map(({ document, unknown, found }) => {
    const isOurs = unknown.documentId !== null || taken.has(unknown.ledgerId);
    if (found !== null && isOurs) return kind.done(document, found);
    const delayMs = isOurs ? undecidedPauseMs : 0;
    return againOutcome(document, delayMs, false, `${unknown.number} is no longer there to take`);
  });
  return { outcomes, failures: [] };
}

/** Whether the ledger's document has the content that this one would be created with. */
function isSame(
  document: DocumentToSend,
  unknown: UnknownDocument,
  { traits }: CallSettings,
): boolean {
  const { maxDescriptionLength } = traits.documents;
  const lines = document.lines.map((line) => lineOf(line, maxDescriptionLength));
  return (
    unknown.contactId === document.contactId &&
    unknown.currency === document.currency &&
    unknown.reference === document.reference &&
    unknown.issueDate === document.issueDate &&
    unknown.subtotal === document.subtotal &&
    textOf(unknown.lines) === textOf(lines)
  );
}

function textOf(lines: readonly { readonly description: string; readonly amount: string }[]) {
  // A ledger may remove outer blanks.
  return JSON.stringify(lines.map(({ description, amount }) => [description.trim(), amount]));
}
