/**
 * A subscription's changes of units and billing periods, as explanations name them (MONEY-9). SQL:
 * one read has periods with the price of their subscription.
 */
import { columns } from "../../gen/columns.ts";
import { listing, listPage, type Page, type PageRequest, pageAfter } from "../database/page.ts";
import { pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";

const changeRow = {
  ...pick(columns.unitChange, "id", "subscriptionId", "fromUnits", "toUnits", "effectiveDate"),
  ...pick(columns.unitChange, "invoiceId", "renewalInvoiceId", "creditNoteId", "deferred"),
  ...pick(columns.unitChange, "changedAt", "createdAt"),
};

/** A change of units. `changedAt` is null for changes of earlier versions. */
export type ListedUnitChange = RowOf<typeof changeRow>;

const ofSubscription = (value: string) => ({
  sql: sql`t.subscription_id = ?`,
  value,
  sharesPlan: true,
});

const unitChangeListing = listing(
  "unit_changes",
  {
    table: sql`unit_changes`,
    columns: columnsOf(sql`t`, changeRow),
    row: changeRow,
    read: (row): ListedUnitChange => row,
  },
  [ofSubscription("")],
);

/** Returns a page of changes, newest first. */
export async function listUnitChanges(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
  page: PageRequest,
): Promise<Page<ListedUnitChange>> {
  const filters = [ofSubscription(subscriptionId)];
  return listPage(executor, organisationId, unitChangeListing, filters, page);
}

const periodRow = {
  ...pick(columns.period, "subscriptionId", "index", "startDate", "endDate"),
  ...pick(columns.period, "billedUnits", "setupMode"),
  ...pick(columns.subscription, "priceOverride"),
};

const readPeriods = query({
  name: "list_periods",
  text: sql`
    SELECT
      p.subscription_id, p.index, p.start_date, p.end_date, p.billed_units, p.setup_mode,
      s.price_override
    FROM
      periods p
      JOIN subscriptions s ON s.organisation_id = $1 AND s.id = p.subscription_id
    WHERE p.organisation_id = $1 AND p.subscription_id = $2 AND p.index <= $3
    ORDER BY p.index DESC
    LIMIT $4
  `,
  row: periodRow,
});

/** A billing period, and the price of its subscription. Null: the plan's price is billed. */
export type ListedPeriod = RowOf<typeof periodRow>;

/** An index above that of every period. */
const top = 2 ** 31 - 1;

/**
 * Returns a page of periods, newest first. Refuses `invalid_parameter`, param `starting_after`.
 */
export async function listPeriods(
  executor: Executor,
  organisationId: string,
  subscriptionId: string,
  page: PageRequest,
): Promise<Page<ListedPeriod>> {
  const { startingAfter, limit } = page;
  const isIndex = startingAfter !== null && /^[0-9]{1,9}$/.test(startingAfter);
  const from = startingAfter === null ? top : isIndex ? Number(startingAfter) : -1;
  const rows = await readPeriods(executor, organisationId, subscriptionId, from, limit + 2);
  return pageAfter(rows, page, ({ index }) => `${index}`);
}
