/**
 * DocumentService: lists documents whose ledger job failed or is pending, with the reason, and
 * retries them. ADMIN-6
 */
import { Refusal } from "../../domain/refusal.ts";
import type { DocumentService } from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import { wordOf } from "../../services/enums.ts";
import type { DocumentWork } from "../../store/ledger-jobs/stale-jobs.ts";
import { documentStates } from "../present/enums.ts";
import { presentDocument } from "../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  pageOf,
  requireOrganisation,
} from "./dependencies.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `invoice_not_found`, `invalid_state`.
 */
export function documentService(
  deps: AdminDependencies,
): AdminImplementation<typeof DocumentService> {
  const { documents } = deps.store;
  return {
    listDocuments: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { data, hasMore } = await documents.list(
        id,
        wordOf(documentStates, request.state),
        pageOf(request),
      );
      return { data: data.map(presentDocument), hasMore };
    },
    getDocument: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      return { document: presentDocument(requireDocument(await documents.get(owner.id, id))) };
    },
    retryDocument: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const outcome = requireDocument(await documents.retry(actorOf(call), owner.id, id));
      switch (outcome.kind) {
        case "nothing_to_retry":
          throw new Refusal(
            "invalid_state",
            "The document has no failed or pending ledger job: the ledger has it, or had it.",
          );
        case "setup_mode":
          throw new Refusal(
            "invalid_state",
            "The organisation is in Setup Mode: no document is posted.",
          );
        case "busy": {
          const running = `is still running: ${outcome.running}.`;
          throw new Refusal("invalid_state", `Another operation on this subscription ${running}`);
        }
        case "retried": {
          const document = requireDocument(await documents.get(owner.id, id));
          await start(deps, outcome.work);
          return { document: presentDocument(document) };
        }
      }
    },
  };
}

/** The id may be an invoice's or a credit note's: `invoice_not_found` stands for both. */
function requireDocument<T>(found: T | null): T {
  if (found !== null) return found;
  throw new Refusal("invoice_not_found", "There is no invoice or credit note with this id.");
}

/** Starts the work's workflow. If Temporal cannot be reached, the dispatcher starts it later. */
function start(deps: AdminDependencies, work: DocumentWork): Promise<boolean> {
  switch (work.kind) {
    case "posting":
      return deps.wake(work.organisationId);
    case "amendment":
      return deps.startAmendment(work);
    case "allocation":
      return deps.startAllocation(work);
  }
}
