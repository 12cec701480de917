/**
 * A subscription's usage by period, meter and bill, with the documents that bill it. Also lists its
 * events. Sums and lists with their documents are SQL. USAGE-13.
 */

import { parseDecimal } from "../../../domain/money/decimal.ts";
import { columns } from "../../../gen/columns.ts";
import { openUsage } from "../../billing/usage-sums.ts";
import { readDecimal } from "../../catalogue/catalogue.ts";
import { binding } from "../../database/bind.ts";
import type { PageRequest } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { bool, pick, type RowOf, text } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { hasSubscription } from "../../subscriptions/subscriptions.ts";
import { wasDropped } from "../../usage/event-rows.ts";
import { requireUsagePosition } from "../../usage/read-usage.ts";
import { type EventFilters, getUsageEvent, listUsageEvents } from "../../usage/usage-events.ts";
import { readUsagePlace, usagePlaceColumns, usagePlaceRow } from "../../usage/usage-rows.ts";
import { checkUsageSums } from "./check-usage-sums.ts";
import { exportUsage } from "./drop-usage.ts";
import { previewVoid } from "./void-usage.ts";

/**
 * The billing state of usage. `open`: its bill takes events. `waiting`: its bill is closed and not
 * created yet. `billed`: its bill exists on a document. `not_billed`: its bill exists on no
 * document.
 */
type UsageState = "open" | "waiting" | "billed" | "not_billed";

/**
 * Usage of one meter in one period, as far as one bill takes it. `amount` is null until that bill
 * exists. `late`: an earlier bill takes usage of the same period.
 */
export type UsageOfPeriod = ReturnType<typeof readUsage>;

/** A position in the list. */
export interface UsagePosition {
  readonly periodIndex: number;
  readonly bill: number;
  readonly meterId: string;
}

/** Selects usage: of one meter or of all, after a position. */
interface UsageQuery {
  readonly meterId: string | null;
  readonly limit: number;
  readonly after: UsagePosition | null;
}

/** Creates the usage store over a pool. Null stands for no such subscription or event. */
export function createUsageStore(pool: Pool) {
  const bound = binding(pool);
  return {
    /** Newest period first. Refuses `invalid_parameter`, param `starting_after`. */
    list: async (organisationId: string, subscriptionId: string, query: UsageQuery) => {
      if (!(await hasSubscription(pool, organisationId, subscriptionId))) return null;
      const { after } = query;
      if (after !== null) await requireUsagePosition(pool, organisationId, subscriptionId, after);
      return listUsage(pool, organisationId, subscriptionId, query);
    },
    /** Lists events that are not voided. Refuses `invalid_parameter`, param `starting_after`. */
    listEvents: async (
      organisationId: string,
      subscriptionId: string,
      filters: EventFilters,
      page: PageRequest,
    ) =>
      (await hasSubscription(pool, organisationId, subscriptionId))
        ? listUsageEvents(pool, organisationId, subscriptionId, filters, page)
        : null,
    getEvent: bound(getUsageEvent),
    /** Compares the sums of some subscriptions with their events, after this subscription. */
    checkSums: bound(checkUsageSums),
    /** Exports events before an instant that a bill has taken, a page after this id. */
    export: bound(exportUsage),
    /** What a void would change. Null if there is no such event. Refuses `invalid_state`. */
    previewVoid: bound(previewVoid),
    /** Whether an event with this id was dropped. */
    wasDropped: bound(wasDropped),
  };
}

const usageRow = {
  ...usagePlaceRow,
  ...pick(columns.usageBill, "events", "quantity"),
  state: text.as<UsageState>(),
  late: bool,
  amount: columns.usageBill.amount.orNull(),
  currency: columns.subscription.currency,
};

// One statement reads one moment, so usage that a bill takes meanwhile is in one part and never in
// both. Open usage is read whole, as billing reads it. Of billed usage only a page is read. It is
// planned for its subscription.
const readPage = query({
  name: "list_usage",
  planned: "each time",
  text: sql`
WITH open AS (
  SELECT e.*, e.bill > min(e.bill) OVER (PARTITION BY e.period_index) AS late,
    CASE WHEN e.bill < s.usage_bill OR s.status IN ('ended', 'complete') THEN 'waiting'
      ELSE 'open' END AS state
  FROM subscriptions s CROSS JOIN LATERAL ${openUsage} e
  WHERE s.organisation_id = $1 AND s.id = $2 AND e.period_index <= $4
), billed AS (
  SELECT b.*, CASE WHEN num_nonnulls(b.invoice_id, b.credit_note_id) = 0 THEN 'not_billed'
    ELSE 'billed' END AS state
  FROM usage_bills b
  WHERE b.organisation_id = $1 AND b.subscription_id = $2
    AND (b.period_index, b.meter_id, b.bill) < ($4, $5, $6)
    AND ($3::uuid IS NULL OR b.meter_id = $3)
  ORDER BY b.period_index DESC, b.meter_id DESC, b.bill DESC LIMIT $7
), listed AS (
  SELECT period_index, meter_id, bill, state, events, quantity, late, NULL AS amount,
    NULL AS invoice_id, NULL AS credit_note_id FROM open
  UNION ALL
  SELECT period_index, meter_id, bill, state, events, quantity, false, amount, invoice_id,
    credit_note_id FROM billed
)
SELECT t.state, t.events, t.quantity, t.amount, s.currency, ${usagePlaceColumns},
  t.late OR EXISTS (SELECT 1 FROM usage_bills e
    WHERE e.organisation_id = $1 AND e.subscription_id = $2
    AND e.period_index = t.period_index AND e.bill < t.bill) AS late
FROM listed t
  JOIN subscriptions s ON s.organisation_id = $1 AND s.id = $2
  JOIN meters m ON m.organisation_id = $1 AND m.id = t.meter_id
  LEFT JOIN invoices i ON i.organisation_id = $1 AND i.id = t.invoice_id
  LEFT JOIN credit_notes n ON n.organisation_id = $1 AND n.id = t.credit_note_id
WHERE (t.period_index, t.meter_id, t.bill) < ($4, $5, $6) AND ($3::uuid IS NULL OR t.meter_id = $3)
ORDER BY t.period_index DESC, t.meter_id DESC, t.bill DESC LIMIT $7`,
  row: usageRow,
});

/** The position before every row. No period has so high a number. */
const top: UsagePosition = {
  periodIndex: 2 ** 31 - 1,
  bill: 0,
  meterId: "00000000-0000-0000-0000-000000000000",
};

async function listUsage(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  { meterId, limit, after }: UsageQuery,
) {
  const position = after ?? top;
  const rows = await readPage(
    pool,
    organisationId,
    subscriptionId,
    meterId,
    position.periodIndex,
    position.meterId,
    position.bill,
    limit + 1,
  );
  return { data: rows.slice(0, limit).map(readUsage), hasMore: rows.length > limit };
}

function readUsage(row: RowOf<typeof usageRow>) {
  return {
    ...readUsagePlace(row),
    state: row.state,
    events: BigInt(row.events),
    quantity: parseDecimal(row.quantity),
    late: row.late,
    amount: readDecimal(row.amount),
    currency: row.currency,
  };
}
