/**
 * Finds the work that blocks a switch of Setup Mode: work that was decided in the current mode and
 * is not done yet. SQL, because several kinds of work are counted and listed together. SETUP-4.
 */
import { Refusal } from "../../domain/refusal.ts";
import type { Transaction } from "../database/pool.ts";

/** As many as a person can handle at once. SETUP-4. */
const namedAtMost = 10;

interface Obstacle {
  readonly kind: keyof typeof introductions;
  readonly name: string;
  readonly total: number;
}

/** The text before the names of each kind, in the order in which the kinds are listed. */
const introductions = {
  parked: "Due, and parked",
  ended: "Being ended",
  amended: "Being amended in the ledger",
  restored: "Being restored, with documents that the ledger does not have yet",
} as const;

/**
 * Refuses `invalid_state`, with up to ten subscriptions and invoices, while any work blocks the
 * switch. The caller has locked the organisation. Every transaction that starts such work, or parks
 * a subscription, shares that lock and waits.
 */
export async function requireNothingInTheWay(
  tx: Transaction,
  organisationId: string,
): Promise<void> {
  const { rows: obstacles } = await tx.query<Obstacle>({
    text: obstaclesText,
    values: [organisationId, namedAtMost],
  });
  const [first] = obstacles;
  if (first === undefined) return;
  const kinds = Object.keys(introductions) as Obstacle["kind"][];
  const named = kinds.flatMap((kind) => {
    const names = obstacles.filter((one) => one.kind === kind).map(({ name }) => name);
    return names.length === 0 ? [] : [`${introductions[kind]}: ${names.join(", ")}.`];
  });
  const unnamed = first.total - obstacles.length;
  const rest = unnamed === 0 ? [] : [`${unnamed} more of ${first.total}.`];
  const message = ["Setup Mode cannot be switched before this is done.", ...named, ...rest].join(
    " ",
  );
  const isParked = obstacles.some(({ kind }) => kind === "parked");
  const advice = isParked
    ? "Retry what is parked, and try again then."
    : "Try again once it is done.";
  throw new Refusal("invalid_state", `${message} ${advice}`);
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
