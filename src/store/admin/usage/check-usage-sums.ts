/**
 * Compares the sums of usage with their events. All reads belong to one snapshot, so that usage
 * which is stored meanwhile is in both or in none. SQL, because it sums.
 */
import { add, type Decimal, equals, parseDecimal, ZERO } from "../../../domain/money/decimal.ts";
import { columns } from "../../../gen/columns.ts";
import { inSnapshot, type Pool, type Transaction } from "../../database/pool.ts";
import { readByIndex } from "../../database/read-by-index.ts";
import { bool, pick, type RowOf, text } from "../../database/sql/columns.ts";
import { identifier, type Sql, sql } from "../../database/sql/sql.ts";
import { declare, query, undeclaredQuery } from "../../database/sql/statement.ts";

/** How many events, and the sum of their quantities. */
interface Counted {
  readonly events: bigint;
  readonly quantity: Decimal;
}

/**
 * A sum that differs from its events, `stored` and `dropped` together. Absent ones count as zero.
 */
export interface SumDifference {
  readonly subscriptionId: string;
  readonly bill: number;
  readonly periodIndex: number;
  readonly meterId: string;
  readonly stored: Counted;
  readonly dropped: Counted;
  readonly summed: Counted;
}

/** Subscriptions of one call, with so many events, or one subscription with more. */
const maxSubscriptions = 100;
const maxEvents = 1_000_000;

const readPage = query({
  name: "page_of_usage_sums",
  planned: "each time",
  text: sql`
    SELECT id, is_summed
    FROM
      (
        SELECT
          s.id,
          NOT EXISTS (SELECT FROM unsummed_usage q WHERE q.subscription_id = s.id) AS is_summed,
          sum(u.events) OVER (ORDER BY s.id) - u.events AS before
        FROM
          (
            SELECT id
            FROM subscriptions
            WHERE organisation_id = $1 AND ($2::uuid IS NULL OR id > $2)
            ORDER BY id
            LIMIT $3
          ) s
          CROSS JOIN LATERAL (
            SELECT coalesce(sum(events), 0) AS events
            FROM usage_sums
            WHERE subscription_id = s.id
          ) u
      ) p
    WHERE before < $4
    ORDER BY id
  `,
  row: { id: columns.subscription.id, isSummed: bool },
});

const sumRow = pick(
  columns.usageSum,
  "subscriptionId",
  "bill",
  "periodIndex",
  "meterId",
  "events",
  "quantity",
);

type SumRow = RowOf<typeof sumRow>;

// What was dropped after an export is counted apart: only its sum is left.
const readSums = query({
  name: "read_usage_sums",
  planned: "each time",
  text: sql`
    SELECT
      subscription_id, bill, period_index, meter_id, events, quantity, dropped_events,
      dropped_quantity
    FROM usage_sums
    WHERE subscription_id = ANY ($1::uuid[]) AND organisation_id = $2
  `,
  row: { ...sumRow, ...pick(columns.usageSum, "droppedEvents", "droppedQuantity") },
});

const listPartitions = query({
  name: "partitions_of_usage_events",
  text: sql`
    SELECT p.relname::text AS name
    FROM
      pg_inherits i
      JOIN pg_class p ON p.oid = i.inhrelid
    WHERE i.inhparent = 'usage_events'::regclass
  `,
  row: { name: text },
});

/** Sums the events of a table: of all of them, or of a partition. */
const summing = (events: Sql) => ({
  name: "sum_usage_events",
  planned: "each time" as const,
  text: sql`
    SELECT
      subscription_id, bill, period_index, meter_id,
      count(*) AS events,
      sum(quantity) AS quantity
    FROM ${events}
    WHERE subscription_id = ANY ($1::uuid[]) AND voided_at IS NULL
    GROUP BY subscription_id, bill, period_index, meter_id
  `,
  row: sumRow,
});

declare(summing(sql`usage_events`));

/**
 * Checks the sums of some subscriptions of an organisation, after this one. `next`: the last of
 * them, null after the last.
 */
export function checkUsageSums(pool: Pool, organisationId: string, after: string | null) {
  return inSnapshot(pool, async (client) => {
    const rows = await readPage(client, organisationId, after, maxSubscriptions, maxEvents);
    const ids = rows.filter(({ isSummed }) => isSummed).map(({ id }) => id);
    const differences = await differencesOf(client, organisationId, ids);
    return { differences, read: ids.length, next: rows.at(-1)?.id ?? null };
  });
}

async function differencesOf(
  client: Transaction,
  organisationId: string,
  ids: readonly string[],
): Promise<readonly SumDifference[]> {
  const compared = new Map<string, SumDifference>();
  const none: Counted = { events: 0n, quantity: ZERO };
  type Kind = "stored" | "dropped" | "summed";
  const count = (kind: Kind, rows: readonly SumRow[]) => {
    for (const { events, quantity, ...place } of rows) {
      const name = Object.values(place).join(" ");
      const before = compared.get(name) ?? { ...place, stored: none, dropped: none, summed: none };
      const counted = {
        events: before[kind].events + BigInt(events),
        quantity: add(before[kind].quantity, parseDecimal(quantity)),
      };
      compared.set(name, { ...before, [kind]: counted });
    }
  };
  await readByIndex(client);
  const sums = await readSums(client, ids, organisationId);
  for (const { droppedEvents, droppedQuantity, ...row } of sums) {
    count("summed", [row]);
    count("dropped", [{ ...row, events: droppedEvents, quantity: droppedQuantity }]);
  }
  // A statement for each partition, so that none reads all events of a large subscription.
  for (const { name } of await listPartitions(client))
    count("stored", await undeclaredQuery(summing(identifier(name)))(client, ids));
  return [...compared.values()].filter(
    ({ stored, dropped, summed }) =>
      stored.events + dropped.events !== summed.events ||
      !equals(add(stored.quantity, dropped.quantity), summed.quantity),
  );
}
