/**
 * Posts waiting documents of one kind and records the answers: one call for up to fifty, with an
 * outcome for each (POSTING-3). What differs between invoices and credit notes is in
 * `document-kinds.ts`.
 */

import { type LedgerReferenceData, validateDocument } from "../../../domain/ledger/validation.ts";
import type {
  LedgerAnswer,
  LedgerCall,
  LedgerContact,
  LedgerCreditNote,
  LedgerDocumentQuery,
  LedgerFound,
} from "../../../ledger/port/ledger.ts";
import type { LedgerTraits } from "../../../ledger/port/ledger-kind.ts";
import { foldText } from "../../../ledger/port/texts.ts";
import type {
  ClaimedJobs,
  CreditNoteToSend,
  InvoiceToSend,
} from "../../../store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import type { UnknownDocuments } from "../../../store/ledger-jobs/unknown-documents.ts";
import {
  createdOutcomes,
  type GroupOutcome,
  groupCalls,
  joinOutcomes,
  lookUpInCalls,
} from "./grouped-calls.ts";
import {
  attemptOf,
  failedLookupOutcome,
  missingOutcome,
  observed,
  rescheduleOutcome,
} from "./ledger-call.ts";
import { findMerged, isForeign, numberTakenOutcome, numberUsedOutcome } from "./number-taken.ts";

/**
 * The settings of calls: the deadline of each, the public URL of a document's link to us (null: no
 * link), the ledger's traits and its reference data.
 */
export interface CallSettings extends Required<Pick<LedgerCall, "onPermit">> {
  readonly traits: LedgerTraits;
  readonly deadlineMs: number;
  readonly publicUrl: string | null;
  readonly referenceData: LedgerReferenceData;
  readonly unknown: UnknownDocuments;
}

/** A taken job that creates a document under its reserved number (POSTING-2). */
export type DocumentToSend = InvoiceToSend | CreditNoteToSend;

/** A document that a look-up found. */
export type FoundDocument = Omit<LedgerCreditNote, "remainingCredit" | "allocations">;

/**
 * A kind of documents with the settings of its calls: how they are created and found, which found
 * one is ours, and the outcome to record for it.
 */
export interface PostedKind<Document extends DocumentToSend, Found extends FoundDocument>
  extends CallSettings {
  readonly name: "invoice" | "credit_note";
  create(
    call: LedgerCall,
    documents: readonly Document[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<Found>[]>>;
  /** How many documents one call looks up. */
  readonly lookUpAtOnce: number;
  find(call: LedgerCall, query: LedgerDocumentQuery): Promise<LedgerAnswer<readonly Found[]>>;
  readContacts(
    call: LedgerCall,
    ids: readonly string[],
  ): Promise<LedgerAnswer<LedgerFound<LedgerContact>>>;
  /** The document's id here. */
  idOf(document: Document): string;
  /** Whether a found document is as requested in what only this kind has. */
  isEqual(document: Document, found: Found): boolean;
  done(document: Document, found: Found): PostingOutcome;
}

/**
 * Sends ready documents and looks up uncertain ones. A document that fails validation is refused
 * without a call (POSTING-5).
 */
export async function postDocuments<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  { ready, uncertain }: ClaimedJobs<Document>,
): Promise<GroupOutcome> {
  const { referenceData, traits } = kind;
  const validated = ready.map((document) => ({
    document,
    fault: validateDocument(document, wordOf(kind), referenceData, traits.documents),
  }));
  const refusals = validated.flatMap(({ document, fault }): PostingOutcome[] => {
    if (fault === null) return [];
    const { reason, message, by } = fault;
    return [{ ...attemptOf(document), kind: "refused", reason, message, evaluatedBy: by }];
  });
  const { calls, later } = groupCalls(
    validated.filter(({ fault }) => fault === null).map(({ document }) => document),
    traits.calls.documents,
  );
  const outcomes = await Promise.all([
    ...calls.map((documents) => send(kind, documents)),
    lookUpAll(kind, uncertain, null),
  ]);
  return joinOutcomes([
    { outcomes: [...refusals, ...later.map(rescheduleOutcome)], failures: [] },
    ...outcomes,
  ]);
}

function wordOf({ name }: { readonly name: "invoice" | "credit_note" }): string {
  return name === "invoice" ? "invoice" : "credit note";
}

/** The end of a document's link to us, without the host: our address may change. */
export function linkOf<Document extends DocumentToSend, Found extends FoundDocument>(
  { name, idOf }: Pick<PostedKind<Document, Found>, "name" | "idOf">,
  document: Document,
): string {
  return `/v1/${name}s/${idOf(document)}`;
}

/**
 * Returns the link of a document to us. Without a public URL it is null, unless the ledger has no
 * unique numbers: then the path alone is sent, because the document is found again by it.
 */
export function sourceUrlOf(link: string, { publicUrl, traits }: CallSettings): string | null {
  if (publicUrl !== null) return `${publicUrl}${link}`;
  return traits.documents.hasUniqueNumbers ? null : link;
}

/**
 * Returns a call about these documents. One document with a waiting caller makes the call a
 * foreground call for all.
 */
export function callOf(
  documents: readonly DocumentToSend[],
  { deadlineMs, onPermit }: CallSettings,
): LedgerCall {
  const isBackground = !documents.some(({ isAwaited }) => isAwaited);
  return { deadlineMs, jobKeys: [], isBackground, onPermit };
}

async function send<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  documents: readonly Document[],
): Promise<GroupOutcome> {
  const sent = observed({
    ...callOf(documents, kind),
    jobKeys: documents.map(({ id }) => id),
    // After a lost answer the key stays the same, so that a request still in progress is not done
    // twice. After a bad answer it changes.
    variant: documents.map((document) => document.keyVariant).join(),
  });
  const answer = await kind.create(sent.call, documents);
  const { deadlineMs, done } = kind;
  const created = createdOutcomes(documents, answer, "duplicate_number", deadlineMs, done);
  const { outcomes, failures, taken } = created;
  const found = await lookUpAll(kind, [...taken.keys()], taken);
  return joinOutcomes([{ outcomes: outcomes.map(sent.answerOf), failures }, found]);
}

function lookUpAll<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  documents: readonly Document[],
  taken: ReadonlyMap<Document, readonly string[]> | null,
): Promise<GroupOutcome> {
  return lookUpInCalls(documents, kind.lookUpAtOnce, (some) => lookUp(kind, some, taken));
}

/**
 * Finds documents by the numbers that we reserved. One that links to ours is adopted, whatever
 * its number. Otherwise one is ours by its number, content and contact, or the contact that it was
 * merged into. A number of any other document is a refusal, and nothing is sent again. `taken` has
 * the ledger's words for the numbers that it refused. If numbers are not unique, only the link
 * decides, and other documents do not matter.
 */
async function lookUp<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  documents: readonly Document[],
  taken: ReadonlyMap<Document, readonly string[]> | null,
): Promise<GroupOutcome> {
  const { hasUniqueNumbers } = kind.traits.documents;
  const numbers = documents.map(({ number }) => number);
  const query = hasUniqueNumbers
    ? { numbers, areTaken: taken !== null }
    : { numbers: [], links: documents.map((document) => linkOf(kind, document)) };
  const sent = observed(callOf(documents, kind));
  const answer = await kind.find(sent.call, query);
  if (answer.kind !== "ok") {
    const failed = documents.map((document) => failedLookupOutcome(document, answer));
    return { outcomes: failed.map(sent.answerOf), failures: [answer] };
  }
  const named = hasUniqueNumbers ? answer.value : [];
  const byNumber = Map.groupBy(named, (found) => foldText(found.number));
  const candidates = documents.map((document) => {
    const sameNumber = byNumber.get(foldText(document.number)) ?? [];
    const link = linkOf(kind, document);
    const linked = answer.value.find(({ sourceUrl }) => sourceUrl?.endsWith(link) ?? false);
    const equal = sameNumber.find((found) => isAsRequested(kind, document, found));
    return { document, sameNumber, linked, equal };
  });
  const pairs = candidates.flatMap(({ document, linked, equal }) =>
    linked === undefined && equal !== undefined ? [pairOf(document, equal)] : [],
  );
  const merged = await findMerged(pairs, (ids) => kind.readContacts(callOf(documents, kind), ids));
  if (merged.kind !== "ok") {
    return {
      outcomes: documents.map((document) => failedLookupOutcome(document, merged)),
      failures: [merged],
    };
  }
  const outcomes = candidates.map(({ document, sameNumber, linked, equal }): PostingOutcome => {
    const isOurs = equal !== undefined && merged.value(pairOf(document, equal));
    const ours = linked ?? (isOurs ? equal : undefined);
    if (ours !== undefined) return kind.done(document, ours);
    if (sameNumber.length === 0) {
      return taken === null
        ? missingOutcome(document)
        : numberTakenOutcome(document, taken.get(document) ?? []);
    }
    const hasLink = kind.name === "invoice" && sourceUrlOf("", kind) !== null;
    const areForeign =
      equal === undefined && sameNumber.every((one) => isForeign(document, one, hasLink));
    return numberUsedOutcome(document, wordOf(kind), areForeign);
  });
  return { outcomes: outcomes.map(sent.answerOf), failures: [] };
}

/**
 * Whether a found document without a link may be ours: it is as requested, and ours was possibly
 * sent before (a first attempt was not). Its contact is compared by the caller. POSTING-2.
 */
function isAsRequested<Document extends DocumentToSend, Found extends FoundDocument>(
  kind: PostedKind<Document, Found>,
  document: Document,
  found: Found,
): boolean {
  const amountsOf = (lines: readonly { readonly amount: string }[]) =>
    lines.map(({ amount }) => amount).join();
  return (
    document.attempts > 1 &&
    found.sourceUrl === null &&
    found.currency === document.currency &&
    found.reference === document.reference &&
    found.issueDate === document.issueDate &&
    found.subtotal === document.subtotal &&
    amountsOf(found.lines) === amountsOf(document.lines) &&
    kind.isEqual(document, found)
  );
}

function pairOf(document: DocumentToSend, found: FoundDocument) {
  return { wanted: document.contactId, found: found.contactId };
}
