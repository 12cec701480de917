/** Imports contacts of the ledger in batches, with progress: the named contacts, or all of them. */
import { CustomerService } from "../../../../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import { callJson } from "../../call-json.ts";
import { UsageError } from "../../failures.ts";
import type { Work } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";

const { method } = CustomerService;

/** The most contacts of one ImportCustomersRequest. */
const batchSize = 50;

/** The options that are allowed only with `--all`, each by its name and its flag. */
const ofAll = [
  ["search", "--search"],
  ["cursor", "--cursor"],
  ["includeSuppliers", "--include-suppliers"],
] as const;

/** The results so far, and the line of progress. */
interface Progress {
  readonly results: Json[];
  readonly counts: {
    imported: number;
    already_imported: number;
    rejected: number;
    skipped_suppliers: number;
  };
  add(answer: Json): void;
}

/**
 * Imports the contacts of a file, of `--contact` or of `--all`, and returns the results of all
 * calls as one. A contact is a customer as soon as its call is answered. A repeat after an
 * interruption continues from there. Throws `UsageError` if no contact is named.
 */
export async function importCustomers(work: Work): Promise<Json> {
  const { terminal, connection, request, extra } = work;
  const { contacts: fromFile, ...target } = request;
  const named = [...(Array.isArray(fromFile) ? fromFile : []), ...contactsOf(extra.contact)];
  if ((extra.all === true) === named.length > 0)
    throw new UsageError("Either --contact or --file is required, or --all");
  for (const [name, flag] of ofAll) {
    if (extra[name] !== undefined && extra.all !== true)
      throw new UsageError(`${flag} is allowed only with --all`);
  }
  const progress = progressOn(work);
  if (extra.all === true) await importAll(work, target, progress);
  for (const batch of batches(named)) {
    progress.add(
      await callJson(connection, method.importCustomers, { ...target, contacts: [...batch] }),
    );
  }
  const { results, counts } = progress;
  const { skipped_suppliers: skipped, ...others } = counts;
  if (terminal.interactive && results.length > 0) terminal.err("\n");
  return { results, ...others, ...(extra.all === true ? { skipped_suppliers: skipped } : {}) };
}

/**
 * Whether contacts were rejected that need a decision. With `--all`, contacts that are
 * archived in the ledger do not count.
 */
export function isIncomplete({ rejected, results }: Json, { all }: Work["extra"]): boolean {
  if (all !== true || !Array.isArray(results)) return rejected !== 0;
  return results
    .filter(isObject)
    .some(({ error }) => isObject(error) && error.code !== "contact_inactive");
}

function progressOn({ terminal }: Work): Progress {
  const results: Json[] = [];
  const counts = { imported: 0, already_imported: 0, rejected: 0, skipped_suppliers: 0 };
  return {
    results,
    counts,
    add: (answer) => {
      if (Array.isArray(answer.results)) results.push(...answer.results.filter(isObject));
      counts.imported += Number(answer.imported);
      counts.already_imported += Number(answer.already_imported);
      counts.rejected += Number(answer.rejected);
      counts.skipped_suppliers += Number(answer.skipped_suppliers ?? 0);
      const skipped =
        counts.skipped_suppliers === 0 ? "" : `, ${counts.skipped_suppliers} suppliers left out`;
      const imported = `${counts.imported} imported, ${counts.already_imported} already imported`;
      const line = `${imported}, ${counts.rejected} rejected${skipped}`;
      terminal.err(terminal.interactive ? `\r${line}` : `${line}\n`);
    },
  };
}

/** Imports page after page. If a page fails, it writes the cursor to continue from. */
async function importAll(
  { terminal, connection, extra }: Work,
  target: Json,
  progress: Progress,
): Promise<void> {
  const search = typeof extra.search === "string" ? { search: extra.search } : {};
  const suppliers = extra.includeSuppliers === true ? { include_suppliers: true } : {};
  let cursor = typeof extra.cursor === "string" ? extra.cursor : null;
  for (;;) {
    const query = { ...target, ...search, ...suppliers, ...(cursor === null ? {} : { cursor }) };
    const answer = await callJson(connection, method.importAllContacts, query).catch(
      (error: unknown) => {
        if (cursor !== null) terminal.err(`\nContinue with --all --cursor '${cursor}'\n`);
        throw error;
      },
    );
    progress.add(answer);
    if (answer.has_more !== true) return;
    if (typeof answer.next_cursor !== "string")
      throw new Error("has_more is true, but the page has no cursor");
    cursor = answer.next_cursor;
  }
}

function contactsOf(ids: unknown): Json[] {
  return Array.isArray(ids) ? ids.map((id) => ({ ledger_contact_id: String(id) })) : [];
}

function batches<T>(all: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / batchSize);
  return Array.from({ length: count }, (_, index) =>
    all.slice(index * batchSize, (index + 1) * batchSize),
  );
}
