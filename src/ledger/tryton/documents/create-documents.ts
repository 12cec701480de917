/**
 * Creates documents. Tryton has no key by which a repeat is known, so each is first an unfinished
 * draft with our number as its reference and our link. Then all documents with both are listed. A
 * finished one is ours from an attempt whose answer was lost, and is taken. Of unfinished drafts
 * one is kept and posted once the others are deleted. Two can never both be posted: the later of
 * two lists shows both, and a deleted draft cannot be posted (LEDGER-23).
 */

import type { BegunCall } from "../../port/call.ts";
import { scaledOf } from "../../port/decimal-text.ts";
import type { ExactObject } from "../../port/exact-json.ts";
import { isMissing, refused, unreadable } from "../../port/failures.ts";
import type { LedgerAnswer, LedgerFailure, LedgerFirstStatus } from "../../port/ledger.ts";
import { type Books, type BooksReader, periodOf } from "../books.ts";
import { everyParty, partyModel } from "../contacts.ts";
import { beforePosting, refusedId } from "../wire/failure.ts";
import { dateOf, dateValue, idOf } from "../wire/values.ts";
import { idValue, type TrytonWire } from "../wire/wire.ts";
import {
  changedDocument,
  documentModel,
  getDocument,
  type ReadKind,
  searchDocuments,
} from "./find-documents.ts";
import { noteOf } from "./link.ts";
import { documentFields, readDocument, type TrytonDocument } from "./read-document.ts";
import { type DocumentParty, type Draft, writeDocument } from "./write-document.ts";

/** The kind of documents to create. */
interface CreatedKind<Created> {
  readonly sign: 1 | -1;
  readonly read: ReadKind<Created>;
}

/** A call with what its steps need. */
interface Creation {
  readonly wire: TrytonWire;
  readonly call: BegunCall;
  readonly books: Books;
}

/** Returns one answer for each draft, in the order of the drafts. */
export async function createDocuments<Created>(
  wire: TrytonWire,
  reader: BooksReader,
  call: BegunCall,
  drafts: readonly Draft[],
  { sign, read }: CreatedKind<Created>,
): Promise<LedgerAnswer<readonly LedgerAnswer<Created>[]>> {
  if (drafts.length === 0) return { kind: "ok", value: [] };
  const contactIds = drafts.map(({ contactId }) => contactId);
  const [books, parties] = await Promise.all([
    reader.read(call),
    findParties(wire, call, contactIds),
  ]);
  if (books.kind !== "ok") return books;
  if (parties.kind !== "ok") return parties;
  const creation = { wire, call, books: books.value };
  // In the order of their dates, which Tryton's numbers follow.
  const byDate = [...drafts.entries()].sort(([, one], [, other]) =>
    one.issueDate < other.issueDate ? -1 : 1,
  );
  const answers: LedgerAnswer<Created>[] = [];
  for (const [index, draft] of byDate) {
    const party = parties.value.get(draft.contactId);
    const values = writeDocument(books.value, wire.companyId, party, draft, sign);
    const answer = values.kind === "ok" ? await createOne(creation, draft, values.value) : values;
    if (answer.kind === "refused") reader.drop();
    answers[index] = answer.kind === "ok" ? finished(read(answer.value)) : answer;
  }
  return { kind: "ok", value: answers };
}

function finished<Created>(created: Created | undefined): LedgerAnswer<Created> {
  return created === undefined
    ? unreadable("the document is not finished", true)
    : { kind: "ok", value: created };
}

async function findParties(
  wire: TrytonWire,
  call: BegunCall,
  contactIds: readonly string[],
): Promise<LedgerAnswer<ReadonlyMap<string, DocumentParty>>> {
  const ids = [...new Set(contactIds.filter((id) => refusedId(id) === null))].map(idValue);
  const domain = [everyParty, ["id", "in", ids]];
  const fields = ["active", "addresses", "account_receivable"];
  const answer = await wire.search(call, partyModel, { domain, fields });
  if (answer.kind !== "ok") return answer;
  const parties = answer.value.map((party) => {
    const { addresses } = party;
    const address = Array.isArray(addresses) ? idOf(addresses[0]) : undefined;
    const accountId = idOf(party.account_receivable) ?? null;
    const isActive = party.active === true;
    return [idOf(party) ?? "", { addressId: address ?? null, accountId, isActive }] as const;
  });
  return { kind: "ok", value: new Map(parties) };
}

async function createOne(
  creation: Creation,
  draft: Draft,
  values: object,
): Promise<LedgerAnswer<TrytonDocument>> {
  const { wire, call } = creation;
  const answer = await wire.create(call, documentModel, values, documentFields);
  if (answer.kind !== "ok") return beforePosting(answer);
  const ours = readDocument(answer.value);
  if (ours === undefined) return unreadable("the draft cannot be read", false);
  const kept = await keepOne(creation, ours, draft);
  if (kept.kind !== "ok" || !kept.value.isUnfinished) return kept;
  const document = kept.value;
  const fault = amountFaultOf(document, draft);
  const answered = fault ?? (await finish(creation, document, draft.status));
  if (answered.kind !== "refused") return answered;
  const discarded = await discard(creation, document);
  return discarded.kind === "ok" ? answered : discarded;
}

/** Nothing is posted of which Tryton makes other amounts than ours. */
function amountFaultOf({ shared }: TrytonDocument, draft: Draft): LedgerFailure | null {
  const [there, ours] = [shared, draft].map(({ lines }) => lines.map(({ amount }) => amount));
  if (there?.every((amount, index) => scaledOf(amount, 4) === scaledOf(ours?.[index] ?? "0", 4)))
    return null;
  return refused("validation", `Tryton makes ${there?.join(" + ")} of ${ours?.join(" + ")}.`);
}

/**
 * Returns the document to go on with: a finished one with the draft's number and link, else the
 * oldest unfinished draft that equals ours, whose posting may still be on its way, else ours. All
 * other unfinished drafts are deleted.
 */
async function keepOne(
  creation: Creation,
  ours: TrytonDocument,
  draft: Draft,
): Promise<LedgerAnswer<TrytonDocument>> {
  const others = await listOthers(creation, ours, draft);
  if (others.kind !== "ok") return others;
  if (others.value.length === 0) return { kind: "ok", value: ours };
  const unfinished = others.value.filter((one) => one.isUnfinished);
  const equal = unfinished.find((one) => isSameContent(one, ours));
  for (const one of unfinished.filter((other) => other !== equal)) {
    const answer = await discard(creation, one);
    if (answer.kind !== "ok") return answer;
  }
  // One that could not be deleted was posted meanwhile, by a request that was still on its way.
  const rest = await listOthers(creation, ours, draft);
  if (rest.kind !== "ok") return rest;
  const finishedOne = rest.value.find((one) => !one.isUnfinished);
  if (finishedOne === undefined && rest.value.length > (equal === undefined ? 0 : 1))
    return unreadable("a draft of an earlier attempt is still there", false);
  const kept = finishedOne ?? rest.value[0];
  if (kept === undefined) return { kind: "ok", value: ours };
  const answer = await discard(creation, ours);
  return answer.kind === "ok" ? { kind: "ok", value: kept } : answer;
}

function isSameContent(one: TrytonDocument, other: TrytonDocument): boolean {
  const contentOf = ({ shared }: TrytonDocument) => {
    const { contactId, issueDate, reference, total } = shared;
    const lines = shared.lines.map(({ description, amount }) => [description, amount]);
    return JSON.stringify([contactId, issueDate, reference, total, lines]);
  };
  return contentOf(one) === contentOf(other);
}

/** The other documents with the draft's number and link. */
function listOthers(
  { wire, call }: Creation,
  ours: TrytonDocument,
  { number, sourceUrl }: Draft,
): Promise<LedgerAnswer<readonly TrytonDocument[]>> {
  return searchDocuments(wire, call, [["reference", "=", number]], (document) => {
    const { shared } = document;
    const isOther = shared.id !== ours.shared.id && shared.sourceUrl === sourceUrl;
    return isOther ? document : undefined;
  });
}

/**
 * Deletes an unfinished draft. Nothing depends on it: one that is not there, or was posted
 * meanwhile, is no failure, and one that stays is deleted later (`strays.ts`).
 */
async function discard(
  { wire, call }: Creation,
  { shared }: TrytonDocument,
): Promise<LedgerAnswer<null>> {
  const answer = await wire.remove(call, { model: documentModel, id: shared.id });
  if (answer.kind === "ok" || answer.kind === "refused") return { kind: "ok", value: null };
  return beforePosting(answer);
}

/** Gives the document its status, which ends it. */
async function finish(
  creation: Creation,
  document: TrytonDocument,
  status: LedgerFirstStatus,
): Promise<LedgerAnswer<TrytonDocument>> {
  const { wire, call } = creation;
  const object = { model: documentModel, id: document.shared.id };
  if (status === "approved") return post(creation, document);
  if (status === "awaiting_approval")
    return documentOf(await wire.act(call, object, "validate_invoice", documentFields));
  const [line] = document.shared.lines;
  const note = noteOf(document.shared.sourceUrl, false);
  const lines = [["write", [idValue(line?.ledgerLineId ?? "")], { note }]];
  return documentOf(await wire.update(call, object, { lines }, documentFields));
}

/**
 * Posts the document. Tryton numbers documents in the order of their dates. If one of a later day
 * has its number already, ours is numbered on that day, and stays in the books on its own.
 */
async function post(
  creation: Creation,
  document: TrytonDocument,
): Promise<LedgerAnswer<TrytonDocument>> {
  const { wire, call } = creation;
  const object = { model: documentModel, id: document.shared.id };
  const answer = await wire.act(call, object, "post", ["state"]);
  if (answer.kind === "ok") return readNow(creation, document);
  if (answer.kind !== "refused" || isMissing(answer)) return documentOf(answer);
  const current = await readNow(creation, document);
  if (current.kind !== "ok" || current.value.shared.status !== "draft") return current;
  const latest = await latestNumbered(creation, document.shared.issueDate);
  if (latest.kind !== "ok") return latest;
  if (latest.value === null || latest.value <= document.shared.issueDate) return answer;
  const later = { invoice_date: dateValue(latest.value) };
  const moved = await wire.update(call, object, later, ["state"]);
  if (moved.kind !== "ok") return moved;
  const again = await wire.act(call, object, "post", ["state"]);
  return again.kind === "ok" ? readNow(creation, document) : documentOf(again);
}

/** Reads the document as it is after Tryton has printed it, which is a change too. */
async function readNow(
  { wire, call }: Creation,
  { shared }: TrytonDocument,
): Promise<LedgerAnswer<TrytonDocument>> {
  const answer = await getDocument(wire, call, shared.id, whole);
  if (isMissing(answer)) return deletedMeanwhile;
  return answer.kind === "unavailable" ? { ...answer, outcome: "unknown" } : answer;
}

/** The last day on which a document of the fiscal year of this day has its number. */
async function latestNumbered(
  { wire, call, books }: Creation,
  date: string,
): Promise<LedgerAnswer<string | null>> {
  const year = periodOf(books, date)?.fiscalYear ?? "";
  const answer = await wire.search(call, documentModel, {
    domain: [
      ["company", "=", wire.companyId],
      ["number", "!=", null],
      ["move.period.fiscalyear", "=", idValue(year)],
    ],
    fields: ["invoice_date"],
    order: [["invoice_date", "DESC"]],
    limit: 1,
  });
  if (answer.kind !== "ok") return answer;
  return { kind: "ok", value: dateOf(answer.value[0]?.invoice_date) ?? null };
}

function documentOf(answer: LedgerAnswer<ExactObject>): LedgerAnswer<TrytonDocument> {
  return isMissing(answer) ? deletedMeanwhile : changedDocument(answer, whole);
}

const deletedMeanwhile = unreadable("another process deleted the draft", true);

const whole = (document: TrytonDocument) => document;
