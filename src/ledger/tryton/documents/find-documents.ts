/** Reads documents: one by its id, and those with these numbers or links to us. */

import type { BegunCall } from "../../port/call.ts";
import type { ExactObject } from "../../port/exact-json.ts";
import { isMissing, notFound, unreadable } from "../../port/failures.ts";
import type { LedgerAnswer, LedgerDocumentQuery } from "../../port/ledger.ts";
import { refusedId } from "../wire/failure.ts";
import { idValue, type TrytonWire } from "../wire/wire.ts";
import { linkCondition } from "./link.ts";
import { documentFields, readDocument, type TrytonDocument } from "./read-document.ts";

/** The model of every document. */
export const documentModel = "account.invoice";

/** The conditions of the company's documents to customers. */
export function ofCompany({ companyId }: TrytonWire): readonly (readonly unknown[])[] {
  return [
    ["company", "=", companyId],
    ["type", "=", "out"],
  ];
}

/** Reads a finished document of one kind, or undefined for one of the other kind. */
export type ReadKind<Found> = (document: TrytonDocument) => Found | undefined;

/** Returns one document, or `not_found`. */
export async function getDocument<Found>(
  wire: TrytonWire,
  call: BegunCall,
  id: string,
  read: ReadKind<Found>,
): Promise<LedgerAnswer<Found>> {
  const refused = refusedId(id);
  if (refused !== null) return refused;
  const answer = await searchDocuments(wire, call, [["id", "=", idValue(id)]], read);
  if (answer.kind !== "ok") return answer;
  const [found] = answer.value;
  return found === undefined ? notFound : { kind: "ok", value: found };
}

/** Returns the documents with these numbers, and those whose links end so. */
export function findDocuments<Found>(
  wire: TrytonWire,
  call: BegunCall,
  { numbers, links = [] }: LedgerDocumentQuery,
  read: ReadKind<Found>,
): Promise<LedgerAnswer<readonly Found[]>> {
  if (numbers.length + links.length === 0) return Promise.resolve({ kind: "ok", value: [] });
  const any = ["OR", ["reference", "in", numbers], ...links.map(linkCondition)];
  return searchDocuments(wire, call, [any], read);
}

/** Returns the documents that meet the conditions. */
export async function searchDocuments<Found>(
  wire: TrytonWire,
  call: BegunCall,
  conditions: readonly unknown[],
  read: ReadKind<Found>,
): Promise<LedgerAnswer<readonly Found[]>> {
  const domain = [...ofCompany(wire), ...conditions];
  const order = [["id", "ASC"]] as const;
  const answer = await wire.search(call, documentModel, { domain, fields: documentFields, order });
  if (answer.kind !== "ok") return answer;
  const documents = answer.value.map(readDocument);
  const readable = documents.filter((one) => one !== undefined);
  if (readable.length < documents.length)
    return unreadable("a document of the list cannot be read", false);
  return {
    kind: "ok",
    value: readable.map(read).filter((one) => one !== undefined),
  };
}

/** Reads the answer to a change of a document. */
export function changedDocument<Found>(
  answer: LedgerAnswer<ExactObject>,
  read: ReadKind<Found>,
): LedgerAnswer<Found> {
  if (answer.kind !== "ok") return isMissing(answer) ? notFound : answer;
  const document = readDocument(answer.value);
  const found = document && read(document);
  return found === undefined
    ? unreadable("the document cannot be read", true)
    : { kind: "ok", value: found };
}
