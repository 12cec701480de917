/** What a person reads of documents and their ledger jobs. */
import type { Column, Work } from "../../noun.ts";
import { layDocument, layText } from "../../output/document.ts";
import { layNamed, layTable, sentenceAndTable } from "../../output/lay-table.ts";
import type { Json } from "../../output/message-json.ts";
import { capital, counted, listOf, money, spaced, sumOf } from "../../output/words.ts";

/** A document with the outcome of its last ledger job. */
interface JobDocument {
  readonly id: string;
  readonly kind: string;
  readonly number: string;
  readonly state: string;
  readonly status: string;
  readonly customer: string;
  readonly subscription: string;
  readonly currency: string;
  readonly total: string;
  readonly subtotal: string;
  readonly ledger_subtotal?: string;
  readonly ledger_differences: readonly string[];
  readonly job?: string;
  readonly invoice?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly attempts: number;
  readonly next_attempt_at?: string;
  readonly created: string;
}

/** A line as a retry would send it. */
interface RetriedLine {
  readonly name: string;
  readonly amount: string;
  readonly revenue_account?: string;
  readonly tax_type?: string;
  readonly mapped_again: boolean;
}

const documentOf = (json: unknown) => json as JobDocument;

/** The total has tax once the document is in the ledger. */
const taxed: readonly string[] = ["draft", "awaiting_approval", "approved", "paid"];

/** Returns `NZD 25.00 without tax`. */
function worth({ status, currency, total, subtotal }: JobDocument): string {
  return taxed.includes(status)
    ? `${money(currency, total)} with tax`
    : `${money(currency, subtotal)} without tax`;
}

/** Why the job failed or waits, or what the ledger changed. Without the full stop of a sentence. */
function whyOf(document: JobDocument): string {
  const { state, message, reason, currency, subtotal, ledger_subtotal: there } = document;
  if (state !== "drift") return (message ?? spaced(reason)).replace(/\.$/, "");
  const sums =
    there === undefined || there === subtotal
      ? []
      : [`it is ${money(currency, there)}, not ${money(currency, subtotal)}, without tax`];
  return [...sums, ...document.ledger_differences].join(", ");
}

/** `2026-11-28 00:41:07`. Attempts are seconds apart. */
const secondsOf = (at: unknown) =>
  String(at).slice(0, "YYYY-MM-DDTHH:MM:SS".length).replace("T", " ");

const instant = (at: string | undefined) => (at === undefined ? "" : `${secondsOf(at)} UTC`);

const shown: readonly Column[] = [
  "id",
  { title: "kind", of: ({ kind }) => spaced(kind) },
  "number",
  "job",
  "state",
  { title: "amount", of: (json) => worth(documentOf(json)) },
  "attempts",
  { title: "next attempt", of: (json) => instant(documentOf(json).next_attempt_at) },
  { title: "why", of: (json) => whyOf(documentOf(json)) },
];

/** Returns the lines of a list of documents. */
export function documentsLines(response: Json, { terminal }: Work): readonly string[] {
  const rows = listOf(response.data);
  const more = response.has_more === true ? " and more" : "";
  const sentence = rows.length === 0 ? "None." : `${counted(rows.length, "document")}${more}.`;
  return sentenceAndTable(terminal, sentence, rows, shown);
}

const attemptColumns: readonly Column[] = [
  { title: "at (UTC)", of: ({ at }) => secondsOf(at) },
  "job",
  "outcome",
  { title: "answer", of: ({ http_status: status }) => String(status ?? "none") },
  { title: "why", of: ({ message, reason }) => String(message ?? spaced(reason)) },
];

/** Returns the lines of a document: a sentence, its job, and the last attempts. */
export function documentLines(response: Json, { terminal }: Work): readonly string[] {
  const document = documentOf(response);
  const attempts = listOf(response.attempts);
  return [
    ...layText(terminal, stateText(document)),
    "",
    ...layNamed(terminal, [
      ["kind", spaced(document.kind)],
      ["status", spaced(document.status).replace("external", "the ledger")],
      ["job", document.job ?? "none"],
      ["next attempt", instant(document.next_attempt_at) || "none"],
      ["created", instant(document.created)],
      ["customer", document.customer],
      ["subscription", document.subscription],
      ["id", document.id],
    ]),
    "",
    ...(attempts.length === 0
      ? ["Attempts: none."]
      : ["The last attempts:", "", ...layTable(terminal, attempts, attemptColumns)]),
  ];
}

function stateText(document: JobDocument): string {
  const { number, state, status, next_attempt_at: next } = document;
  const over = `${number} over ${worth(document)}`;
  const why = whyOf(document);
  const because = why === "" ? "" : `: ${why}`;
  switch (state) {
    case "failed":
      return (
        `The ledger refused ${jobText(document)}${because}. ` +
        "Nothing more happens until it is retried."
      );
    case "waiting":
      return `${capital(jobText(document))} waits for the ledger${because}. ${nextText(next)}`;
    case "drift":
      return `${over} differs in the ledger${because}.`;
    default: {
      const what = status === "draft" ? "a draft" : spaced(status);
      return `${over} is ${what}. None of its ledger jobs failed or waits.`;
    }
  }
}

function jobText(document: JobDocument): string {
  const { number, job = "last job", invoice } = document;
  const to = invoice === undefined ? "" : ` to the invoice ${invoice}`;
  return `the ${job} of ${number} over ${worth(document)}${to}`;
}

function nextText(next: string | undefined): string {
  return next === undefined ? "It goes on by itself." : `It is tried next at ${instant(next)}.`;
}

/** Returns the lines of the preview of a retry: a sentence, and what is sent. */
export function retryLines(response: Json, { terminal }: Work): readonly string[] {
  const document = documentOf(response.document);
  const { number, currency } = document;
  const lines = listOf(response.lines) as unknown as readonly RetriedLine[];
  const what = capital(jobText({ ...document, job: String(response.job) }));
  const does =
    response.pending === true ? "is run at once; nothing else happens" : "is sent to the ledger";
  const next = response.takes_next_number === true;
  const under = next ? ` under the next number, because another document has ${number} there` : "";
  return [
    ...layText(terminal, `${what} ${does}${under}. Nothing is changed by this preview.`),
    ...(lines.length === 0
      ? []
      : [
          "",
          ...layDocument(terminal, {
            title: `Sent: ${next ? "the next number" : number} (${spaced(document.kind)})`,
            currency,
            lines: lines.map((line) => {
              return { title: line.name, amount: line.amount, how: [accountText(line)] };
            }),
            sums: [["without tax", sumOf(lines.map(({ amount }) => amount))]],
          }),
        ]),
  ];
}

function accountText({ revenue_account: account, tax_type: tax, mapped_again }: RetriedLine) {
  return [
    account === undefined ? "no account" : `account ${account}`,
    tax === undefined ? "tax type of the account" : `tax type ${tax}`,
    ...(mapped_again ? ["by the present mapping"] : []),
  ].join(", ");
}
