/**
 * The billing run for operators: lists parked subscriptions with their reasons, and retries them.
 * POSTING-8.
 */

import { civilDate } from "../../domain/calendar/civil-date.ts";
import type { SubscriptionStatus } from "../../domain/model/subscription.ts";
import { columns } from "../../gen/columns.ts";
import { type BillingCounts, countDue } from "../billing/due-organisations.ts";
import { binding } from "../database/bind.ts";
import { databaseNow } from "../database/clock.ts";
import { isId } from "../database/ids.ts";
import { lockRow } from "../database/lock-order.ts";
import { listing, listPage, type PageRequest } from "../database/page.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { day, pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { type Actor, type Change, type Changed, type Changes, changed } from "./changes.ts";
import { findLeftover, listLeftovers } from "./leftovers/list-leftovers.ts";

const parkedRow = {
  ...pick(columns.subscription, "id", "customerId", "planId", "parkedReason", "parkedAttempts"),
  status: columns.subscription.status.as<SubscriptionStatus>(),
  renewalDate: day,
  parkedUntil: columns.subscription.parkedUntil.present(),
};

const parked = listing("parked_subscriptions", {
  table: sql`subscriptions`,
  columns: columnsOf(sql`t`, parkedRow),
  row: parkedRow,
  // A subscription that was billed since it ended the last page is no longer a position of the
  // list.
  shown: sql`t.parked_until IS NOT NULL`,
  read: readParked,
});

/** A parked subscription. `nextAttemptAt` may be in the past. */
export type ParkedSubscription = ReturnType<typeof readParked>;

function readParked(row: RowOf<typeof parkedRow>) {
  const { parkedReason, parkedAttempts, parkedUntil, ...subscription } = row;
  return {
    ...subscription,
    renewalDate: civilDate(row.renewalDate),
    reason: parkedReason ?? "",
    attempts: parkedAttempts,
    nextAttemptAt: parkedUntil,
  };
}

/** Creates the billing store over changes. Null stands for no such subscription. */
export function createBillingStore(pool: Pool, { run }: Changes) {
  const bound = binding(pool);
  const count = bound(countDue);
  return {
    count,
    /** Lists what faults of earlier versions left of the organisation's money. */
    listLeftovers: bound(listLeftovers),
    findLeftover: bound(findLeftover),
    listParked: (organisationId: string, page: PageRequest) =>
      listPage(pool, organisationId, parked, [], page),
    /** Makes the subscription due at once. Returns `not_parked` if it is not parked. */
    retry: async (actor: Actor, organisationId: string, id: string) =>
      isId(id) ? run(actor, (tx) => retry(tx, organisationId, id)) : null,
    /** Records in the audit log that billing was started by hand, if anything is due. */
    noteRun: async (actor: Actor, organisationId: string) => {
      const counts = await count(organisationId);
      if (counts.due > 0)
        await run(actor, async () => changed(null, changeOfRun(organisationId, counts)));
      return counts;
    },
  };
}

async function retry(
  tx: Transaction,
  organisationId: string,
  id: string,
): Promise<Changed<ParkedSubscription | "not_parked" | null>> {
  await lockRow(tx, "subscriptions", organisationId, id);
  const subscription = await db(tx).subscription.findFirst({ where: { organisationId, id } });
  if (subscription === null) return changed(null);
  const { parkedUntil, parkedReason, parkedAttempts } = subscription;
  if (parkedUntil === null) return changed("not_parked");
  const now = await databaseNow(tx);
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
  if (parkedUntil <= now) return changed(parked);
  await db(tx).subscription.update({
    where: { organisationId, id },
    data: { parkedUntil: now },
  });
  const before = { parkedUntil, parkedReason, parkedAttempts };
  const after = { ...before, parkedUntil: now };
  return changed(parked, {
    targetKind: "subscription",
    targetId: id,
    organisationId,
    before,
    after,
  });
}

function changeOfRun(organisationId: string, { due, parked }: BillingCounts): Change {
  return {
    targetKind: "organisation",
    targetId: organisationId,
    organisationId,
    before: {},
    after: { due, parked },
  };
}
