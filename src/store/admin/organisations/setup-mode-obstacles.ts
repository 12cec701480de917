/**
 * Finds the work that blocks a switch of Setup Mode: work that was decided in the current mode and
 * is not done yet. SQL, because several kinds of work are counted and listed together. SETUP-4.
 */
import type { SwitchObstacle, SwitchObstacles } from "../../../domain/billing/setup-mode.ts";
import type { Transaction } from "../../database/pool.ts";

/** As many as a person can handle at once. SETUP-4. */
const namedAtMost = 10;

/**
 * Returns up to ten obstacles, and the number of all. The caller has locked the organisation. Every
 * transaction that starts such work, or parks a subscription, shares that lock and waits.
 */
export async function loadObstacles(
  tx: Transaction,
  organisationId: string,
): Promise<SwitchObstacles> {
  const { rows } = await tx.query<SwitchObstacle & { readonly total: number }>({
    text: obstaclesText,
    values: [organisationId, namedAtMost],
  });
  return { named: rows, total: rows[0]?.total ?? 0 };
}

const obstaclesText = `SELECT kind, name, (count(*) OVER ())::int AS total FROM (
    SELECT 'parked' AS kind, 'subscription ' || s.id AS name
    FROM subscriptions s JOIN organisations o ON o.id = s.organisation_id
    WHERE o.id = $1 AND s.due_at <= coalesce(o.test_clock, clock_timestamp())
      AND s.parked_until > now()
    UNION
    SELECT
      CASE o.kind WHEN 'end_subscription' THEN 'ended' WHEN 'amend_invoice' THEN 'amended'
        ELSE 'restored' END,
      CASE o.kind WHEN 'amend_invoice' THEN 'invoice ' || i.number
        ELSE 'subscription ' || o.subscription_id END
    FROM ledger_jobs o
      LEFT JOIN invoices i ON i.organisation_id = o.organisation_id AND i.id = o.invoice_id
    WHERE o.organisation_id = $1 AND o.state IN ('ready', 'sending', 'uncertain')
      AND (o.kind IN ('end_subscription', 'amend_invoice') OR EXISTS (
        SELECT 1 FROM restorations r WHERE r.organisation_id = o.organisation_id
          AND r.subscription_id = o.subscription_id AND o.id = ANY (r.job_ids)))
  ) obstacles
  ORDER BY kind, name LIMIT $2`;
