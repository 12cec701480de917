/**
 * What `docs/explanations.md` says, as tables: the form of an explanation, the formula of each
 * rule, and the places of currencies.
 */

/** The members of each part, and the form of each: a part, a list of one, or a text. */
export const parts: Readonly<Record<string, string>> = {
  document: `format:text object:text id:text|null number:text|null available:yes currency:code
    places:count sheets:[sheet] lines:[line] subtotal:amount ledger?:ledger
    allocations?:[allocation]`,
  allocation: "invoice:text amount:amount by:decider",
  ledger: "tax:amount total:amount",
  sheet: `name:text plan:text meter?:text subscription?:text type:text free_units:count
    price:decimal tiers:[tier]`,
  tier: "up_to:count|null unit_price:decimal|null flat_price:decimal|null",
  line: `line:text|null rule:text facts:[fact] steps:[step] result:text amount:amount was?:was
    reissues?:copied`,
  was: "until:instant facts:[fact] steps:[step] result:text amount:amount",
  copied: "invoice:text line:text",
  fact: "name:text value:text unit:text source:source",
  source: "object:text id?:text field:text period?:count meter?:text bill?:count events?:count",
  step: "id:text op:text in:[text] rows?:[row] rounding?:text out:text",
  row: "quantity:text|null price:text",
};
/** The forms of texts. */
export const texts: Readonly<Record<string, RegExp>> = {
  text: /^\P{Surrogate}+$/u,
  code: /^[A-Z]{3}$/,
  decider: /^(service|ledger)$/,
  decimal: /^[0-9]+(\.[0-9]+)?$/,
  amount: /^(0|[1-9][0-9]*)\.[0-9]{4}$/,
  date: /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/,
  instant: /^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\.[0-9]+)?Z$/,
};

/** A rule: its documents, its facts with their units, and a line a step. `x_*`: x_1, x_2, … */
export const rules = new Map(
  `flat_fee/1 invoice: discount_percent percent, sheet price_sheet
list = price sheet
value = less_percent list discount_percent
amount = round value places

plan/1 invoice: units units, discount_percent percent, sheet price_sheet
priced = units_to_price units sheet
list = price priced sheet
value = less_percent list discount_percent
amount = round value places

charge/1 invoice: quantity quantity, price money
product = mul quantity price
amount = round product places

proration/1 invoice credit_note: from_units units, to_units units, effective_date date, \
period_start date, period_end date, discount_percent percent, sheet price_sheet
days_in_period = days period_start period_end
days_remaining = days effective_date period_end
priced_from = units_to_price from_units sheet
list_from = price priced_from sheet
value_from = less_percent list_from discount_percent
priced_to = units_to_price to_units sheet
list_to = price priced_to sheet
value_to = less_percent list_to discount_percent
difference = sub value_to value_from
product = mul difference days_remaining
share = div product days_in_period
amount = round share places

usage/1 invoice credit_note: quantity quantity, before quantity, priced quantity, sheet price_sheet
whole = add before quantity
uncovered = sub before priced
value_whole = price whole sheet
value_priced = price priced sheet
difference = sub value_whole value_priced
amount = round difference places

reversal_credit/1 credit_note: billed money, opposite_* money, earlier_* money
opposite = sum opposite_*
earlier = sum earlier_*
left = excess opposite earlier
compensated = min left billed
amount = sub billed compensated

reversal_charge/1 invoice: credited_* money, charged_* money
credited = sum credited_*
charged = sum charged_*
amount = sub credited charged`
    .split("\n\n")
    .map((rule) => {
      const [head = "", ...steps] = rule.split("\n");
      const [places = "", facts = ""] = head.split(": ");
      const [id = "", ...documents] = places.split(" ");
      return [id, { documents, facts: facts.split(", ").map((fact) => fact.split(" ")), steps }];
    }),
);

/** The operation of each type of sheet. */
export const pricing = new Map([
  ["flat_fee", "price_once"],
  ["per_unit", "price_each"],
  ["tiered", "tier_walk"],
  ["volume", "volume_band"],
  ["stairstep", "stairstep"],
]);

/** The currencies of ISO 4217 whose minor unit is not a hundredth. */
export const minorUnits: readonly (readonly [places: number, currencies: string])[] = [
  [0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"],
  [3, "BHD IQD JOD KWD LYD OMR TND"],
  [4, "CLF UYW"],
];
