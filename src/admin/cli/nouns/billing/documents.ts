/**
 * `billing documents`: documents that failed, wait or drift, with the reason, and retrying them.
 * ADMIN-6
 */
import { DocumentService } from "../../../../gen/proto/billing/admin/v1/documents_pb.ts";
import type { Noun } from "../../noun.ts";
import { retryDocument } from "./retry-document.ts";

const { method } = DocumentService;

/** Lists, shows and retries documents. */
export const documents: Noun = {
  name: "documents",
  summary:
    "Find invoices and credit notes of which something failed or waits, and ask the ledger again",
  verbs: [
    {
      name: "list",
      method: method.listDocuments,
      summary:
        "List the documents of which something failed or waits, newest first, each with its reason.",
      details:
        "What failed or waits is the creation of the document, an invoice's amendment, or a credit's allocation. One that drifts " +
        "comes to another amount in the ledger than here: ledger_subtotal beside subtotal.",
      examples: [
        "documents list --state failed",
        "documents list --state drift",
        "documents list --all --json",
      ],
      fields: { state: "only documents that stand so with the ledger" },
      columns: [
        "id",
        "kind",
        "number",
        "job",
        "state",
        "total",
        "subtotal",
        "ledger_subtotal",
        "currency",
        "reason",
        "message",
        "attempts",
        "next_attempt_at",
      ],
    },
    {
      name: "get",
      method: method.getDocument,
      summary: "Show one document, also one of which nothing failed or waits any more.",
      examples: ["documents get 0199a0b2-5555-7000-8000-000000000001"],
      places: ["id"],
    },
    {
      name: "retry",
      method: method.retryDocument,
      summary: "Ask the ledger again for what failed of a document, or at once for what waits.",
      details:
        "With --wait the command ends when the ledger has decided: with 1 where it refused again or has not decided in time.",
      examples: [
        "documents retry 0199a0b2-5555-7000-8000-000000000001 --wait",
        "documents retry 0199a0b2-5555-7000-8000-000000000001 --json",
      ],
      places: ["id"],
      extra: [
        {
          flags: "--wait [seconds]",
          description: "wait for the ledger's decision, 60 seconds at most if none are given",
        },
      ],
      work: retryDocument,
      failed: ({ state }, { wait }) =>
        wait !== undefined && state !== "synced" && state !== "drift",
    },
  ],
};
