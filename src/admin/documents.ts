/** DocumentService: what the ledger does not have, why, and sending it again. decisions §§4, 6 and 8. */
import { Refusal } from "../domain/refusal.ts";
import type { DocumentService } from "../gen/proto/billing/admin/v1/documents_pb.ts";
import { wordOf } from "../services/enums.ts";
import { documentStates } from "./enums.ts";
import { type AdminImplementation, type AdminParts, actorOf, pageOf, required, requireOrganisation } from "./parts.ts";
import { presentDocument } from "./present.ts";

/** The methods of the service. Refuses `organisation_not_found`, `invoice_not_found`, `invalid_state`. */
export function documentService(parts: AdminParts): AdminImplementation<typeof DocumentService> {
  const { documents } = parts.store;
  return {
    listDocuments: async (request) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      const { data, hasMore } = await documents.list(id, wordOf(documentStates, request.state), pageOf(request));
      return { data: data.map(presentDocument), hasMore };
    },
    getDocument: async ({ organisation, id }) => {
      const owner = await requireOrganisation(parts, organisation);
      return { document: presentDocument(required(await documents.get(owner.id, id), "invoice_not_found")) };
    },
    retryDocument: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(parts, organisation);
      const outcome = required(await documents.retry(actorOf(call), owner.id, id), "invoice_not_found");
      if (outcome === "settled")
        throw new Refusal("invalid_state", "The ledger has the document, or had it: it is not sent again.");
      if (outcome === "setup_mode") {
        throw new Refusal("invalid_state", "The organisation is in Setup Mode: no document is raised in the ledger.");
      }
      const document = required(await documents.get(owner.id, id), "invoice_not_found");
      await parts.wake(owner.id);
      return { document: presentDocument(document) };
    },
  };
}
