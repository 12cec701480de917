/** Importing contacts of the ledger, in calls of as many as one takes, with progress: those that are named, or all there are. */
import { CustomerService } from "../../gen/proto/billing/admin/v1/customers_pb.ts";
import { UsageError } from "./failures.ts";
import { isObject, type Json } from "./message-json.ts";
import type { Work } from "./noun.ts";
import { callJson, pages } from "./run-verb.ts";

const { method } = CustomerService;

/** As many as one call takes. Proto: ImportCustomersRequest. */
const batchSize = 50;

/**
 * Imports what file, `--contact` or `--all` name and answers the results of all calls as one. A contact is a customer as soon as
 * its call has been answered: when the work is broken off, a repeat goes on from there. Throws `UsageError` where nothing is named.
 */
export async function importCustomers({ terminal, connection, request, extra }: Work): Promise<Json> {
  const { contacts: fromFile, ...target } = request;
  const named = [...(Array.isArray(fromFile) ? fromFile : []), ...contactsOf(extra.contact)];
  if ((extra.all === true) === named.length > 0) throw new UsageError("Give --contact or --file, or else --all");
  if (extra.search !== undefined && extra.all !== true) throw new UsageError("--search goes with --all");
  const results: Json[] = [];
  const counts = { imported: 0, already_imported: 0, rejected: 0 };
  const importBatch = async (contacts: readonly Json[string][]): Promise<void> => {
    const answer = await callJson(connection, method.importCustomers, { ...target, contacts: [...contacts] });
    if (Array.isArray(answer.results)) results.push(...answer.results.filter(isObject));
    counts.imported += Number(answer.imported);
    counts.already_imported += Number(answer.already_imported);
    counts.rejected += Number(answer.rejected);
    const line = `${counts.imported} imported, ${counts.already_imported} there already, ${counts.rejected} rejected`;
    terminal.err(terminal.interactive ? `\r${line}` : `${line}\n`);
  };
  for (const batch of batches(named)) await importBatch(batch);
  if (extra.all === true) {
    const filter = {
      ...target,
      importable: true,
      ...(typeof extra.search === "string" ? { search: extra.search } : {}),
    };
    for await (const page of pages(connection, method.listLedgerContacts, filter)) {
      const found = Array.isArray(page.data) ? page.data.filter(isObject) : [];
      for (const batch of batches(contactsOf(found.map(({ id }) => id)))) await importBatch(batch);
    }
  }
  if (terminal.interactive && results.length > 0) terminal.err("\n");
  return { results, ...counts };
}

function contactsOf(ids: unknown): Json[] {
  return Array.isArray(ids) ? ids.map((id) => ({ ledger_contact_id: String(id) })) : [];
}

function batches<T>(all: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / batchSize);
  return Array.from({ length: count }, (_, index) => all.slice(index * batchSize, (index + 1) * batchSize));
}
