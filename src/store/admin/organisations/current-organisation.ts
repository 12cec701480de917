/**
 * Runs work on a locked organisation, after billing everything that is due for it if the work needs
 * that. SQL, because the condition of what is due is that of the billing run. SETUP-4.
 */

import { Refusal } from "../../../domain/refusal.ts";
import { columns } from "../../../gen/columns.ts";
import type { Organisation } from "../../../gen/prisma/client.ts";
import { performDue } from "../../billing/catch-up.ts";
import { performable } from "../../billing/due-organisations.ts";
import { isId } from "../../database/ids.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { int, pick } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { type Changed, changed } from "../changes.ts";
import { loadLocked } from "./update-organisation.ts";

/** When billing comes before the work, and what posts its documents. */
export interface BillingFirst {
  /** Whether what is due is billed before the work. Decided on the locked organisation. */
  readonly isNeeded: (organisation: Organisation) => boolean;
  /** Called after documents were issued. They stay and must be posted, whatever follows. */
  readonly onIssued: () => Promise<unknown>;
}

/** The transactions in which the work runs, and how the billing before it runs. */
export interface CurrentOrganisationParts {
  /** Runs one transaction and logs its changes in it. */
  readonly run: <T>(write: (tx: Transaction) => Promise<Changed<T>>) => Promise<T>;
  /** The billing runs in separate transactions over this pool. */
  readonly pool: Pool;
  /** Time limit of the billing in milliseconds. */
  readonly performMs: number;
}

type Step<T> = { readonly kind: "due" } | { readonly kind: "done"; readonly result: T };

/**
 * Locks the organisation and runs `work` on it, or on null if it does not exist. If the work needs
 * it, bills what is due first, in separate transactions until nothing is due. Refuses
 * `invalid_state` if the time limit passes first. What was billed stays billed.
 */
export async function onCurrentOrganisation<T>(
  { run, pool, performMs }: CurrentOrganisationParts,
  id: string,
  { isNeeded, onIssued }: BillingFirst,
  work: (tx: Transaction, organisation: Organisation | null) => Promise<Changed<T>>,
): Promise<T> {
  const endMs = performance.now() + performMs;
  for (;;) {
    const step = await run<Step<T>>(async (tx) => {
      const organisation = isId(id) ? await loadLocked(tx, id) : null;
      if (organisation !== null && isNeeded(organisation) && (await isAnyDue(tx, id)))
        return changed({ kind: "due" });
      const { result, changes } = await work(tx, organisation);
      return changed({ kind: "done", result }, ...changes);
    });
    if (step.kind === "done") return step.result;
    if (performance.now() > endMs) {
      throw new Refusal(
        "invalid_state",
        "What fell due before is still being billed: try again once nothing is due.",
      );
    }
    if ((await performDue(pool, id, endMs)) > 0) await onIssued();
  }
}

const findDue = query({
  name: "is_any_subscription_due",
  text: sql`
    SELECT s.id
    FROM
      subscriptions s
      JOIN organisations o ON o.id = s.organisation_id
    WHERE o.id = $1 AND s.due_at <= coalesce(o.test_clock, clock_timestamp()) AND ${performable}
    LIMIT 1
  `,
  row: pick(columns.subscription, "id"),
});

async function isAnyDue(tx: Transaction, id: string): Promise<boolean> {
  return (await findDue(tx, id)).length > 0;
}

const countPeriods = query({
  name: "count_unbilled_subscriptions",
  text: sql`
    SELECT count(*)::int AS count
    FROM
      subscriptions s
      JOIN periods p
        ON p.organisation_id = s.organisation_id
        AND p.subscription_id = s.id
        AND p.index = s.current_period
    WHERE s.organisation_id = $1 AND s.status IN ('active', 'pending') AND p.setup_mode
  `,
  row: { count: int },
});

/**
 * Counts active subscriptions whose current period began in Setup Mode. That period is never
 * billed. SETUP-3.
 */
export async function countUnbilled(pool: Pool, id: string): Promise<number> {
  const [row] = await countPeriods(pool, id);
  return row?.count ?? 0;
}
