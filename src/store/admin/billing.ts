/**
 * The billing run for operators: lists parked subscriptions with their reasons, and retries them.
 * POSTING-8.
 */

import { type CivilDate, civilDate } from "../../domain/calendar/civil-date.ts";
import type { SubscriptionStatus } from "../../domain/subscriptions/subscription.ts";
import { type BillingCounts, countDue } from "../billing/due-organisations.ts";
import { isId } from "../database/ids.ts";
import { type Listing, listPage, type Page, type PageRequest } from "../database/page.ts";
import type { Pool } from "../database/pool.ts";
import type { Actor, Changed, Changes, PrismaTransaction } from "./changes.ts";

/** A parked subscription. `nextAttemptAt` may be in the past. */
export interface ParkedSubscription {
  readonly id: string;
  readonly customerId: string;
  readonly planId: string;
  readonly status: SubscriptionStatus;
  readonly renewalDate: CivilDate;
  readonly reason: string;
  readonly attempts: number;
  readonly nextAttemptAt: Date;
}

/** An organisation's billing. Null stands for a subscription that does not exist. */
export interface BillingStore {
  count(organisationId: string): Promise<BillingCounts>;
  listParked(organisationId: string, page: PageRequest): Promise<Page<ParkedSubscription>>;
  /** Makes the subscription due at once. Returns `not_parked` if it is not parked. */
  retry(
    actor: Actor,
    organisationId: string,
    id: string,
  ): Promise<ParkedSubscription | "not_parked" | null>;
  /** Records in the audit log that billing was started by hand, if anything is due. */
  noteRun(actor: Actor, organisationId: string): Promise<BillingCounts>;
}

interface ParkedRow {
  id: string;
  customer_id: string;
  plan_id: string;
  status: SubscriptionStatus;
  renewal_date: string;
  parked_reason: string;
  parked_attempts: number;
  parked_until: Date;
}

const listing: Listing<ParkedRow, ParkedSubscription> = {
  table: "subscriptions",
  columns:
    "t.id, t.customer_id, t.plan_id, t.status, t.renewal_date, t.parked_reason, t.parked_attempts, t.parked_until",
  from: "subscriptions t",
  // A subscription that was billed since it ended the last page is no longer a position of the
  // list.
  shown: "t.parked_until IS NOT NULL",
  read: (row) => ({
    id: row.id,
    customerId: row.customer_id,
    planId: row.plan_id,
    status: row.status,
    renewalDate: civilDate(row.renewal_date),
    reason: row.parked_reason,
    attempts: row.parked_attempts,
    nextAttemptAt: row.parked_until,
  }),
};

/** Creates the billing store over changes. */
export function createBillingStore(pool: Pool, { run }: Changes): BillingStore {
  const count = (organisationId: string) => countDue(pool, organisationId);
  return {
    count,
    listParked: (organisationId, page) => listPage(pool, organisationId, listing, [], page),
    retry: async (actor, organisationId, id) =>
      isId(id) ? run(actor, (transaction) => retry(transaction, organisationId, id)) : null,
    noteRun: async (actor, organisationId) => {
      const counts = await count(organisationId);
      if (counts.due > 0)
        await run(actor, async () => ({
          result: null,
          changes: [runChange(organisationId, counts)],
        }));
      return counts;
    },
  };
}

async function retry(
  transaction: PrismaTransaction,
  organisationId: string,
  id: string,
): Promise<Changed<ParkedSubscription | "not_parked" | null>> {
  await transaction.$executeRaw`SELECT 1 FROM subscriptions
    WHERE organisation_id = ${organisationId}::uuid AND id = ${id}::uuid FOR NO KEY UPDATE`;
  const subscription = await transaction.subscription.findFirst({ where: { organisationId, id } });
  if (subscription === null) return { result: null, changes: [] };
  const { parkedUntil, parkedReason, parkedAttempts } = subscription;
  if (parkedUntil === null) return { result: "not_parked", changes: [] };
  const now = new Date();
  // The state at this moment. A billing run may bill the subscription as soon as this commits.
  const parked: ParkedSubscription = {
    id,
    customerId: subscription.customerId,
    planId: subscription.planId,
    status: subscription.status as SubscriptionStatus,
    renewalDate: civilDate(subscription.renewalDate.toISOString().slice(0, "YYYY-MM-DD".length)),
    reason: parkedReason ?? "",
    attempts: parkedAttempts,
    nextAttemptAt: parkedUntil <= now ? parkedUntil : now,
  };
  if (parkedUntil <= now) return { result: parked, changes: [] };
  await transaction.subscription.updateMany({
    where: { organisationId, id },
    data: { parkedUntil: now },
  });
  const before = { parkedUntil, parkedReason, parkedAttempts };
  const target = { targetKind: "subscription", targetId: id, organisationId } as const;
  return {
    result: parked,
    changes: [{ ...target, before, after: { ...before, parkedUntil: now } }],
  };
}

function runChange(organisationId: string, { due, parked }: BillingCounts) {
  return {
    targetKind: "organisation",
    targetId: organisationId,
    organisationId,
    before: {},
    after: { due, parked },
  } as const;
}
