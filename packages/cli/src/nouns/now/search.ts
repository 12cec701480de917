/** `billing search`: finds an object by what a person has of it. ADMIN-21 */
import { SearchService } from "../../../../../src/gen/proto/billing/admin/v1/search_pb.ts";
import type { Noun } from "../../noun.ts";
import { sentenceAndTable } from "../../output/lay-table.ts";
import type { Json } from "../../output/message-json.ts";
import { listOf } from "../../output/words.ts";

const words = (text: unknown) => String(text).replaceAll("_", " ");

/** Finds objects. */
export const search: Noun = {
  name: "search",
  summary: "Find an object by id, number, customer code, e-mail address or label",
  verbs: [
    {
      name: "find",
      isDefault: true,
      method: SearchService.method.search,
      summary: "Find objects by an id or the beginning of a text. `billing search TEXT` is enough.",
      details:
        "Ids of objects, usage events and requests are found whole. The number of a document, " +
        "here or in the ledger, the code or e-mail address of a customer and the label of a " +
        "subscription are found by their beginning, in any case. At most 20 are shown, whole " +
        "matches first.",
      examples: [
        "search SUB-0042",
        "search pay@acme.example",
        "search 0199a0b2-5555-7000-8000-000000000001 --json",
      ],
      places: ["text"],
      fields: { organisation: "only in this organisation, by id or name" },
      rows: "hits",
      columns: ["object_kind", "object_id", "label", "by", "matched", "exact", "organisation"],
      lines: (response, { terminal }) => {
        const hits = listOf(response.hits);
        return sentenceAndTable(terminal, sentenceOf(hits), hits, [
          { title: "what", of: ({ object_kind: kind }) => words(kind) },
          "label",
          { title: "id", of: ({ object_id: id }) => String(id) },
          { title: "found by", of: ({ by, matched }) => [words(by), matched].join(" ").trim() },
          "organisation",
        ]);
      },
    },
  ],
};

/** The most hits of one search. */
const most = 20;

function sentenceOf({ length }: readonly Json[]): string {
  if (length === 0) return "Nothing was found by this id or this beginning.";
  return length === most ? `The first ${most} are shown.` : `${length} found.`;
}
