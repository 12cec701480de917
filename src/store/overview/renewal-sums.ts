/** Sums renewals by day, and reads the renewal invoices of the last days. */
import type { CivilDate } from "../../domain/calendar/civil-date.ts";
import { add, type Decimal, formatDecimal, parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { bigint, bool, day, instant, int, numeric } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { renews } from "../documents/document-presence.ts";
import type { RenewalDay, RenewalFigures } from "./figures.ts";

/** What became of a renewal. */
type Part = "due" | "billed" | "failed" | "ending";

/** Renewals of a day in a currency. */
interface Renewals {
  readonly count: number;
  readonly currency: string;
  readonly value: Decimal;
}

/** Sums of renewals by day. */
export type RenewalSums = ReturnType<typeof createRenewalSums>;

/** Creates sums of nothing. */
export function createRenewalSums() {
  const days = new Map<string, Record<Part, Map<string, Renewals>>>();
  return {
    add: (date: string, part: Part, renewals: Renewals): void => {
      const none = { due: new Map(), billed: new Map(), failed: new Map(), ending: new Map() };
      const parts = days.get(date) ?? none;
      days.set(date, parts);
      const { count, currency, value } = renewals;
      const before = parts[part].get(currency);
      const sum =
        before === undefined
          ? renewals
          : { currency, count: before.count + count, value: add(before.value, value) };
      parts[part].set(currency, sum);
    },
    days: (): readonly RenewalDay[] =>
      [...days.keys()].sort().map((date) => {
        const of = (part: Part) => figuresOf([...(days.get(date)?.[part].values() ?? [])]);
        const [due, billed, failed] = [of("due"), of("billed"), of("failed")];
        return { date, due, billed, failed, ending: of("ending") };
      }),
  };
}

function figuresOf(renewals: readonly Renewals[]): RenewalFigures {
  const sorted = renewals.toSorted((left, right) => (left.currency < right.currency ? -1 : 1));
  return {
    count: sorted.reduce((sum, { count }) => sum + count, 0),
    values: sorted.map(({ currency, value }) => ({ currency, amount: formatDecimal(value) })),
  };
}

/** The invoices that a statement reads. */
const chunkSize = 10_000;

const invoiceRow = {
  /** Position and creation of the chunk's last invoice. Null behind the end. */
  last: bigint.orNull(),
  oldest: instant.orNull(),
  date: day.orNull(),
  currency: columns.invoice.currency.orNull(),
  isFailed: bool.orNull(),
  count: int.orNull(),
  value: numeric.orNull(),
};

// From the newest on. An invoice issued ahead is of the day that it renews.
const readInvoices = query({
  name: "overview_renewal_invoices",
  planned: "each time",
  text: sql`
    WITH
      chunk AS MATERIALIZED (
        SELECT i.*
        FROM invoices i
        WHERE i.organisation_id = $1 AND ($2::bigint IS NULL OR i.seq < $2)
        ORDER BY i.organisation_id DESC, i.seq DESC
        LIMIT ${chunkSize}
      )
    SELECT l.last, l.oldest, g.*
    FROM
      (SELECT min(seq) AS last, min(created_at) AS oldest FROM chunk) l
      LEFT JOIN (
        SELECT
          period_start AS date, currency,
          sync_error IS NOT NULL AS is_failed,
          count(*)::int AS count,
          sum(subtotal) AS value
        FROM chunk c
        WHERE ${renews(sql`c`)} AND period_start BETWEEN $3 AND $4
        GROUP BY 1, 2, 3
      ) g
        ON true
  `,
  row: invoiceRow,
});

/** The longest time by which an invoice is issued ahead, and a day for zones. */
const aheadMs = 32 * 24 * 60 * 60 * 1_000;

/** Adds what was billed from one day to another. */
export async function addBilled(
  pool: Pool,
  organisationId: string,
  { from, today }: { readonly from: CivilDate; readonly today: CivilDate },
  sums: RenewalSums,
): Promise<void> {
  const sinceMs = Date.parse(from) - aheadMs;
  for (let before: string | null = null; ; ) {
    const rows = await readInvoices(pool, organisationId, before, from, today);
    for (const { date, currency, isFailed, count, value } of rows)
      if (date !== null && currency !== null && count !== null && value !== null)
        sums.add(date, isFailed === true ? "failed" : "billed", {
          currency,
          count,
          value: parseDecimal(value),
        });
    const [first] = rows;
    if (first?.last == null || first.oldest === null || first.oldest.getTime() < sinceMs) return;
    before = first.last;
  }
}
