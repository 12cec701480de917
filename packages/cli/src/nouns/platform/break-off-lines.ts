/** What a person reads of the preview of a break-off: what waits, what is recorded and issued. */
import type { Work } from "../../noun.ts";
import { layText } from "../../output/document.ts";
import { layTable } from "../../output/lay-table.ts";
import type { Json } from "../../output/message-json.ts";
import { amountOf, counted, listOf, spaced } from "../../output/words.ts";

/** Returns the lines of the preview. */
export function breakOffLines(json: Json, { terminal }: Work): readonly string[] {
  const documents = listOf(json.documents);
  const issues =
    documents.length === 0
      ? "no document is issued"
      : `${counted(documents.length, "document")} ${documents.length === 1 ? "is" : "are"} issued`;
  return [
    ...layText(
      terminal,
      `What waits is broken off: ${String(json.running)}; ${issues}. ` +
        "Nothing is changed by this preview.",
    ),
    "",
    ...layText(terminal, `Recorded: ${String(json.message)}`),
    ...(documents.length === 0
      ? []
      : [
          "",
          ...layTable(terminal, documents, [
            { title: "issued", of: ({ kind }) => spaced(kind) },
            { title: "for", of: ({ type }) => spaced(type) },
            "currency",
            { title: "without tax", of: ({ currency, subtotal }) => amountOf(currency, subtotal) },
          ]),
        ]),
  ];
}
