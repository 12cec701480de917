/**
 * DocumentService: lists documents whose ledger job failed or is pending, with the reason, and
 * retries them. It explains any document. ADMIN-6
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { decideRetry, requireNoneRunning } from "../../domain/billing/retry-document.ts";
import { Refusal } from "../../domain/refusal.ts";
import type {
  DocumentAttemptSchema,
  DocumentService,
} from "../../gen/proto/billing/admin/v1/documents_pb.ts";
import { wordOf } from "../../present/enums.ts";
import { explained } from "../../present/explanations.ts";
import { retryState } from "../../store/admin/documents/describe-retry.ts";
import type { DocumentAttempt } from "../../store/admin/documents/documents.ts";
import { hashName } from "../../store/documents/line-facts.ts";
import type { DocumentWork } from "../../store/ledger-jobs/stale-jobs.ts";
import { attemptOutcomes, documentJobs, documentStates } from "../present/enums.ts";
import { membersOf, presentDocument } from "../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  pageOf,
  requireOrganisation,
} from "./dependencies.ts";

/** The store, what starts the work of a retry, and what reports a contradiction. */
type Dependencies = Pick<
  AdminDependencies,
  "store" | "wake" | "startAmendment" | "startAllocation" | "onContradiction"
>;

/**
 * Implements the service. Refuses `organisation_not_found`, `invoice_not_found`, `invalid_state`.
 */
export function documentService(deps: Dependencies): AdminImplementation<typeof DocumentService> {
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
      const document = requireDocument(await documents.get(owner.id, id));
      const attempts = await documents.attempts(owner.id, document.id);
      return { document: presentDocument(document), attempts: attempts.map(presentAttempt) };
    },
    explainDocument: async ({ organisation, document }) => {
      const { id } = await requireOrganisation(deps, organisation);
      const found = requireDocument(await documents.toExplain(id, document), "id or number");
      return { explanation: explained(id, found, hashName, deps.onContradiction) };
    },
    previewRetryDocument: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const described = requireDocument(await documents.describeRetry(owner.id, id));
      const { document, lines, takesNextNumber, running } = described;
      const retry = decideRetry(document, owner.setupMode);
      if (retry === "amendment") requireNoneRunning(running);
      const job = document.operation;
      return {
        document: presentDocument(document),
        ...(job !== null && { job: documentJobs[job] }),
        pending: retry === "bring_forward",
        takesNextNumber,
        lines: lines.map(membersOf),
        previewedState: retryState(described),
      };
    },
    retryDocument: async ({ organisation, id, previewedState }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const tenant = deps.store.tenant(owner.id, actorOf(call), previewedState);
      const work = await tenant.onDocument(id, async (tx, found, { setupMode }) => {
        const locked = requireDocument(found);
        const retry = decideRetry(locked, setupMode);
        if (retry === "amendment") requireNoneRunning(await tx.documents.findRunning(locked));
        return tx.documents.saveRetry(locked, retry);
      });
      const document = requireDocument(await documents.get(owner.id, id));
      await start(deps, work);
      return { document: presentDocument(document) };
    },
  };
}

/** The id may be an invoice's or a credit note's: `invoice_not_found` stands for both. */
function requireDocument<T>(found: T | null, by = "id"): T {
  if (found !== null) return found;
  throw new Refusal("invoice_not_found", `There is no invoice or credit note with this ${by}.`);
}

function presentAttempt(attempt: DocumentAttempt): MessageInitShape<typeof DocumentAttemptSchema> {
  return {
    ...membersOf(attempt),
    at: attempt.createdAt.toISOString(),
    job: documentJobs[attempt.operation],
    outcome: attemptOutcomes[attempt.outcome],
  };
}

/** Starts the work's workflow. If Temporal cannot be reached, the dispatcher starts it later. */
function start(deps: Dependencies, work: DocumentWork): Promise<boolean> {
  switch (work.kind) {
    case "posting":
      return deps.wake(work.organisationId);
    case "amendment":
      return deps.startAmendment(work);
    case "allocation":
      return deps.startAllocation(work);
  }
}
