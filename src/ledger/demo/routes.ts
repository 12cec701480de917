/** Which path of the accounting API does what. Writes run once per idempotency key, in one transaction. */
import { type DemoAnswer, notFoundAnswer } from "./answers.ts";
import type { ApiRequest } from "./api-request.ts";
import { createContacts, getContact, listContacts, updateContact } from "./contacts.ts";
import type { Queryable } from "./database.ts";
import { createInvoices, getInvoice, listInvoices, updateInvoice } from "./invoices.ts";
import { keyedWrite } from "./keyed-write.ts";
import { accountsAnswer, currenciesAnswer, organisationAnswer, taxRatesAnswer } from "./settings.ts";

/** A write's idempotency key (empty where none was sent) and the address it is compared by. */
export interface WriteKey {
  readonly key: string;
  readonly url: string;
}

/** Answers one request that the gate let in; 404 in plain text for what this subset does not have. */
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
      return id === undefined ? listInvoices(request) : getInvoice(request, id);
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
  return keyedWrite(request.pool, { clientId, key, method: request.method, url, body: request.text }, work);
}

function writeOf(request: ApiRequest): ((client: Queryable) => Promise<DemoAnswer>) | null {
  const [resource, id, ...more] = request.segments;
  if (more.length > 0) return null;
  // A create goes by PUT on the list, a change by POST on the id; POST on the list would change by natural key.
  const action = `${request.method} ${resource} ${id === undefined ? "list" : "one"}`;
  switch (action) {
    case "PUT Contacts list":
      return (client) => createContacts(request, client);
    case "POST Contacts one":
      return (client) => updateContact(request, client, id ?? "");
    case "PUT Invoices list":
      return (client) => createInvoices(request, client);
    case "POST Invoices one":
      return (client) => updateInvoice(request, client, id ?? "");
    default:
      return null;
  }
}
