/**
 * Retries what the ledger refused of a document, or makes its waiting job due at once. The change
 * and its ledger job are written in one transaction. Jobs are written by SQL, because they are due
 * by the server's clock. ADMIN-6, POSTING-1.
 */
import { strict as assert } from "node:assert";
import type { Retry } from "../../../domain/billing/retry-document.ts";
import type { OrganisationSettings } from "../../../domain/model/organisation-settings.ts";
import { shareOrganisation } from "../../billing/locked-subscription.ts";
import { newId } from "../../database/ids.ts";
import { lockSubscriptions } from "../../database/lock-order.ts";
import { getOne } from "../../database/page.ts";
import type { Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { instant } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { lackingChanges } from "../../ledger-jobs/amendments/closed-amendment.ts";
import { planAllocations } from "../../ledger-jobs/credit-allocations.ts";
import type { DocumentWork } from "../../ledger-jobs/stale-jobs.ts";
import { type Changed, changed } from "../changes.ts";
import { type AdminDocument, documentListing } from "./document-listing.ts";
import { createJob, isNumberUsed, mapLines, reserveNumber } from "./renumber-and-map-lines.ts";

/** A document to retry, and its organisation. Null for a document that does not exist. */
export interface LockedDocument {
  readonly document: AdminDocument | null;
  readonly organisation: OrganisationSettings;
}

/** Locks the organisation, shared, and the document's subscription. Then it reads the document. */
export async function lockDocument(
  tx: Transaction,
  organisationId: string,
  id: string,
): Promise<LockedDocument> {
  const { organisation } = await shareOrganisation(tx, organisationId);
  const before = await getOne(tx, organisationId, documentListing, id);
  if (before === null) return { document: null, organisation };
  await lockSubscriptions(tx, organisationId, [before.subscriptionId]);
  // Read again, because a job under way may have changed the document before the lock.
  return { document: await getOne(tx, organisationId, documentListing, id), organisation };
}

/**
 * Saves the retry of a locked document. Returns the work to start now, with the changes for the
 * audit log.
 */
export async function saveRetry(
  tx: Transaction,
  organisationId: string,
  document: AdminDocument,
  retry: Retry,
): Promise<Changed<DocumentWork>> {
  switch (retry) {
    case "bring_forward":
      return bringForward(tx, organisationId, document);
    case "creation":
      return retryCreation(tx, organisationId, document);
    case "amendment":
      return retryAmendment(tx, organisationId, document);
    case "allocation":
      return retryAllocation(tx, organisationId, document);
  }
}

/**
 * Returns the work with its log entry. Number, status and error are logged for every retry,
 * other fields only if they changed.
 */
function retried(
  organisationId: string,
  { id: targetId, number, status, syncError, operation }: AdminDocument,
  work: DocumentWork,
  { before = {}, after }: { readonly before?: object; readonly after: object },
): Changed<DocumentWork> {
  const logged = { operation, number, status, syncError };
  return changed(work, {
    targetKind: "document",
    targetId,
    organisationId,
    before: { ...logged, ...before },
    after: { ...logged, ...after },
  });
}

/** Returns the work that completes the waiting job of a document. */
function workOf(organisationId: string, document: AdminDocument, jobId: string): DocumentWork {
  const { id, subscriptionId, operation } = document;
  if (operation === "amendment") {
    return { kind: "amendment", organisationId, subscriptionId, invoiceId: id, jobId };
  }
  if (operation === "allocation") return { kind: "allocation", organisationId, subscriptionId };
  return { kind: "posting", organisationId };
}

const makeDue = query({
  name: "bring_job_forward",
  text: sql`
    UPDATE ledger_jobs
    SET not_before = now()
    WHERE organisation_id = $1 AND id = $2 AND state = 'ready' AND not_before > now()
    RETURNING not_before AS next_attempt_at
  `,
  row: { nextAttemptAt: instant },
});

async function bringForward(
  tx: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<DocumentWork>> {
  const { jobId, nextAttemptAt } = document;
  assert(jobId, "a waiting document has a job");
  const work = workOf(organisationId, document, jobId);
  const [after] = await makeDue(tx, organisationId, jobId);
  if (after === undefined) return changed(work);
  return retried(organisationId, document, work, { before: { nextAttemptAt }, after });
}

async function retryCreation(
  tx: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<DocumentWork>> {
  const { id, kind } = document;
  const number = isNumberUsed(document)
    ? await reserveNumber(tx, organisationId, kind)
    : document.number;
  await mapLines(tx, organisationId, document);
  const after = { number, status: "scheduled", syncError: null };
  const update = { where: { organisationId, id }, data: after };
  if (kind === "invoice") await db(tx).invoice.update(update);
  else await db(tx).creditNote.update(update);
  const jobId = await createJob(tx, organisationId, document);
  return retried(organisationId, document, workOf(organisationId, document, jobId), { after });
}

/**
 * Returns the running job that must end before the amendment, as the end of a sentence, or null.
 * The ledger does not amend an invoice that has credit on it. So an allocation under way to this
 * invoice comes first.
 */
export async function findRunning(
  tx: Transaction,
  organisationId: string,
  { id, subscriptionId }: AdminDocument,
): Promise<string | null> {
  const job = await db(tx).ledgerJob.findFirst({
    where: {
      organisationId,
      subscriptionId,
      state: { in: ["ready", "sending", "uncertain"] },
      OR: [
        { kind: { in: ["amend_invoice", "end_subscription"] } },
        { kind: "allocate_credit", invoiceId: id },
      ],
    },
    orderBy: { seq: "asc" },
    select: { kind: true, invoice: { select: { number: true } } },
  });
  if (job === null) return null;
  if (job.kind === "end_subscription") return "the subscription is being ended";
  const invoice = `invoice ${job.invoice?.number}`;
  return job.kind === "amend_invoice"
    ? `${invoice} is being amended in the ledger`
    : `credit is being put on ${invoice} in the ledger`;
}

// A change of price alone adds no line. It can also be amended if the invoice is no longer a draft.
const repeatJob = command({
  name: "repeat_refused_amendment",
  text: sql`
    INSERT INTO ledger_jobs
      (id, organisation_id, kind, state, subscription_id, invoice_id, skip_validation, joins)
    SELECT
      $3, o.organisation_id,
      'amend_invoice',
      'ready',
      o.subscription_id, o.invoice_id, true, o.joins
      AND EXISTS (
        SELECT 1
        FROM invoice_lines l
        WHERE
          l.organisation_id = $1
          AND l.invoice_id = o.invoice_id
          AND l.amending
          AND l.kind <> 'plan'
      )
    FROM ledger_jobs o
    WHERE o.organisation_id = $1 AND o.id = $2
  `,
});

// The unit changes of these lines wait for this job from now on and take their outcome from it.
const awaitJob = command({
  name: "await_repeated_amendment",
  text: sql`
    UPDATE unit_changes c
    SET job_ids = c.job_ids || $4::uuid
    WHERE c.organisation_id = $1 AND c.id IN (${lackingChanges})
  `,
});

/** The invoice of a refused amendment, and that amendment's job. */
interface RefusedAmendment {
  readonly id: string;
  readonly subscriptionId: string;
  readonly refusedId: string | null;
}

/** Creates the job of a refused amendment again. Returns its id. */
export async function amendAgain(
  tx: Transaction,
  organisationId: string,
  { id, subscriptionId, refusedId }: RefusedAmendment,
): Promise<string> {
  const jobId = newId();
  await repeatJob(tx, organisationId, refusedId, jobId);
  await awaitJob(tx, organisationId, subscriptionId, id, jobId);
  return jobId;
}

async function retryAmendment(
  tx: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<DocumentWork>> {
  const { id, subscriptionId } = document;
  await mapLines(tx, organisationId, document);
  const jobId = await amendAgain(tx, organisationId, {
    id,
    subscriptionId,
    refusedId: document.jobId,
  });
  const after = { syncError: null };
  await db(tx).invoice.update({ where: { organisationId, id }, data: after });
  return retried(organisationId, document, workOf(organisationId, document, jobId), { after });
}

/**
 * Abandons the note's refused allocations, so that the next step of the subscription's credit
 * ignores them. The next step is this allocation or one that comes before it. If another allocation
 * is under way, that one plans the next.
 */
async function retryAllocation(
  tx: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<DocumentWork>> {
  const { id, subscriptionId, invoiceId, reason, message } = document;
  await db(tx).ledgerJob.updateMany({
    where: { organisationId, creditNoteId: id, kind: "allocate_credit", state: "refused" },
    data: { state: "abandoned" },
  });
  await planAllocations(tx, organisationId, [subscriptionId], { creditNoteId: id, invoiceId });
  const work = { kind: "allocation", organisationId, subscriptionId } as const;
  return retried(organisationId, document, work, {
    before: { invoiceId, reason, message },
    after: { invoiceId, reason: null, message: null },
  });
}
