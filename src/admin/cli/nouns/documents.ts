/** `billing documents`: documents that the ledger does not have, why, and sending them again. */
import { DocumentService } from "../../../gen/proto/billing/admin/v1/documents_pb.ts";
import type { Noun } from "../noun.ts";
import { retryDocument } from "../retry-document.ts";

const { method } = DocumentService;

/** The noun. */
export const documents: Noun = {
  name: "documents",
  summary: "Find documents that failed or wait, and send failed ones again",
  verbs: [
    {
      name: "list",
      method: method.listDocuments,
      summary: "List the documents that are not in the ledger, newest first, each with its reason.",
      examples: ["documents list --state failed", "documents list --all --json"],
      fields: { state: "only documents that stand so with the ledger" },
      columns: ["id", "number", "state", "total", "currency", "reason", "message", "attempts", "next_attempt_at"],
    },
    {
      name: "get",
      method: method.getDocument,
      summary: "Show one document, also one that is in the ledger by now.",
      examples: ["documents get 0199a0b2-5555-7000-8000-000000000001"],
      places: ["id"],
    },
    {
      name: "retry",
      method: method.retryDocument,
      summary: "Send a failed document again, or one that waits at once.",
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
      failed: ({ state }, { wait }) => wait !== undefined && state !== "synced",
    },
  ],
};
