/**
 * Switches Setup Mode of an organisation. What is due is billed first, because the mode in which a
 * period begins decides whether it is ever billed. SETUP-3, SETUP-4.
 */

import { Refusal } from "../../domain/refusal.ts";
import { performDue } from "../billing/catch-up.ts";
import { performable } from "../billing/due-organisations.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { type Actor, type Changed, type Changes, changed } from "./changes.ts";
import { requireNothingInTheWay } from "./setup-mode-obstacles.ts";
import { type AdminOrganisation, loadLocked, updateOrganisation } from "./update-organisation.ts";

/** The result of a switch of Setup Mode. */
export interface SetupModeChange {
  readonly organisation: AdminOrganisation;
  readonly changed: boolean;
  /**
   * Active subscriptions whose current period began in Setup Mode. That period is never billed.
   * SETUP-3.
   */
  readonly unbilledSubscriptions: number;
  /** The number of documents that billing before the switch issued. */
  readonly issued: number;
}

/** The requested mode, and how long the billing before the switch may take. */
interface SwitchOrder {
  readonly id: string;
  readonly setupMode: boolean;
  readonly performMs: number;
}

/**
 * Bills what is due, then switches. Null if the organisation does not exist. Refuses
 * `invalid_state` while too much is still due, or while other work blocks the switch.
 */
export async function billThenSwitch(
  pool: Pool,
  { run }: Changes,
  actor: Actor,
  { id, setupMode, performMs }: SwitchOrder,
): Promise<SetupModeChange | null> {
  const endMs = performance.now() + performMs;
  for (let issued = 0; ; issued += await performDue(pool, id, endMs)) {
    const outcome = await run(actor, (tx) => switchSetupMode(tx, id, setupMode));
    if (outcome === null) return null;
    if (outcome !== "due")
      return { ...outcome, issued, unbilledSubscriptions: await countUnbilled(pool, id) };
    if (performance.now() > endMs) {
      throw new Refusal(
        "invalid_state",
        "What fell due before is still being billed: try again once nothing is due.",
      );
    }
  }
}

/**
 * Switches if nothing is due. Jobs under way were decided in the previous mode, so the switch waits
 * for them too. Both checks run under the organisation's lock: no job can start between them and
 * the switch.
 */
async function switchSetupMode(
  tx: Transaction,
  id: string,
  setupMode: boolean,
): Promise<Changed<Pick<SetupModeChange, "organisation" | "changed"> | "due" | null>> {
  const before = await loadLocked(tx, id);
  if (before === null) return changed(null);
  const isOther = before.setupMode !== setupMode;
  if (isOther && (await isAnyDue(tx, id))) return changed("due");
  if (isOther) await requireNothingInTheWay(tx, id);
  const { result, changes } = await updateOrganisation(tx, before, { setupMode });
  return changed({ organisation: result, changed: isOther }, ...changes);
}

// SQL, because the condition is that of the billing run.
async function isAnyDue(tx: Transaction, id: string): Promise<boolean> {
  const { rows } = await tx.query({
    name: "is_any_subscription_due",
    text: `SELECT FROM subscriptions s JOIN organisations o ON o.id = s.organisation_id
      WHERE o.id = $1 AND s.due_at <= coalesce(o.test_clock, clock_timestamp()) AND ${performable}
      LIMIT 1`,
    values: [id],
  });
  return rows.length > 0;
}

async function countUnbilled(pool: Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ readonly count: number }>({
    name: "count_unbilled_subscriptions",
    text: `SELECT count(*)::int AS count
      FROM subscriptions s
        JOIN periods p ON p.organisation_id = s.organisation_id AND p.subscription_id = s.id
          AND p.index = s.current_period
      WHERE s.organisation_id = $1 AND s.status IN ('active', 'pending') AND p.setup_mode`,
    values: [id],
  });
  return rows[0]?.count ?? 0;
}
