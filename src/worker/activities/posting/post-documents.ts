/**
 * Waiting documents of one kind to the ledger and its answers back: one call for up to fifty, each with an outcome of
 * its own. What tells invoices and credit notes apart stands in files of theirs.
 */

import { type DocumentToValidate, validateDocument, type LedgerReferenceData } from "../../../domain/billing/ledger-validation.ts";
import { decimalOf, equals, multiply, parseDecimal } from "../../../domain/money/decimal.ts";
import type { LedgerAnswer, LedgerCall, LedgerLineDraft } from "../../../ledger/port/ledger.ts";
import { foldText } from "../../../ledger/port/texts.ts";
import type { Settlement } from "../../../store/ledger-jobs/document-outcomes.ts";
import type { LineToSend, Taken } from "../../../store/ledger-jobs/jobs.ts";
import {
  type Carried,
  type GroupOutcome,
  groupCalls,
  groupLookUps,
  held,
  joinOutcomes,
  lookUpLater,
  failedLookupOutcome,
  failureOutcome,
  rescheduleOutcome,
  missingOutcome,
  refusalOutcome,
  settleTaken,
} from "./ledger-call.ts";

/**
 * How calls are made: `deadlineMs` for each, where a document leads back to us (null: nowhere), and what the ledger is known to offer.
 */
export interface CallSettings extends Pick<LedgerCall, "onPermit"> {
  readonly deadlineMs: number;
  readonly publicUrl: string | null;
  readonly offer: LedgerReferenceData;
}

/** A taken operation that makes a document under the number reserved for it. */
export interface DocumentToSend extends Carried, DocumentToValidate {
  readonly is_awaited: boolean;
  readonly number: string;
  readonly key_variant: number;
  readonly number_taken: number;
  readonly lines: readonly LineToSend[];
}

/** A kind of documents: how they are made and found, which of those found is ours, and what to write of it then. */
export interface DocumentKind<Document extends DocumentToSend, Draft, Found extends { readonly number: string }> {
  readonly name: "invoice" | "credit note";
  create(call: LedgerCall, drafts: readonly Draft[]): Promise<LedgerAnswer<readonly LedgerAnswer<Found>[]>>;
  /** How many one call looks up. */
  readonly lookUpAtOnce: number;
  find(call: LedgerCall, numbers: readonly string[], areTaken: boolean): Promise<LedgerAnswer<readonly Found[]>>;
  /** Whether the ledger's document leads back to ours, whatever its number is by now. */
  leadsBack(document: Document, found: Found): boolean;
  draftOf(document: Document): Draft;
  isOurs(document: Document, found: Found): boolean;
  done(document: Document, found: Found): Settlement;
}

/** The longest description that the ledger takes. Facts: facts-ledger section 1.3. */
const descriptionLimit = 4_000;

/** Sends what is ready and looks up what is uncertain. */
export async function postDocuments<
  Document extends DocumentToSend,
  Draft,
  Found extends { readonly number: string },
>(kind: DocumentKind<Document, Draft, Found>, taken: Taken<Document>, settings: CallSettings): Promise<GroupOutcome> {
  const judged = taken.ready.map((document) => ({
    document,
    fault: validateDocument(document, kind.name, settings.offer),
  }));
  const refusals = judged.flatMap(({ document, fault }): Settlement[] => {
    if (fault === null) return [];
    const { reason, message, by } = fault;
    return [{ ...held(document), kind: "refused", reason, message, evaluatedBy: by }];
  });
  const { calls, later } = groupCalls(judged.filter(({ fault }) => fault === null).map(({ document }) => document));
  const outcomes = await Promise.all([
    ...calls.map((call) => send(kind, call, settings)),
    lookUpAll(kind, taken.uncertain, settings, null),
  ]);
  return joinOutcomes([{ settlements: [...refusals, ...later.map(rescheduleOutcome)], failures: [] }, ...outcomes]);
}

/**
 * A line as the ledger is sent it. The description carries the arithmetic; where it does not fit, its end is cut and
 * the amount still stands. Units and price go beside it where they are the whole of it: with a discount or free units
 * they come to something else than the line.
 */
export function lineOf(line: LineToSend): LedgerLineDraft {
  const text = line.description === "" ? line.name : `${line.name}: ${line.description}`;
  const { units, unit_price: price, amount } = line;
  const isPriced =
    units !== null && price !== null && equals(multiply(decimalOf(units), parseDecimal(price)), parseDecimal(amount));
  return {
    description: [...text].slice(0, descriptionLimit).join(""),
    quantity: isPriced ? String(units) : "1",
    unitAmount: isPriced ? price : amount,
    amount: line.amount,
    accountCode: line.revenue_account ?? "",
    taxType: line.tax_type,
  };
}

/** Whether lines found in the ledger come to what was sent, one by one. */
export function sameAmounts(
  sent: readonly { readonly amount: string }[],
  found: readonly { readonly amount: string }[],
): boolean {
  return sent.map(({ amount }) => amount).join() === found.map(({ amount }) => amount).join();
}

/** A call about these documents: one for whom somebody waits takes the others along. */
function callOf(documents: readonly DocumentToSend[], { deadlineMs, onPermit }: CallSettings): LedgerCall {
  const isBackground = !documents.some(({ is_awaited }) => is_awaited);
  return { deadlineMs, jobKeys: [], isBackground, ...(onPermit === undefined ? {} : { onPermit }) };
}

async function send<Document extends DocumentToSend, Draft, Found extends { readonly number: string }>(
  kind: DocumentKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
): Promise<GroupOutcome> {
  const call: LedgerCall = {
    ...callOf(documents, settings),
    jobKeys: documents.map(({ id }) => id),
    // After a lost answer the same key: what is still on its way is not done twice. After a bad one another.
    variant: documents.map((document) => document.key_variant).join(),
  };
  const answer = await kind.create(call, documents.map(kind.draftOf));
  if (answer.kind !== "ok") {
    const isAlone = documents.length === 1;
    const settlements = documents.map((document) => failureOutcome(document, answer, settings.deadlineMs, isAlone));
    return { settlements, failures: [answer] };
  }
  const settlements: Settlement[] = [];
  const numberTaken = new Map<Document, readonly string[]>();
  for (const [index, document] of documents.entries()) {
    const element = answer.value[index];
    if (element === undefined) throw new Error("the ledger's adapter left out an element");
    if (element.kind === "ok") settlements.push(kind.done(document, element.value));
    // By our own earlier request whose answer was lost, or by somebody else.
    else if (element.kind === "refused" && element.reason === "duplicate_number")
      numberTaken.set(document, element.messages);
    else if (element.kind === "refused") settlements.push(refusalOutcome(document, element));
    else settlements.push(failureOutcome(document, element, settings.deadlineMs, true));
  }
  const looked = await lookUpAll(kind, [...numberTaken.keys()], settings, numberTaken);
  return joinOutcomes([{ settlements, failures: [] }, looked]);
}

async function lookUpAll<Document extends DocumentToSend, Draft, Found extends { readonly number: string }>(
  kind: DocumentKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
  taken: ReadonlyMap<Document, readonly string[]> | null,
): Promise<GroupOutcome> {
  const { calls, later } = groupLookUps(documents, kind.lookUpAtOnce);
  const looked = await Promise.all(calls.map((call) => lookUp(kind, call, settings, taken)));
  return joinOutcomes([{ settlements: later.map(lookUpLater), failures: [] }, ...looked]);
}

/**
 * Looks documents up by the numbers that we reserved: one that leads back to ours is adopted, whatever its number looks
 * like, and ours by number; somebody else's is a refusal, none is sent again. `taken` are the ledger's words for those
 * whose numbers it refused.
 */
async function lookUp<Document extends DocumentToSend, Draft, Found extends { readonly number: string }>(
  kind: DocumentKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
  taken: ReadonlyMap<Document, readonly string[]> | null,
): Promise<GroupOutcome> {
  const answer = await kind.find(
    callOf(documents, settings),
    documents.map(({ number }) => number),
    taken !== null,
  );
  if (answer.kind !== "ok") {
    return { settlements: documents.map((document) => failedLookupOutcome(document, answer)), failures: [answer] };
  }
  const byNumber = Map.groupBy(answer.value, (found) => foldText(found.number));
  const settlements = documents.map((document): Settlement => {
    const named = byNumber.get(foldText(document.number)) ?? [];
    const ours =
      answer.value.find((found) => kind.leadsBack(document, found)) ??
      named.find((found) => kind.isOurs(document, found));
    if (ours !== undefined) return kind.done(document, ours);
    if (named.length === 0) {
      return taken === null ? missingOutcome(document) : settleTaken(document, taken.get(document) ?? []);
    }
    const message = `The number ${document.number} is taken by another ${kind.name} in the ledger.`;
    return { ...held(document), kind: "refused", reason: "duplicate_number", message };
  });
  return { settlements, failures: [] };
}
