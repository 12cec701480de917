/**
 * What an organisation's subscriptions come to, and which renew when. SQL: they are grouped by what
 * prices them, and the domain prices each group once. Each statement reads a bounded number of
 * rows.
 */
import { isOver, willRenew } from "../../domain/billing/due-date.ts";
import { type CivilDate, civilDate } from "../../domain/calendar/civil-date.ts";
import type { Plan } from "../../domain/catalogue/plan.ts";
import { lineAmount } from "../../domain/catalogue/pricing/index.ts";
import type { SubscriptionStatus } from "../../domain/model/subscription.ts";
import {
  add,
  type Decimal,
  decimalOf,
  formatDecimal,
  multiply,
  parseDecimal,
  roundQuotient,
  ZERO,
} from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { planColumns, planRow, readDecimal, readPlan } from "../catalogue/catalogue.ts";
import type { Pool } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { bigint, columnOf, int, orNulls, pick, type RowOf } from "../database/sql/columns.ts";
import { identifier, joinSql, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import type { SubscriptionFigures } from "./figures.ts";
import type { RenewalSums } from "./renewal-sums.ts";

/** The subscriptions that a statement reads. */
const chunkSize = 2_000;

const { subscription } = columns;

/** What prices and renews a subscription. */
const terms = pick(
  subscription,
  "planId",
  "intervalCount",
  "units",
  "discountPercent",
  "priceOverride",
  "renewalDate",
  "cancelAtPeriodEnd",
);

// Those that are over come to nothing, and are one group a day of their end.
const whileOpen = joinSql(
  Object.keys(terms).map((member) => {
    const column = identifier(columnOf(member));
    return sql`CASE WHEN is_open THEN ${column} END AS ${column}`;
  }),
  ", ",
);

const groupRow = {
  /** The position of the chunk's last subscription. Null behind the end. */
  last: bigint.orNull(),
  status: subscription.status.as<SubscriptionStatus>().orNull(),
  endDate: subscription.endDate,
  ...orNulls(terms),
  count: int.orNull(),
  started: int.orNull(),
};

const readGroups = query({
  name: "overview_subscriptions",
  planned: "each time",
  text: sql`
    WITH
      chunk AS MATERIALIZED (
        SELECT s.*, s.status IN ('pending', 'active') AS is_open
        FROM subscriptions s
        WHERE s.organisation_id = $1 AND s.seq > $2
        ORDER BY s.organisation_id, s.seq
        LIMIT ${chunkSize}
      )
    SELECT l.last, g.*
    FROM
      (SELECT max(seq) AS last FROM chunk) l
      LEFT JOIN (
        SELECT
          status, end_date, ${whileOpen},
          count(*)::int AS count,
          (count(*) FILTER (WHERE start_date > $3 AND status <> 'pending'))::int AS started
        FROM chunk
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
      ) g
        ON true
  `,
  row: groupRow,
});

const readPlans = query({
  name: "overview_plans",
  text: sql`SELECT ${planColumns} FROM plans t WHERE t.organisation_id = $1`,
  row: planRow,
});

/** The days before and behind today that count. */
export interface FigureDays {
  readonly from: CivilDate;
  readonly until: CivilDate;
}

/** Reckons them, and adds the renewals and ends between the two days. */
export async function reckonSubscriptions(
  pool: Pool,
  organisationId: string,
  { from, until }: FigureDays,
  renewals: RenewalSums,
): Promise<SubscriptionFigures> {
  const plans = (await readPlans(pool, organisationId)).map(readPlan);
  const price = pricing(new Map(plans.map((plan) => [plan.id, plan])));
  const sums = new Map<string, { months: number; currency: string; value: Decimal }>();
  const subscriptions = new Map<string, number>();
  const statuses: Partial<Record<SubscriptionStatus, number>> = {};
  let [started, ended] = [0, 0];
  const take = (group: Group): void => {
    const { status, count } = group;
    statuses[status] = (statuses[status] ?? 0) + count;
    started += group.started;
    if (group.endDate !== null && group.endDate > from && isOver(group)) ended += count;
    const priced = status === "active" ? price(group) : null;
    if (priced === null) return;
    const { currency, months, date, isRenewing } = priced;
    const value = multiply(priced.value, decimalOf(count));
    if (date >= from && date <= until)
      renewals.add(date, isRenewing ? "due" : "ending", { count, currency, value });
    if (!isRenewing) return;
    const key = `${currency} ${months}`;
    sums.set(key, { months, currency, value: add(sums.get(key)?.value ?? ZERO, value) });
    subscriptions.set(currency, (subscriptions.get(currency) ?? 0) + count);
  };
  for (let after: string | null = "0"; after !== null; ) {
    const rows = await readGroups(pool, organisationId, after, from);
    for (const row of rows) if (isGroup(row)) take(row);
    after = rows[0]?.last ?? null;
  }
  const parked = await db(pool).subscription.count({
    where: { organisationId, parkedUntil: { not: null } },
  });
  const recurring = [...subscriptions].sort().map(([currency, count]) => {
    const ofCurrency = [...sums.values()].filter((one) => one.currency === currency);
    const months = ofCurrency.map(({ value, months }) =>
      roundQuotient(value, decimalOf(months), 4),
    );
    return { currency, perMonth: formatDecimal(months.reduce(add, ZERO)), subscriptions: count };
  });
  return { recurring, statuses, started, ended, parked };
}

type Row = RowOf<typeof groupRow>;
interface Group extends Row {
  readonly status: SubscriptionStatus;
  readonly count: number;
  readonly started: number;
}

/** Behind the end there is no group. */
function isGroup(row: Row): row is Group {
  return row.status !== null;
}

/** Returns what prices a group. Equal terms are priced once. */
function pricing(plans: ReadonlyMap<string, Plan>) {
  const values = new Map<string, Decimal>();
  return (group: Group) => {
    const { planId, units, discountPercent, priceOverride, renewalDate, intervalCount } = group;
    const plan = plans.get(planId ?? "");
    if (plan === undefined || renewalDate === null || units === null) return null;
    const date = civilDate(renewalDate);
    const endDate = group.endDate === null ? null : civilDate(group.endDate);
    const cancelAtPeriodEnd = group.cancelAtPeriodEnd === true;
    const renewing = { status: "active", renewalDate: date, endDate, cancelAtPeriodEnd } as const;
    const key = [planId, units, discountPercent, priceOverride].join(" ");
    let value = values.get(key);
    if (value === undefined) {
      const terms = { units, priceOverride: readDecimal(priceOverride) };
      const discount = parseDecimal(discountPercent ?? "0");
      value = lineAmount(plan, { ...terms, discountPercent: discount });
      values.set(key, value);
    }
    const isRenewing = willRenew(renewing);
    return { value, currency: plan.currency, months: intervalCount ?? 1, date, isRenewing };
  };
}
