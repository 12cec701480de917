/**
 * Positions in the lists of a subscription's usage. SQL, because one read finds the terms, the
 * meter on the plan and the organisation's clock.
 */
import { civilDate } from "../../domain/calendar/civil-date.ts";
import type { Interval } from "../../domain/calendar/period.ts";
import { unknownPosition } from "../../domain/refusal.ts";
import { latestPeriod } from "../../domain/usage/ingest.ts";
import { columns } from "../../gen/columns.ts";
import type { Executor } from "../database/prisma/client.ts";
import { bool, instant, pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";

const findPosition = query({
  name: "find_usage_position",
  text: sql`
    SELECT
      s.timezone, s.start_date, s.billing_day, s.interval_unit, s.interval_count,
      coalesce(o.test_clock, now()) AS now,
      EXISTS (
        SELECT
        FROM plan_meters p
        WHERE p.organisation_id = $1 AND p.plan_id = s.plan_id AND p.meter_id = $3
      ) AS is_of_plan
    FROM
      subscriptions s
      JOIN organisations o ON o.id = s.organisation_id
    WHERE s.organisation_id = $1 AND s.id = $2
  `,
  row: {
    ...pick(columns.subscription, "timezone", "startDate", "billingDay", "intervalCount"),
    intervalUnit: columns.subscription.intervalUnit.as<Interval["unit"]>(),
    now: instant,
    isOfPlan: bool,
  },
});

/**
 * Refuses `invalid_parameter`, param `starting_after`, for a position where usage can never stand:
 * of a meter that is not on the plan, or of a period that has not begun. Anything else is a
 * position, also if nothing stands there any more: voided usage leaves the list (OBJECT-3).
 */
export async function requireUsagePosition(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
  { periodIndex, meterId }: { readonly periodIndex: number; readonly meterId: string },
): Promise<void> {
  const [row] = await findPosition(executor, organisationId, subscriptionId, meterId);
  if (row?.isOfPlan === true) {
    const { now, startDate, intervalUnit: unit, intervalCount: count, ...terms } = row;
    const periods = { ...terms, startDate: civilDate(startDate), interval: { unit, count } };
    if (periodIndex <= latestPeriod(periods, now)) return;
  }
  throw unknownPosition();
}
