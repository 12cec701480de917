/**
 * `billing documents`: documents that failed, wait or drift, with the reason, retrying them, and
 * how the amounts of any document came about.
 * ADMIN-6
 */
import { DocumentService } from "../../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { type Noun, previewedStateText, type Verb } from "../../noun.ts";
import { documentLines, documentsLines, retryLines } from "./document-lines.ts";
import { explainDocument, explanationLines } from "./explain-document.ts";
import { retryDocument } from "./retry-document.ts";

const { method } = DocumentService;

/** Explains a document. It is a command without its noun as well: `billing explain`. */
export const explain: Verb = {
  name: "explain",
  method: method.explainDocument,
  summary: "Show how the amounts of an invoice or credit note came about.",
  details: "-o json has every fact and step, for programs that check them.",
  examples: ["documents explain INV-0042", "documents explain CN-0007 -o json"],
  places: ["document"],
  work: explainDocument,
  lines: explanationLines,
};

/** Lists, shows, explains and retries documents. */
export const documents: Noun = {
  name: "documents",
  summary: "Find documents whose ledger job failed or is pending, retry it, and explain amounts",
  verbs: [
    {
      name: "list",
      method: method.listDocuments,
      summary:
        "List documents whose ledger job failed or is pending, newest first, each with its reason.",
      details:
        "The job is the creation of the document, an invoice's amendment, or a credit's " +
        "allocation. " +
        "A document that drifts was changed in the ledger: its lines come to ledger_subtotal " +
        "instead of subtotal there, or ledger_differences says what else differs.",
      examples: [
        "documents list --state failed",
        "documents list --state drift",
        "documents list --all --json",
      ],
      fields: { state: "only documents in this state" },
      columns: [
        "id",
        "kind",
        "number",
        "ledger_number",
        "job",
        "state",
        "total",
        "subtotal",
        "ledger_subtotal",
        "ledger_differences",
        "currency",
        "reason",
        "message",
        "attempts",
        "next_attempt_at",
      ],
      lines: documentsLines,
    },
    {
      name: "get",
      method: method.getDocument,
      lines: documentLines,
      summary:
        "Show one document with the last attempts at its ledger jobs, also if none failed or is " +
        "pending.",
      details: "A document that the ledger took at once has no attempts.",
      examples: ["documents get 0199a0b2-5555-7000-8000-000000000001"],
      places: ["id"],
    },
    explain,
    {
      name: "preview-retry",
      method: method.previewRetryDocument,
      lines: retryLines,
      summary: "Show what a retry would send to the ledger, with its number and accounts.",
      details: "Nothing is changed, and the ledger is not asked.",
      examples: ["documents preview-retry 0199a0b2-5555-7000-8000-000000000001"],
      places: ["id"],
    },
    {
      name: "retry",
      method: method.retryDocument,
      summary: "Retry the failed ledger job of a document, or run its pending job at once.",
      details:
        "With --wait the command ends when the ledger has decided. It exits with 1 if the ledger " +
        "refused again, or if the time is up before.",
      examples: [
        "documents retry 0199a0b2-5555-7000-8000-000000000001 --wait",
        "documents retry 0199a0b2-5555-7000-8000-000000000001 --json",
      ],
      places: ["id"],
      fields: { previewed_state: previewedStateText },
      extra: [
        {
          flags: "--wait [seconds]",
          description: "wait for the ledger's decision, by default at most 60 seconds",
        },
      ],
      work: retryDocument,
      failed: ({ state }, { wait }) =>
        wait !== undefined && state !== "synced" && state !== "drift",
    },
  ],
};
