/**
 * The commands of a restore: find the documents of the ledger that the database does not know, list
 * them, and decide about one. LEDGER-19
 */
import { LedgerReconciliationService } from "../../../../../src/gen/proto/billing/admin/v1/ledger_reconciliation_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Verb, Work } from "../../noun.ts";
import { isObject, type Json } from "../../output/message-json.ts";

const { method } = LedgerReconciliationService;

const columns = [
  "id",
  "kind",
  "number",
  "state",
  "status",
  "customer",
  "ledger_contact_id",
  "total",
  "currency",
  "issue_date",
  "document",
  "number_taken",
] as const;

/** The commands of the reconciliation. */
export const reconciliationVerbs: readonly Verb[] = [
  {
    name: "reconcile",
    method: method.reconcileLedger,
    summary: "After a restore: find the ledger's documents that the database does not know.",
    details:
      "Run it before the public API and the workers start. New documents then take equal ones " +
      "of the ledger, and numbers continue after those that were found. The command exits with 1 " +
      "if an open one was found. A repeat is safe, and an interrupted one prints the cursor to " +
      "continue from.",
    examples: [
      "ledger reconcile",
      "ledger reconcile --since 2026-11-22T09:00:00Z --json",
      "ledger reconcile --any-host    # PUBLIC_URL was another one",
      "ledger reconcile --cursor eyJraW5kIjoiaW52b2ljZXMifQ",
    ],
    fields: {
      since: "documents changed since this instant; a day before the newest ledger job if left out",
      any_host: "also documents that link to another host than PUBLIC_URL",
      cursor: "continue an interrupted reconciliation",
    },
    columns,
    work: reconcileLedger,
    failed: ({ data }) =>
      Array.isArray(data) && data.some((one) => isObject(one) && one.state === "open"),
  },
  {
    name: "unknown",
    method: method.listUnknownDocuments,
    summary: "List the ledger's documents that the database does not know and that are open.",
    examples: ["ledger unknown --all", "ledger unknown --json"],
    columns,
  },
  {
    name: "resolve",
    method: method.resolveUnknownDocument,
    summary: "Decide about an unknown document: a document here takes it, or it is dismissed.",
    examples: [
      "ledger resolve 5b96e86b-418e-48e8-8949-308c14aec278 --yes",
      "ledger resolve 5b96e86b-418e-48e8-8949-308c14aec278 --document 0199a0b2-5555-7000-8000-1",
    ],
    places: ["id"],
    fields: { document: "the invoice or credit note here that takes it" },
    irreversible: ({ document }) =>
      document === undefined
        ? "New documents of its customer are created in addition to it."
        : null,
  },
];

/** Reads page after page. If a page fails, it writes the cursor to continue from. */
async function reconcileLedger({ terminal, connection, request }: Work): Promise<Json> {
  const data: Json[] = [];
  let read = 0;
  let unread = 0;
  let next: Json = request;
  for (;;) {
    const page = await callJson(connection, method.reconcileLedger, next).catch(
      (error: unknown) => {
        if (typeof next.cursor === "string")
          terminal.err(`\nContinue with --cursor ${next.cursor}\n`);
        throw error;
      },
    );
    if (Array.isArray(page.data)) data.push(...page.data.filter(isObject));
    read += Number(page.read ?? 0);
    unread += Number(page.unread ?? 0);
    terminal.err(`${read} read, ${data.length} unknown\n`);
    if (page.has_more !== true) return { data, read, unread, has_more: false };
    if (typeof page.next_cursor !== "string")
      throw new Error("has_more is true, but the page has no cursor");
    next = { ...request, cursor: page.next_cursor };
  }
}
