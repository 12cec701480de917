/**
 * Break-offs of ends and amendments by an operator: the preview, and the write with its audit
 * entry, by which a repeat of the request finds what it has done. ADMIN-15.
 */
import { requireRunning } from "../../domain/model/billing-state.ts";
import { loadOrganisation } from "../billing/locked-subscription.ts";
import { isId } from "../database/ids.ts";
import { inSnapshot, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { bool } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import {
  type BreakOff,
  breakOff,
  loadRunning,
  previewBreakOff,
  type RunningSubscription,
} from "../subscriptions/break-off.ts";
import { type Changed, changed } from "./changes.ts";
import { subscriptionState } from "./previewed-state.ts";

/** A request of an operator: its id, the same in each try, its subscription, and why. */
export interface BreakOffToSave {
  readonly id: string;
  readonly subscriptionId: string;
  readonly reason: string;
}

// By the index of the one such job that a subscription has.
const readDue = query({
  name: "is_break_off_due",
  text: sql`
    SELECT
      EXISTS (
        SELECT
        FROM ledger_jobs j
        WHERE
          j.organisation_id = $1
          AND j.subscription_id = $2
          AND j.kind IN ('amend_invoice', 'end_subscription')
          AND j.state IN ('ready', 'sending', 'uncertain')
      ) AS is_due
  `,
  row: { isDue: bool },
});

/** Whether the subscription has something to break off. */
export async function isBreakOffDue(
  pool: Pool,
  organisationId: string,
  id: string,
): Promise<boolean> {
  const [row] = await readDue(pool, organisationId, id);
  return row?.isDue === true;
}

/**
 * Previews a break-off. Nothing is written or locked. Null if there is no such subscription.
 * Refuses `invalid_state` if nothing runs.
 */
export async function previewRunning(
  pool: Pool,
  organisationId: string,
  id: string,
): Promise<(BreakOff & { readonly previewedState: string }) | null> {
  if (!isId(id)) return null;
  return inSnapshot(pool, async (client) => {
    const locked = await loadOrganisation(client, organisationId);
    const state = await loadRunning(client, locked, id, true);
    const previewedState = await subscriptionState(client, organisationId, id, locked.now);
    if (state === null || previewedState === null) return null;
    const running = requireRunning(state);
    return { ...(await previewBreakOff(client, { locked, state, running })), previewedState };
  });
}

/** What the log keeps of a break-off. */
interface Logged extends BreakOff {
  readonly break_off: string;
}

/** Finds what an earlier try of this request has broken off. */
export async function findBreakOff(
  tx: Transaction,
  organisationId: string,
  { id, subscriptionId }: BreakOffToSave,
): Promise<BreakOff | null> {
  const entry = await db(tx).auditEntry.findFirst({
    where: {
      organisationId,
      targetId: subscriptionId,
      after: { path: ["break_off"], equals: id },
    },
    select: { after: true },
  });
  if (entry === null) return null;
  const { running, message, documents } = entry.after as unknown as Logged;
  return { running, message, documents };
}

/** Breaks off the running operation, with its audit entry. */
export async function saveBreakOff(
  tx: Transaction,
  running: RunningSubscription,
  { id, subscriptionId, reason }: BreakOffToSave,
): Promise<Changed<BreakOff>> {
  const done = await breakOff(tx, running);
  return changed(done, {
    targetKind: "subscription",
    targetId: subscriptionId,
    organisationId: running.state.organisation.id,
    before: { running: done.running },
    after: { ...done, reason, breakOff: id },
  });
}
