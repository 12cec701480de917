/** Compares our database with the ledger after a fault: both must have the same documents. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { openJobs } from "../support/rows.ts";
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
  const texts = [
    `UPDATE ledger_connections SET paused_until = now() WHERE organisation_id = $1
      AND paused_until > now()`,
    `UPDATE ledger_jobs SET not_before = now() WHERE organisation_id = $1 AND state = 'ready'
      AND not_before > now()`,
  ];
  await until("all jobs are finished after the pause", async () => {
    for (const text of texts) await pool.query(text, [organisationId]);
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
  const { rows } = await system.pool.query<{
    subscription_id: string;
    number: string;
    ledger_invoice_id: string;
  }>(
    `SELECT subscription_id, number, ledger_invoice_id FROM invoices WHERE organisation_id = $1
      ORDER BY number`,
    [organisationId],
  );
  const result = await system.pool.query(
    "SELECT id FROM subscriptions WHERE organisation_id = $1",
    [organisationId],
  );
  expect(result.rows).toHaveLength(subscriptions);
  expect(new Set(rows.map((row) => row.subscription_id)).size).toBe(subscriptions);
  expect(rows).toHaveLength(subscriptions);
  expect(rows.filter((row) => row.ledger_invoice_id === null)).toEqual([]);
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
