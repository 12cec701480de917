/**
 * Loads the state that a subscription's rules need: its periods, live invoices, deferred lines and
 * running job. SQL: one read loads a chunk with its lists and sums.
 */

import { isOver } from "../../domain/billing/due-date.ts";
import { type CivilDate, compareDates, todayIn } from "../../domain/calendar/civil-date.ts";
import type { PlanMeter } from "../../domain/catalogue/meter.ts";
import type { Plan } from "../../domain/catalogue/plan.ts";
import type { BillingState } from "../../domain/model/billing-state.ts";
import type { OrganisationSettings } from "../../domain/model/organisation-settings.ts";
import type { Subscription } from "../../domain/model/subscription.ts";
import { readPlan } from "../catalogue/catalogue.ts";
import { planMetersJson, readPlanMeters } from "../catalogue/meters.ts";
import type { Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { keepsPlace } from "../documents/document-presence.ts";
import { isAltered } from "../documents/ledger-drift.ts";
import { deferredColumns, readState, type StateRow, stateRow } from "./billing-state-row.ts";
import {
  planJson,
  readSubscription,
  subscriptionColumns,
  subscriptionSource,
} from "./subscription-row.ts";
import { loadOpenUsage } from "./unbilled-usage.ts";

// Amounts are text, because a JSON number would become a float. Removed invoices bill nothing.
// Credit that is being allocated counts as allocated: it may be, before anything else reaches the
// ledger. A chunk of subscriptions has few plans.
const readStates = query({
  name: "load_states",
  planned: "once",
  text: sql`
    SELECT
      ${subscriptionColumns}, t.current_period, t.due_at, t.usage_bill, t.usage_billed,
      (
        SELECT c.id
        FROM unit_changes c
        WHERE c.organisation_id = $1 AND c.subscription_id = t.id
        ORDER BY c.seq DESC
        LIMIT 1
      ) AS unit_change_id,
      CASE
        WHEN row_number() OVER (
          PARTITION BY t.plan_id
          ORDER BY t.seq
        ) = 1 THEN ${planJson}
      END AS plan,
      CASE
        WHEN row_number() OVER (
          PARTITION BY t.plan_id
          ORDER BY t.seq
        ) = 1 THEN ${planMetersJson(sql`$1`, sql`t.plan_id`)}
      END AS meters,
      (
        SELECT row_to_json(p)
        FROM periods p
        WHERE p.organisation_id = $1 AND p.subscription_id = t.id AND p.index = t.current_period
      ) AS period,
      (
        SELECT row_to_json(n)
        FROM
          (
            SELECT
              n.*,
              coalesce(
                (
                  SELECT
                    bool_and(
                      EXISTS (
                        SELECT
                        FROM removals r
                        WHERE r.organisation_id = $1 AND r.invoice_id = i.id AND r.state = 'removed'
                      )
                    )
                  FROM invoices i
                  WHERE
                    i.organisation_id = $1
                    AND i.subscription_id = t.id
                    AND i.type = 'renewal'
                    AND i.period_index = n.index
                ),
                false
              ) AS end_removed_renewal
            FROM periods n
            WHERE
              n.organisation_id = $1
              AND n.subscription_id = t.id
              AND n.index = t.current_period + 1
          ) n
      ) AS next_period,
      (
        SELECT json_agg(i)
        FROM
          (
            SELECT
              i.id, i.number, i.type, i.period_index, i.status, i.total::text,
              (
                i.amount_due - (
                  SELECT coalesce(sum(c.amount), 0)
                  FROM ledger_jobs c
                  WHERE
                    c.organisation_id = $1
                    AND c.subscription_id = t.id
                    AND c.invoice_id = i.id
                    AND c.kind = 'allocate_credit'
                    AND c.state IN ('ready', 'sending', 'uncertain')
                )
              )::text AS amount_due,
              i.ledger_invoice_id IS NOT NULL AS in_ledger,
              ${isAltered(sql`i`)} AS is_altered,
              NOT EXISTS (
                SELECT 1
                FROM invoice_lines l
                WHERE
                  l.organisation_id = $1
                  AND l.invoice_id = i.id
                  AND l.kind = 'plan'
                  AND l.ledger_line_id IS NULL
              ) AS is_plan_line_known
            FROM invoices i
            WHERE
              i.organisation_id = $1
              AND i.subscription_id = t.id
              AND i.period_index >= t.current_period
              AND ${keepsPlace(sql`i`)}
            ORDER BY i.seq DESC
          ) i
      ) AS issued,
      (
        SELECT json_agg(d)
        FROM
          (
            SELECT ${deferredColumns}
            FROM deferred_lines d
            WHERE d.organisation_id = $1 AND d.subscription_id = t.id AND d.invoice_id IS NULL
            ORDER BY d.seq
          ) d
      ) AS deferred,
      (
        SELECT row_to_json(r)
        FROM
          (
            SELECT o.id, o.kind, i.number, e.removals, e.removed
            FROM
              ledger_jobs o
              LEFT JOIN invoices i ON i.organisation_id = $1 AND i.id = o.invoice_id
              CROSS JOIN LATERAL (
                SELECT
                  count(*) AS removals,
                  count(*) FILTER (WHERE m.state = 'removed') AS removed
                FROM removals m
                WHERE m.organisation_id = $1 AND m.termination_id = o.id
              ) e
            WHERE
              o.organisation_id = $1
              AND o.subscription_id = t.id
              AND o.kind IN ('amend_invoice', 'end_subscription')
              AND o.state IN ('ready', 'sending', 'uncertain')
            LIMIT 1
          ) r
      ) AS running
    FROM ${subscriptionSource}
    WHERE t.organisation_id = $1 AND t.id = ANY ($2::uuid[])
    ORDER BY t.seq
  `,
  row: stateRow,
});

/**
 * Which usage is loaded: that of bills that are `due`, also all of a subscription that runs, or
 * `all`.
 */
export type LoadedUsage = "due" | "of_running" | "all";

/**
 * Which subscriptions to load. `now` is the organisation's. `isSnapshot`: nothing is locked, and
 * nothing will be written.
 */
interface StateQuery {
  readonly ids: readonly string[];
  readonly now: Date;
  readonly usage?: LoadedUsage;
  readonly isSnapshot?: boolean;
}

/**
 * Loads the states of these subscriptions, oldest first. Their rows are locked, and unknown ids are
 * left out. If a usage bill is due, its usage is loaded and locked.
 */
export async function loadStates(
  client: Transaction,
  organisation: OrganisationSettings,
  { ids, now, usage = "due", isSnapshot = false }: StateQuery,
): Promise<readonly BillingState[]> {
  const rows = await readStates(client, organisation.id, ids);
  const plans = new Map<string, Catalogued>();
  const todays = new Map<string, CivilDate>();
  const loaded = rows.map((row) => {
    const { unitChangeId } = row;
    const subscription = {
      ...readSubscription(row),
      ...(unitChangeId !== null && { unitChangeId }),
    };
    const { timezone, planId } = subscription;
    const catalogued = plans.get(planId) ?? readCatalogued(row);
    const today = todays.get(timezone) ?? todayIn(timezone, now);
    plans.set(planId, catalogued);
    todays.set(timezone, today);
    const isNeeded =
      usage === "all" ||
      (usage === "of_running" && !isOver(subscription)) ||
      isUsageDue(row, subscription, { today, now });
    return { row, subscription, ...catalogued, today, isNeeded };
  });
  const metered = loaded.filter(({ meters, isNeeded }) => isNeeded && meters.length > 0);
  const open = await loadOpenUsage(client, organisation.id, metered, isSnapshot);
  return loaded.map(({ row, subscription, plan, meters, today }) => {
    const state = readState(row, { organisation, subscription, plan, today });
    const openUsage = open.get(subscription.id) ?? (meters.length === 0 ? [] : null);
    return { ...state, usage: openUsage };
  });
}

interface Catalogued {
  readonly plan: Plan;
  readonly meters: readonly PlanMeter[];
}

function readCatalogued(row: StateRow): Catalogued {
  if (row.plan === null) throw new Error(`subscription ${row.id} has no plan`);
  return { plan: readPlan(row.plan), meters: readPlanMeters(row.meters) };
}

/**
 * A usage bill ends with each period and with an end. A finished subscription has one more for late
 * usage (USAGE-9, USAGE-10).
 */
function isUsageDue(
  row: StateRow,
  { status, renewalDate }: Subscription,
  { today, now }: { readonly today: CivilDate; readonly now: Date },
): boolean {
  if (isOver({ status })) return row.dueAt !== null && row.dueAt <= now;
  return compareDates(renewalDate, today) <= 0;
}
