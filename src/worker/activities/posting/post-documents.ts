/**
 * Posts waiting documents of one kind and records the answers: one call for up to fifty, with an
 * outcome for each (POSTING-3). What differs between invoices and credit notes is in their own
 * files.
 */

import {
  type DocumentToValidate,
  type LedgerReferenceData,
  validateDocument,
} from "../../../domain/ledger/validation.ts";
import { decimalOf, equals, multiply, parseDecimal } from "../../../domain/money/decimal.ts";
import type {
  LedgerAnswer,
  LedgerCall,
  LedgerContact,
  LedgerDocumentQuery,
  LedgerFound,
  LedgerLineDraft,
} from "../../../ledger/port/ledger.ts";
import type { LedgerTraits } from "../../../ledger/port/ledger-traits.ts";
import { foldText } from "../../../ledger/port/texts.ts";
import type { ClaimedJobs, LineToSend } from "../../../store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import type { UnknownDocuments } from "../../../store/ledger-jobs/unknown-documents.ts";
import {
  attemptOf,
  type Carried,
  failedLookupOutcome,
  failureOutcome,
  type GroupOutcome,
  groupCalls,
  groupLookUps,
  joinOutcomes,
  lookUpLater,
  missingOutcome,
  observed,
  refusalOutcome,
  rescheduleOutcome,
} from "./ledger-call.ts";
import {
  type FoundDocument,
  isForeign,
  numberTakenOutcome,
  numberUsedOutcome,
} from "./number-taken.ts";
import { type ContactPair, findMerged } from "./same-contact.ts";

/**
 * The settings of calls: the deadline of each, the public URL of a document's link to us (null: no
 * link), the ledger's traits and its reference data.
 */
export interface CallSettings extends Pick<LedgerCall, "onPermit"> {
  readonly traits: LedgerTraits;
  readonly deadlineMs: number;
  readonly publicUrl: string | null;
  readonly referenceData: LedgerReferenceData;
  readonly unknown: UnknownDocuments;
}

/** A taken job that creates a document under its reserved number (POSTING-2). */
export interface DocumentToSend extends Carried, DocumentToValidate {
  readonly isAwaited: boolean;
  readonly keyVariant: number;
  readonly numberTaken: number;
  readonly renumbered: number;
  readonly mayBeThere: boolean;
  readonly contactId: string;
  readonly reference: string;
  readonly subtotal: string;
  readonly lines: readonly LineToSend[];
}

/**
 * A kind of documents: how they are created and found, which found one is ours, and the outcome to
 * record for it.
 */
export interface PostedKind<Document extends DocumentToSend, Draft, Found extends FoundDocument> {
  readonly name: "invoice" | "credit note";
  create(
    call: LedgerCall,
    drafts: readonly Draft[],
  ): Promise<LedgerAnswer<readonly LedgerAnswer<Found>[]>>;
  /** How many documents one call looks up. */
  readonly lookUpAtOnce: number;
  find(call: LedgerCall, query: LedgerDocumentQuery): Promise<LedgerAnswer<readonly Found[]>>;
  /** The document's id here. */
  idOf(document: Document): string;
  /** The end of the document's link to us, without the host: our address may change. */
  linkOf(document: Document): string;
  draftOf(document: Document): Draft;
  isOurs(document: Document, found: Found): boolean;
  readContacts(
    call: LedgerCall,
    ids: readonly string[],
  ): Promise<LedgerAnswer<LedgerFound<LedgerContact>>>;
  done(document: Document, found: Found): PostingOutcome;
}

/**
 * Sends ready documents and looks up uncertain ones. A document that fails validation is refused
 * without a call (POSTING-5).
 */
export async function postDocuments<
  Document extends DocumentToSend,
  Draft,
  Found extends FoundDocument,
>(
  kind: PostedKind<Document, Draft, Found>,
  taken: ClaimedJobs<Document>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const validated = taken.ready.map((document) => ({
    document,
    fault: validateDocument(document, kind.name, settings.referenceData, settings.traits.documents),
  }));
  const refusals = validated.flatMap(({ document, fault }): PostingOutcome[] => {
    if (fault === null) return [];
    const { reason, message, by } = fault;
    return [{ ...attemptOf(document), kind: "refused", reason, message, evaluatedBy: by }];
  });
  const { calls, later } = groupCalls(
    validated.filter(({ fault }) => fault === null).map(({ document }) => document),
    settings.traits.calls.documents,
  );
  const outcomes = await Promise.all([
    ...calls.map((call) => send(kind, call, settings)),
    lookUpAll(kind, taken.uncertain, settings, null),
  ]);
  return joinOutcomes([
    { outcomes: [...refusals, ...later.map(rescheduleOutcome)], failures: [] },
    ...outcomes,
  ]);
}

/**
 * Returns a line as it is sent to the ledger. The description has the arithmetic. If it is too
 * long, its end is cut and the amount still holds. Units and price are sent only if their product
 * is the amount: with a discount or free units it is not.
 */
export function lineOf(line: LineToSend, maxDescriptionLength: number): LedgerLineDraft {
  const text = line.description === "" ? line.name : `${line.name}: ${line.description}`;
  const { units, unitPrice: price, amount } = line;
  const isPriced =
    units !== null &&
    price !== null &&
    equals(multiply(decimalOf(units), parseDecimal(price)), parseDecimal(amount));
  return {
    description: [...text].slice(0, maxDescriptionLength).join(""),
    quantity: isPriced ? String(units) : "1",
    unitAmount: isPriced ? price : amount,
    amount: line.amount,
    accountCode: line.revenueAccount ?? "",
    taxType: line.taxType,
  };
}

/**
 * Returns the link of a document to us. Without a public URL it is null, unless the ledger has no
 * unique numbers: then the path alone is sent, because the document is found again by it.
 */
export function sourceUrlOf(link: string, { publicUrl, traits }: CallSettings): string | null {
  if (publicUrl !== null) return `${publicUrl}${link}`;
  return traits.documents.hasUniqueNumbers ? null : link;
}

/** Whether the amounts of lines found in the ledger equal the sent ones, one by one. */
export function sameAmounts(
  sent: readonly { readonly amount: string }[],
  found: readonly { readonly amount: string }[],
): boolean {
  return sent.map(({ amount }) => amount).join() === found.map(({ amount }) => amount).join();
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
  return { deadlineMs, jobKeys: [], isBackground, ...(onPermit === undefined ? {} : { onPermit }) };
}

async function send<Document extends DocumentToSend, Draft, Found extends FoundDocument>(
  kind: PostedKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
): Promise<GroupOutcome> {
  const sent = observed({
    ...callOf(documents, settings),
    jobKeys: documents.map(({ id }) => id),
    // After a lost answer the key stays the same, so that a request still in progress is not done
    // twice. After a bad answer it changes.
    variant: documents.map((document) => document.keyVariant).join(),
  });
  const answer = await kind.create(sent.call, documents.map(kind.draftOf));
  if (answer.kind !== "ok") {
    const isSingle = documents.length === 1;
    const outcomes = documents.map((document) =>
      failureOutcome(document, answer, settings.deadlineMs, isSingle),
    );
    return { outcomes: outcomes.map(sent.answerOf), failures: [answer] };
  }
  const outcomes: PostingOutcome[] = [];
  const numberTaken = new Map<Document, readonly string[]>();
  for (const [index, document] of documents.entries()) {
    const element = answer.value[index];
    if (element === undefined) throw new Error("the ledger's adapter left out an element");
    if (element.kind === "ok") outcomes.push(kind.done(document, element.value));
    // Taken by our own earlier request whose answer was lost, or by another document.
    else if (element.kind === "refused" && element.reason === "duplicate_number")
      numberTaken.set(document, element.messages);
    else if (element.kind === "refused") outcomes.push(refusalOutcome(document, element));
    else outcomes.push(failureOutcome(document, element, settings.deadlineMs, true));
  }
  const found = await lookUpAll(kind, [...numberTaken.keys()], settings, numberTaken);
  return joinOutcomes([{ outcomes: outcomes.map(sent.answerOf), failures: [] }, found]);
}

async function lookUpAll<Document extends DocumentToSend, Draft, Found extends FoundDocument>(
  kind: PostedKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
  taken: ReadonlyMap<Document, readonly string[]> | null,
): Promise<GroupOutcome> {
  const { calls, later } = groupLookUps(documents, kind.lookUpAtOnce);
  const found = await Promise.all(calls.map((call) => lookUp(kind, call, settings, taken)));
  return joinOutcomes([{ outcomes: later.map(lookUpLater), failures: [] }, ...found]);
}

/**
 * Finds documents by the numbers that we reserved. One that links to ours is adopted, whatever
 * its number. Otherwise one is ours by its number, content and contact, or the contact that it was
 * merged into. A number of any other document is a refusal, and nothing is sent again. `taken` has
 * the ledger's words for the numbers that it refused. If numbers are not unique, only the link
 * decides, and other documents do not matter.
 */
async function lookUp<Document extends DocumentToSend, Draft, Found extends FoundDocument>(
  kind: PostedKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
  taken: ReadonlyMap<Document, readonly string[]> | null,
): Promise<GroupOutcome> {
  const { hasUniqueNumbers } = settings.traits.documents;
  const numbers = documents.map(({ number }) => number);
  const query = hasUniqueNumbers
    ? { numbers, areTaken: taken !== null }
    : { numbers: [], links: documents.map(kind.linkOf) };
  const sent = observed(callOf(documents, settings));
  const answer = await kind.find(sent.call, query);
  if (answer.kind !== "ok") {
    const failed = documents.map((document) => failedLookupOutcome(document, answer));
    return { outcomes: failed.map(sent.answerOf), failures: [answer] };
  }
  const named = hasUniqueNumbers ? answer.value : [];
  const byNumber = Map.groupBy(named, (found) => foldText(found.number));
  const candidates = documents.map((document) => {
    const sameNumber = byNumber.get(foldText(document.number)) ?? [];
    const link = kind.linkOf(document);
    const linked = answer.value.find(({ sourceUrl }) => sourceUrl?.endsWith(link) ?? false);
    const equal = sameNumber.find((found) => kind.isOurs(document, found));
    return { document, sameNumber, linked, equal };
  });
  const pairs = candidates.flatMap(({ document, linked, equal }) =>
    linked === undefined && equal !== undefined ? [pairOf(document, equal)] : [],
  );
  const merged = await findMerged(pairs, (ids) =>
    kind.readContacts(callOf(documents, settings), ids),
  );
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
    const hasLink = kind.name === "invoice" && sourceUrlOf("", settings) !== null;
    const areForeign =
      equal === undefined && sameNumber.every((one) => isForeign(document, one, hasLink));
    return numberUsedOutcome(document, kind.name, areForeign);
  });
  return { outcomes: outcomes.map(sent.answerOf), failures: [] };
}

function pairOf(document: DocumentToSend, found: FoundDocument): ContactPair {
  return { wanted: document.contactId, found: found.contactId };
}
