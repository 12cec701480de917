/**
 * Rows that tests look into, one reader for each table, and the states that they plant. The models
 * type all of it, so that a renamed column is a change of the schema alone. What Prisma cannot say,
 * such as a lock or a sum over several tables, stays SQL in the test.
 */
import type { Prisma } from "../../src/gen/prisma/client.ts";
import { dbOfAll } from "../../src/store/database/prisma/client.ts";
import type { Executor } from "../../src/store/database/sql/statement.ts";

/** The rows of all tables, read and planted by their models. */
export const tables = dbOfAll;

/** The instant so many minutes from now, or before now. */
export const fromNow = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);

/** Changes an organisation as no endpoint does, or as one does that does more. */
export async function setOrganisation(
  executor: Executor,
  id: string | readonly string[],
  data: Prisma.OrganisationUpdateManyMutationInput,
): Promise<void> {
  const where = { id: typeof id === "string" ? id : { in: [...id] } };
  await dbOfAll(executor).organisation.updateMany({ where, data });
}

/** Keeps the billing run from subscriptions for an hour. Operations bill them all the same. */
export async function park(executor: Executor, ...ids: readonly string[]): Promise<void> {
  await tables(executor).subscription.updateMany({
    where: { id: { in: [...ids] } },
    data: { parkedUntil: fromNow(60), parkedReason: "test", parkedAttempts: 1 },
  });
}

type JobFilter = Prisma.LedgerJobWhereInput;

/** The states of a job that is decided. */
const decidedStates = ["done", "refused", "abandoned"];

/** The jobs for the ledger, oldest first. */
export const jobsOf = (executor: Executor, where: JobFilter) =>
  dbOfAll(executor).ledgerJob.findMany({ where, orderBy: { seq: "asc" } });

/** The newest of them, or null. */
export const newestJob = (executor: Executor, where: JobFilter) =>
  dbOfAll(executor).ledgerJob.findFirst({ where, orderBy: { seq: "desc" } });

/** How many there are. */
export const countJobs = (executor: Executor, where: JobFilter): Promise<number> =>
  dbOfAll(executor).ledgerJob.count({ where });

/** How many of an organisation are not decided. */
export const openJobs = (executor: Executor, organisationId: string): Promise<number> =>
  countJobs(executor, { organisationId, state: { notIn: decidedStates } });

/** How many connections to the database wait for a lock. */
export async function lockWaits(executor: Executor): Promise<number> {
  const { rows } = await executor.query(
    `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}

type DeliveryFilter = Prisma.WebhookDeliveryWhereInput;

/** Deliveries to webhook endpoints, oldest first. */
export const deliveriesOf = (executor: Executor, where: DeliveryFilter) =>
  dbOfAll(executor).webhookDelivery.findMany({ where, orderBy: { seq: "asc" } });

/** How many there are. */
export const countDeliveries = (executor: Executor, where: DeliveryFilter): Promise<number> =>
  dbOfAll(executor).webhookDelivery.count({ where });
