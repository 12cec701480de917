/** The text of a proration's derivation, as `explainedLine` reads it. */

interface Proration {
  /** The effective date with its source, then the days of the period. */
  readonly dates: readonly string[];
  readonly days: readonly [inPeriod: number, remaining: number];
  /** What set the units from which it starts. If absent, the subscription began with them. */
  readonly by?: string;
  readonly units: readonly [from: string, to: string];
  readonly discount?: string;
  readonly sheet: string;
  readonly lists: readonly [operation: string, from: string, to: string];
  /** Both values after discount, if there is one. */
  readonly values?: readonly [from: string, to: string];
  readonly difference: string;
  readonly share: readonly [product: string, share: string];
  readonly amounts: readonly string[];
}

/** From 16 April, by a change: half of the first period is left. */
export const april = {
  days: [30, 15],
  dates: [
    "effective_date: 2026-04-16 date, unit_change.effective_date to ",
    "period_start: 2026-04-01 date, period.start it period 0",
    "period_end: 2026-05-01 date, period.end it period 0",
  ],
} as const;

/** All of May, the second period. */
export const may = {
  days: [31, 31],
  dates: [
    "effective_date: 2026-05-01 date, period.start it period 1",
    "period_start: 2026-05-01 date, period.start it period 1",
    "period_end: 2026-06-01 date, period.end it period 1",
  ],
} as const;

/** The lines of the text. */
export function proration(of: Proration): readonly string[] {
  const [from, to] = of.units;
  const [operation, ...lists] = of.lists;
  const [valueFrom, valueTo] = of.values ?? lists.map((list) => list.split(" = ").at(-1));
  return [
    "proration/1",
    `from_units: ${from} units, ${of.by ?? "subscription.units it"}`,
    `to_units: ${to} units, unit_change.units to ${to}`,
    ...of.dates.map((date) => (date.endsWith(" to ") ? `${date}${to}` : date)),
    `discount_percent: ${of.discount ?? 0} percent, subscription.discount_percent it`,
    of.sheet,
    `days_in_period = days period_start period_end = ${of.days[0]}`,
    `days_remaining = days effective_date period_end = ${of.days[1]}`,
    `priced_from = units_to_price from_units sheet = ${from}`,
    `list_from = ${operation} priced_from sheet = ${lists[0]}`,
    `value_from = less_percent list_from discount_percent = ${valueFrom}`,
    `priced_to = units_to_price to_units sheet = ${to}`,
    `list_to = ${operation} priced_to sheet = ${lists[1]}`,
    `value_to = less_percent list_to discount_percent = ${valueTo}`,
    `difference = sub value_to value_from = ${of.difference}`,
    `product = mul difference days_remaining = ${of.share[0]}`,
    `share = div product days_in_period = ${of.share[1]}`,
    ...of.amounts,
  ];
}
