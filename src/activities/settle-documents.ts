/**
 * Waiting documents of one kind to the ledger and its answers back: one call for up to fifty, each with an outcome of
 * its own. What tells invoices and credit notes apart stands in files of theirs.
 */
import { decimalOf, equals, multiply, parseDecimal } from "../domain/decimal.ts";
import { type DocumentToJudge, judgeDocument, type LedgerOffer } from "../domain/preflight.ts";
import type { LedgerAnswer, LedgerCall, LedgerLineDraft } from "../ledger/port.ts";
import type { LineToSend, Taken } from "../store/operations.ts";
import type { Settlement } from "../store/settle-operations.ts";
import {
  type Carried,
  type GroupOutcome,
  groupCalls,
  held,
  joinOutcomes,
  settleFailedLookup,
  settleFailure,
  settleLater,
  settleMissing,
  settleRefusal,
} from "./ledger-call.ts";

/**
 * How calls are made: `deadlineMs` for each, where a document leads back to us (null: nowhere), and what the ledger is known to offer.
 */
export interface CallSettings extends Pick<LedgerCall, "onTurn"> {
  readonly deadlineMs: number;
  readonly publicUrl: string | null;
  readonly offer: LedgerOffer;
}

/** A taken operation that makes a document under the number reserved for it. */
export interface DocumentToSend extends Carried, DocumentToJudge {
  readonly is_awaited: boolean;
  readonly number: string;
  readonly lines: readonly LineToSend[];
}

/** A kind of documents: how they are made and found, which of those found is ours, and what to write of it then. */
export interface DocumentKind<Document extends DocumentToSend, Draft, Found extends { readonly number: string }> {
  readonly name: "invoice" | "credit note";
  create(call: LedgerCall, drafts: readonly Draft[]): Promise<LedgerAnswer<readonly LedgerAnswer<Found>[]>>;
  find(call: LedgerCall, numbers: readonly string[]): Promise<LedgerAnswer<readonly Found[]>>;
  draftOf(document: Document): Draft;
  isOurs(document: Document, found: Found): boolean;
  done(document: Document, found: Found): Settlement;
}

/** The longest description that the ledger takes. Facts: facts-ledger section 1.3. */
const descriptionLimit = 4_000;

/** Sends what is ready and looks up what is uncertain. */
export async function settleDocuments<
  Document extends DocumentToSend,
  Draft,
  Found extends { readonly number: string },
>(kind: DocumentKind<Document, Draft, Found>, taken: Taken<Document>, settings: CallSettings): Promise<GroupOutcome> {
  const judged = taken.ready.map((document) => ({
    document,
    fault: judgeDocument(document, kind.name, settings.offer),
  }));
  const refusals = judged.flatMap(({ document, fault }): Settlement[] => {
    if (fault === null) return [];
    const { reason, message, by } = fault;
    return [{ ...held(document), kind: "refused", reason, message, judgedBy: by }];
  });
  const { calls, later } = groupCalls(judged.filter(({ fault }) => fault === null).map(({ document }) => document));
  const uncertain = taken.uncertain.length === 0 ? [] : [lookUp(kind, taken.uncertain, settings)];
  const outcomes = await Promise.all([...calls.map((call) => send(kind, call, settings)), ...uncertain]);
  return joinOutcomes([{ settlements: [...refusals, ...later.map(settleLater)], failures: [] }, ...outcomes]);
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
function callOf(documents: readonly DocumentToSend[], { deadlineMs, onTurn }: CallSettings): LedgerCall {
  const isBackground = !documents.some(({ is_awaited }) => is_awaited);
  return { deadlineMs, operationKeys: [], isBackground, ...(onTurn === undefined ? {} : { onTurn }) };
}

async function send<Document extends DocumentToSend, Draft, Found extends { readonly number: string }>(
  kind: DocumentKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
): Promise<GroupOutcome> {
  const call: LedgerCall = {
    ...callOf(documents, settings),
    operationKeys: documents.map(({ id }) => id),
    // Whatever is sent a second time has been looked up before: a remembered internal error must not answer again.
    variant: String(Math.max(...documents.map(({ attempts }) => attempts))),
  };
  const answer = await kind.create(call, documents.map(kind.draftOf));
  if (answer.kind !== "ok") {
    const isAlone = documents.length === 1;
    const settlements = documents.map((document) => settleFailure(document, answer, settings.deadlineMs, isAlone));
    return { settlements, failures: [answer] };
  }
  const settlements: Settlement[] = [];
  const numberTaken: Document[] = [];
  for (const [index, document] of documents.entries()) {
    const element = answer.value[index];
    if (element === undefined) throw new Error("the ledger's adapter left out an element");
    if (element.kind === "ok") settlements.push(kind.done(document, element.value));
    // By our own earlier request whose answer was lost, or by somebody else.
    else if (element.kind === "refused" && element.reason === "duplicate_number") numberTaken.push(document);
    else if (element.kind === "refused") settlements.push(settleRefusal(document, element));
    else settlements.push(settleFailure(document, element, settings.deadlineMs, true));
  }
  const looked = numberTaken.length === 0 ? [] : [await lookUp(kind, numberTaken, settings)];
  return joinOutcomes([{ settlements, failures: [] }, ...looked]);
}

/**
 * Looks documents up by the numbers that we reserved: ours is adopted, somebody else's is a refusal, none is sent
 * again.
 */
async function lookUp<Document extends DocumentToSend, Draft, Found extends { readonly number: string }>(
  kind: DocumentKind<Document, Draft, Found>,
  documents: readonly Document[],
  settings: CallSettings,
): Promise<GroupOutcome> {
  const answer = await kind.find(
    callOf(documents, settings),
    documents.map(({ number }) => number),
  );
  if (answer.kind !== "ok") {
    return { settlements: documents.map((document) => settleFailedLookup(document, answer)), failures: [answer] };
  }
  const byNumber = new Map(answer.value.map((found) => [found.number, found]));
  const settlements = documents.map((document): Settlement => {
    const found = byNumber.get(document.number);
    if (found === undefined) return settleMissing(document);
    if (kind.isOurs(document, found)) return kind.done(document, found);
    const message = `The number ${document.number} is taken by another ${kind.name} in the ledger.`;
    return { ...held(document), kind: "refused", reason: "duplicate_number", message };
  });
  return { settlements, failures: [] };
}
