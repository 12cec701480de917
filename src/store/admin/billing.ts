/**
 * The billing run for operators: lists parked subscriptions with their reasons, and retries them.
 * POSTING-8.
 */

import type { SubscriptionStatus } from "../../domain/model/subscription.ts";
import { Refusal } from "../../domain/refusal.ts";
import { columns } from "../../gen/columns.ts";
import { type BillingCounts, countDue } from "../billing/due-organisations.ts";
import { binding } from "../database/bind.ts";
import { isId } from "../database/ids.ts";
import { lockRow } from "../database/lock-order.ts";
import { getOne, listing, listPage, type PageRequest } from "../database/page.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { type Actor, type Change, type Changed, type Changes, changed } from "./changes.ts";
import { findLeftover, listLeftovers } from "./leftovers/list-leftovers.ts";

const subscriptionRow = {
  ...pick(columns.subscription, "id", "customerId", "planId", "renewalDate"),
  status: columns.subscription.status.as<SubscriptionStatus>(),
};

/** Those that are not parked have no reason. The next attempt may be in the past. */
const parkedRow = {
  ...subscriptionRow,
  reason: columns.subscription.parkedReason.present(),
  attempts: columns.subscription.parkedAttempts,
  nextAttemptAt: columns.subscription.parkedUntil.present(),
};

/** A parked subscription. */
export type ParkedSubscription = RowOf<typeof parkedRow>;

const parked = listing("parked_subscriptions", {
  table: sql`subscriptions`,
  columns: sql`${columnsOf(sql`t`, subscriptionRow)}, t.parked_reason AS reason,
    t.parked_attempts AS attempts, t.parked_until AS next_attempt_at`,
  row: parkedRow,
  // A subscription that was billed since it ended the last page is no longer a position of the
  // list.
  shown: sql`t.parked_until IS NOT NULL`,
  read: (row): ParkedSubscription => row,
});

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
    /** Makes the subscription due at once. Refuses `invalid_state` if it is not parked. */
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
): Promise<Changed<ParkedSubscription | null>> {
  const now = await lockRow(tx, "subscriptions", organisationId, id);
  if (now === null) return changed(null);
  const found = await getOne(tx, organisationId, parked, id);
  if (found === null) throw new Refusal("invalid_state", "The subscription is not parked.");
  if (found.nextAttemptAt <= now) return changed(found);
  await db(tx).subscription.update({
    where: { organisationId, id },
    data: { parkedUntil: now },
  });
  const { reason: parkedReason, attempts: parkedAttempts, nextAttemptAt: parkedUntil } = found;
  const before = { parkedUntil, parkedReason, parkedAttempts };
  const change = {
    targetKind: "subscription",
    targetId: id,
    organisationId,
    before,
    after: { ...before, parkedUntil: now },
  } as const;
  // The state at this moment. A billing run may bill the subscription as soon as this commits.
  return changed({ ...found, nextAttemptAt: now }, change);
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
