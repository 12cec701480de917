/**
 * The routes of the accounting API. A write runs once for its idempotency key, in one transaction.
 */

import type { Queryable } from "../database.ts";
import {
  createDocuments,
  getDocument,
  listDocuments,
  updateDocument,
} from "../documents/documents.ts";
import {
  accountsAnswer,
  currenciesAnswer,
  organisationAnswer,
  taxRatesAnswer,
} from "../settings.ts";
import { createAllocations, removeAllocation } from "./allocations.ts";
import { type DemoAnswer, notFoundAnswer } from "./answers.ts";
import type { ApiRequest } from "./api-request.ts";
import { createContacts, getContact, listContacts, updateContact } from "./contacts.ts";
import { creditNotes } from "./credit-notes.ts";
import { invoices } from "./invoices.ts";
import { keyedWrite } from "./keyed-write.ts";

/** A write's idempotency key (empty if none was sent) and the address that is compared with it. */
interface WriteKey {
  readonly key: string;
  readonly url: string;
}

/** Answers one admitted request. A route outside this subset answers 404 in plain text. */
export function answerApi(request: ApiRequest, writeKey: WriteKey): Promise<DemoAnswer> {
  return request.method === "GET" ? answerRead(request) : answerWrite(request, writeKey);
}

async function answerRead(request: ApiRequest): Promise<DemoAnswer> {
  const [resource, id, ...more] = request.segments;
  if (more.length > 0) return notFoundAnswer();
  switch (resource) {
    case "Contacts":
      return id === undefined ? listContacts(request) : getContact(request, id);
    case "Invoices":
      return id === undefined
        ? listDocuments(invoices, request)
        : getDocument(invoices, request, id);
    case "CreditNotes":
      return id === undefined
        ? listDocuments(creditNotes, request)
        : getDocument(creditNotes, request, id);
    case "Organisation":
      return id === undefined ? organisationAnswer(request.tenant) : notFoundAnswer();
    case "Accounts":
      return id === undefined ? accountsAnswer(request.tenant) : notFoundAnswer();
    case "TaxRates":
      return id === undefined ? taxRatesAnswer() : notFoundAnswer();
    case "Currencies":
      return id === undefined ? currenciesAnswer(request.tenant) : notFoundAnswer();
    default:
      return notFoundAnswer();
  }
}

async function answerWrite(request: ApiRequest, { key, url }: WriteKey): Promise<DemoAnswer> {
  const work = writeOf(request);
  if (!work) return notFoundAnswer();
  const { clientId } = request.tenant;
  // Xero takes no key for a DELETE.
  const used = request.method === "DELETE" ? "" : key;
  return keyedWrite(
    request.pool,
    { clientId, key: used, method: request.method, url, body: request.text },
    work,
  );
}

function writeOf(request: ApiRequest): ((client: Queryable) => Promise<DemoAnswer>) | null {
  const [, id = "", , partId = ""] = request.segments;
  // PUT on the list creates, POST on the id changes. In Xero, POST on the list changes by natural
  // key.
  const path = request.segments
    .map((segment, index) => (index % 2 === 0 ? segment : "{id}"))
    .join("/");
  switch (`${request.method} ${path}`) {
    case "PUT Contacts":
      return (client) => createContacts(request, client);
    case "POST Contacts/{id}":
      return (client) => updateContact(request, client, id);
    case "PUT Invoices":
      return (client) => createDocuments(invoices, request, client);
    case "POST Invoices/{id}":
      return (client) => updateDocument(invoices, request, client, id);
    case "PUT CreditNotes":
      return (client) => createDocuments(creditNotes, request, client);
    case "POST CreditNotes/{id}":
      return (client) => updateDocument(creditNotes, request, client, id);
    case "PUT CreditNotes/{id}/Allocations":
      return (client) => createAllocations(request, client, id);
    case "DELETE CreditNotes/{id}/Allocations/{id}":
      return (client) => removeAllocation(request, client, id, partId);
    default:
      return null;
  }
}
