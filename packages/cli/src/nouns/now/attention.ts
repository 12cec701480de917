/** `billing attention`: everything that waits for a person. ADMIN-20 */
import { AttentionService } from "../../../../../src/gen/proto/billing/admin/v1/attention_pb.ts";
import type { Noun, Work } from "../../noun.ts";
import { sentenceAndTable } from "../../output/lay-table.ts";
import type { Json } from "../../output/message-json.ts";
import { counted, listOf, minuteOf, secondOf } from "../../output/words.ts";

const { method } = AttentionService;

const organisation = "only those of this organisation, by id or name";

const wordsOf = (kind: unknown) => String(kind).replaceAll("_", " ");

/** A count of 1,000 stands for at least so many. */
const most = 1_000;

const countOf = (count: unknown) => (count === most ? "1,000+" : String(count));

const shown = [
  "severity",
  { title: "what", of: ({ kind }: Json) => wordsOf(kind) },
  "label",
  { title: "since", of: ({ since }: Json) => minuteOf(since) },
  { title: "why", of: whyOf },
  {
    title: "same",
    of: ({ same_reason_count: same }: Json) => (same === 1 ? "" : countOf(same)),
  },
  { title: "what helps", of: ({ acts }: Json) => String(listOf(acts)[0]?.summary ?? "") },
];

/** Lists and counts what waits. */
export const attention: Noun = {
  name: "attention",
  summary: "Show everything that waits for a person",
  verbs: [
    {
      name: "list",
      isDefault: true,
      method: method.listAttention,
      summary:
        "List what waits for a person, the most severe first. `billing attention` is enough.",
      details:
        "`same` is how many of the organisation have the same reason, so that they can be mended " +
        "together. -o json has ids, reasons as words, and the methods that help with their " +
        "arguments.",
      examples: [
        "attention",
        "attention --organisation $BILLING_ORGANISATION --all",
        "attention list --kind document_refused --json",
      ],
      fields: {
        organisation,
        kind: "only this kind",
        severity: "only this severity",
      },
      columns: [
        "id",
        "organisation",
        "severity",
        "kind",
        "object_kind",
        "object_id",
        "label",
        "since",
        "reason",
        "message",
        "answer",
        "same_reason_count",
      ],
      lines: attentionLines,
    },
    {
      name: "count",
      method: method.countAttention,
      summary: "Count what waits for a person, by kind.",
      examples: ["attention count", "attention count --organisation $BILLING_ORGANISATION --json"],
      fields: { organisation },
      rows: "counts",
      columns: ["severity", "kind", "count"],
      lines: (response, { terminal }) =>
        sentenceAndTable(
          terminal,
          listOf(response.counts).length === 0 ? nothing(response) : `Checked ${at(response)}.`,
          listOf(response.counts),
          [
            "severity",
            { title: "what", of: ({ kind }) => wordsOf(kind) },
            { title: "count", of: ({ count }) => countOf(count) },
          ],
        ),
    },
  ],
};

/** Returns the lines of what waits for a person. */
export function attentionLines(response: Json, { terminal }: Work): readonly string[] {
  return sentenceAndTable(terminal, sentenceOf(response), listOf(response.data), shown);
}

const at = ({ checked }: Json) => secondOf(checked);
const nothing = (response: Json) => `Nothing needs a person. Checked ${at(response)}.`;

function sentenceOf(response: Json): string {
  const { length } = listOf(response.data);
  if (length === 0) return nothing(response);
  const things = `${counted(length, "thing")}${response.has_more === true ? " and more" : ""}`;
  const verb = length === 1 && response.has_more !== true ? "needs" : "need";
  return `${things} ${verb} a person. Checked ${at(response)}.`;
}

/** A person reads what the ledger said, because it names the account. Else our sentence. */
function whyOf({ message, answer }: Json): string {
  return typeof answer === "string" && answer !== "" ? answer : String(message);
}
