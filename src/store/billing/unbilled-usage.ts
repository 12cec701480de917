/**
 * Loads the sums of usage that is not on a bill yet, by bill, period and meter. Closing a bill
 * prices these sums. SQL, because it joins what earlier bills have priced.
 */

import { periodAt } from "../../domain/calendar/period.ts";
import type { PricedMeter } from "../../domain/catalogue/meter.ts";
import type { Subscription } from "../../domain/model/subscription.ts";
import type { OpenUsage } from "../../domain/model/usage.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import type { Transaction } from "../database/pool.ts";
import { readByIndex } from "../database/read-by-index.ts";
import { numeric, pick, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { lockToBill } from "./usage-locks.ts";
import { openUsage } from "./usage-sums.ts";

/** A subscription whose usage is to be billed, with the meters of its plan. */
interface MeteredSubscription {
  readonly subscription: Subscription;
  readonly meters: readonly PricedMeter[];
}

const openRow = {
  ...pick(columns.usageSum, "subscriptionId", "bill", "periodIndex", "meterId"),
  ...pick(columns.usageSum, "events", "quantity"),
  before: numeric,
  priced: numeric,
  setupMode: columns.period.setupMode,
};

type OpenRow = RowOf<typeof openRow>;

const readOpenUsage = query({
  name: "load_open_usage",
  text: sql`
SELECT s.id AS subscription_id, e.bill, e.period_index, e.meter_id, e.events, e.quantity,
  coalesce(b.quantity, 0) AS before,
  coalesce(b.priced, 0) AS priced, coalesce(p.setup_mode, false) AS setup_mode
FROM subscriptions s
  CROSS JOIN LATERAL ${openUsage} e
  CROSS JOIN LATERAL (SELECT sum(t.quantity) AS quantity,
    (array_agg(t.priced ORDER BY t.bill DESC))[1] AS priced FROM usage_bills t
    WHERE t.organisation_id = $1 AND t.subscription_id = s.id AND t.period_index = e.period_index
      AND t.meter_id = e.meter_id) b
  LEFT JOIN periods p ON p.organisation_id = $1 AND p.subscription_id = s.id
    AND p.index = e.period_index
WHERE s.organisation_id = $1 AND s.id = ANY ($2::uuid[])
ORDER BY s.id, e.bill, e.period_index`,
  row: openRow,
});

/**
 * Blocks storing usage of these subscriptions until the transaction ends, and loads the unbilled
 * usage. Their rows must be locked. A snapshot takes no lock. Each subscription's sums come oldest
 * first, the meters of one period in the plan's order.
 */
export async function loadOpenUsage(
  client: Transaction,
  organisationId: string,
  metered: readonly MeteredSubscription[],
  isSnapshot = false,
): Promise<ReadonlyMap<string, readonly OpenUsage[]>> {
  const bySubscription = new Map(metered.map((one) => [one.subscription.id, one]));
  const usage = new Map(metered.map(({ subscription }) => [subscription.id, [] as OpenUsage[]]));
  if (metered.length === 0) return usage;
  const ids = [...usage.keys()];
  await (isSnapshot ? readByIndex(client) : lockToBill(client, ids));
  for (const row of await readOpenUsage(client, organisationId, ids)) {
    const one = bySubscription.get(row.subscriptionId);
    const meter = one?.meters.find(({ id }) => id === row.meterId);
    if (one === undefined || meter === undefined)
      throw new Error(`usage of meter ${row.meterId} has no price`);
    usage.get(row.subscriptionId)?.push(readOpen(row, one.subscription, meter));
  }
  for (const { subscription, meters } of metered) {
    const place = new Map(meters.map(({ id }, index) => [id, index]));
    const placeOf = ({ meter }: OpenUsage) => place.get(meter.id) ?? 0;
    usage
      .get(subscription.id)
      ?.sort(
        (a, b) => a.bill - b.bill || a.period.index - b.period.index || placeOf(a) - placeOf(b),
      );
  }
  return usage;
}

function readOpen(
  row: OpenRow,
  { startDate, billingDay, interval }: Subscription,
  meter: PricedMeter,
): OpenUsage {
  return {
    bill: row.bill,
    period: periodAt({ start: startDate, billingDay }, interval, row.periodIndex),
    setupMode: row.setupMode,
    meter,
    events: BigInt(row.events),
    quantity: parseDecimal(row.quantity),
    before: parseDecimal(row.before),
    priced: parseDecimal(row.priced),
  };
}
