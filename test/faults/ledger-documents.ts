/** Compares our database with the ledger after a fault: both must have the same documents. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { openJobs, tables } from "../support/rows.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import { type Post, postUntilCreated, promptAnswerMs } from "./processes.ts";

/** A creation of a subscription of the demo catalogue; `units` distinguishes requests. */
export function subscriptionPost(
  organisation: CreatedOrganisation,
  idempotencyKey: string,
  units = 10,
): Post {
  const body = { customer_code: "ACME", plan_code: "team", units };
  return { path: "/v1/subscriptions", key: organisation.apiKey, idempotencyKey, body };
}

/** A creation of a customer whose contact is new to the ledger. */
export function customerPost(organisation: CreatedOrganisation, idempotencyKey: string): Post {
  const body = { code: "NEW-1", name: "New and Sons", email: "accounts@new.example" };
  return { path: "/v1/customers", key: organisation.apiKey, idempotencyKey, body };
}

/** Waits until nothing of the organisation waits for the ledger any more. */
export async function untilPosted({ pool }: TestSystem, organisationId: string): Promise<void> {
  await until("all jobs are finished", () => isFinished(pool, organisationId));
}

const isFinished = async (pool: TestSystem["pool"], organisationId: string): Promise<boolean> =>
  (await openJobs(pool, organisationId)) === 0;

/**
 * Ends the pause of an organisation's connection and waits until no job is pending. Includes jobs
 * that a batch rescheduled because it had read the pause before.
 */
export async function endPause({ pool }: TestSystem, organisationId: string): Promise<void> {
  const { ledgerConnection, ledgerJob } = tables(pool);
  await until("all jobs are finished after the pause", async () => {
    const now = new Date();
    await ledgerConnection.updateMany({
      where: { organisationId, pausedUntil: { gt: now } },
      data: { pausedUntil: now },
    });
    await ledgerJob.updateMany({
      where: { organisationId, state: "ready", notBefore: { gt: now } },
      data: { notBefore: now },
    });
    return isFinished(pool, organisationId);
  });
}

/**
 * Holds that there are so many subscriptions, each with one invoice that is in the ledger, and no
 * other document there.
 */
export async function expectOneDocumentEach(
  system: TestSystem,
  { organisationId, tenantId }: CreatedOrganisation,
  subscriptions: number,
): Promise<void> {
  await untilPosted(system, organisationId);
  const { invoice, subscription } = tables(system.pool);
  const where = { organisationId };
  expect(await subscription.count({ where })).toBe(subscriptions);
  const rows = await invoice.findMany({ where, orderBy: { number: "asc" } });
  expect(new Set(rows.map(({ subscriptionId }) => subscriptionId)).size).toBe(subscriptions);
  expect(rows).toHaveLength(subscriptions);
  expect(rows.filter(({ ledgerInvoiceId }) => ledgerInvoiceId === null)).toEqual([]);
  const inLedger = await system.ledgerInvoices(tenantId);
  expect(inLedger).toEqual(rows.map(({ number }) => ({ number, status: "DRAFT" })));
}

/**
 * Creates a subscription and asserts that its invoice was in the ledger by the answer, unless the
 * answer's fifteen seconds had passed, as they may on a slow machine. POSTING-4.
 */
export async function createSynced(system: TestSystem, what: Post): Promise<Answered> {
  const began = performance.now();
  const created = await postUntilCreated(system.baseUrl, what);
  if (performance.now() - began < promptAnswerMs)
    expect(created.json.invoice).toMatchObject(synced);
  return created;
}

/** The invoice of a created subscription as the API shows it now. */
export async function shownInvoice(
  system: TestSystem,
  { apiKey }: CreatedOrganisation,
  created: Answered,
): Promise<unknown> {
  const answer = await system.ask("GET", `/v1/invoices/${created.json.invoice.id}`, {
    key: apiKey,
  });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

/**
 * Waits until the invoice of a created subscription is in the ledger: on a slow machine the answer
 * may come before.
 */
export async function expectPosted(
  system: TestSystem,
  organisation: CreatedOrganisation,
  created: Answered,
): Promise<void> {
  await untilPosted(system, organisation.organisationId);
  expect(await shownInvoice(system, organisation, created)).toMatchObject(synced);
}

/** What the API shows of an invoice that is in the ledger. */
export const synced = { status: "draft", ledger: { sync_status: "synced", sync_error: null } };

/** What the API shows while the ledger has not decided. POSTING-4. */
export const scheduled = {
  status: "scheduled",
  ledger: {
    sync_status: "failed",
    sync_error: "The ledger could not be reached; it is retried",
    invoice_id: null,
  },
};
