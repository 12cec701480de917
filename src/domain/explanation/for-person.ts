/** Tells a person how the amounts of a document came about, a few lines each, with the dates. */
import { formatDecimal, parseDecimal } from "../money/decimal.ts";
import type { ShownSheet } from "./price-sheet.ts";
import type { Derivation, Explanation, ShownFact, ShownLine, ShownStep } from "./shown.ts";

/** What the document shows of a line: its name, and the days that it is for or from. */
export interface LineHeading {
  readonly name: string;
  readonly period?: { readonly start: string; readonly end: string } | null;
  readonly effective_date?: string;
}

/** What the lines below read: facts and results by name, and what the document shares. */
interface DescribedLine {
  readonly line: Derivation;
  readonly document: Explanation;
  /** The days that the line is for, after a comma. Empty if none are known. */
  readonly days: string;
  readonly fact: (name: string) => string;
  readonly out: (name: string) => string;
  readonly rows: (name: string) => string;
  readonly rounded: string;
}

/**
 * Returns the explanation in lines of text, the first with `title`. `headings` are those of the
 * document's lines, in its order.
 */
export function describeExplanation(
  document: Explanation,
  headings: readonly LineHeading[],
  title = titleOf(document),
): readonly string[] {
  const { currency, subtotal, places, ledger, lines, allocations } = document;
  const head = `${title}: ${money(subtotal, places)} ${currency}`;
  const tax = ledger && `${money(ledger.tax, places)} of tax: ${money(ledger.total, places)}`;
  return [
    head,
    ...lines.flatMap((line, index) => describeLine(line, index + 1, document, headings[index])),
    ...(tax === undefined ? [] : [`The ledger adds ${tax}`]),
    ...(allocations ?? []).map(
      ({ invoice, amount, by }) =>
        `${money(amount, places)} is on invoice ${invoice}, decided by the ${by}`,
    ),
  ];
}

function titleOf({ object, number }: Explanation): string {
  const kind = object === "invoice" ? "Invoice" : "Credit note";
  return number === null ? kind : `${kind} ${number}`;
}

function describeLine(
  line: ShownLine,
  position: number,
  document: Explanation,
  heading: LineHeading | undefined,
): readonly string[] {
  const [first = "", ...rest] = describeAmount(line, document, heading);
  const name = heading === undefined ? "" : `${heading.name}, `;
  const amount = `${money(line.amount, document.places)} ${document.currency}`;
  return [`${position}. ${amount}: ${name}${first}`, ...rest.map((text) => `   ${text}`)];
}

/** Returns how the amount of one line came about, in lines of text. */
export function describeAmount(
  line: ShownLine,
  document: Explanation,
  heading?: LineHeading,
): readonly string[] {
  const days = daysOf(heading);
  const { was, reissues } = line;
  const before = was && describedLine(was, document, days);
  const until = was?.until.replace("T", " ").replace("Z", " UTC");
  return [
    ...describers[line.rule](describedLine(line, document, days)),
    ...(before ? [`until ${until} it was ${unitsOf(before, "units")}: ${before.rounded}`] : []),
    ...(reissues ? [`issued again, as on invoice ${reissues.invoice}`] : []),
  ];
}

function daysOf(heading: LineHeading | undefined): string {
  const { period, effective_date: since } = heading ?? {};
  if (period) return `, ${period.start} to ${period.end}`;
  return since === undefined ? "" : `, from ${since.slice(0, 10)}`;
}

function describedLine(line: Derivation, document: Explanation, days: string): DescribedLine {
  const { places } = document;
  const step = (name: string): ShownStep | undefined => line.steps.find(({ id }) => id === name);
  return {
    line,
    document,
    days,
    fact: (name) => line.facts.find((fact) => fact.name === name)?.value ?? "",
    out: (name) => step(name)?.out ?? "",
    rows: (name) => rowsOf(step(name)),
    rounded: money(step("amount")?.out ?? "0", places),
  };
}

function rowsOf(step: ShownStep | undefined): string {
  const terms = step?.rows?.map(({ quantity, price }) =>
    quantity === null ? price : `${quantity} × ${price}`,
  );
  return terms === undefined || terms.length === 0 ? "nothing to price" : terms.join(" + ");
}

/** The lines for each rule. The first one follows the amount. */
const describers: Readonly<Record<ShownLine["rule"], (line: DescribedLine) => readonly string[]>> =
  {
    "flat_fee/1": (of) => [
      `a whole period${of.days}`,
      `${valueText(of, "")}, rounded to ${of.rounded}`,
    ],
    "plan/1": (of) => [
      `a whole period of ${unitsOf(of, "units")}${of.days}`,
      `${valueText(of, "")}, rounded to ${of.rounded}`,
    ],
    "charge/1": ({ fact, out, rounded }) => [
      "a charge",
      `${fact("quantity")} × ${fact("price")} = ${out("product")}, rounded to ${rounded}`,
    ],
    "proration/1": (of) => {
      const { fact, out, rounded } = of;
      const [days, all] = [out("days_remaining"), out("days_in_period")];
      const difference = `(${out("value_to")} − ${out("value_from")})`;
      const share = `${difference} × ${days} ÷ ${all} = ${out("share")}`;
      const period = `${fact("period_start")} to ${fact("period_end")}`;
      return [
        `${fact("from_units")} to ${fact("to_units")} units from ${fact("effective_date")}`,
        `of the period ${period}, ${days} of ${all} days are left`,
        `${unitsOf(of, "from_units")}: ${valueText(of, "_from")}`,
        `${unitsOf(of, "to_units")}: ${valueText(of, "_to")}`,
        `${share}, rounded to ${rounded}${creditOf(of)}`,
      ];
    },
    "usage/1": (of) => {
      const { fact, out, rows, rounded, line, days } = of;
      const source = line.facts.find(({ name }) => name === "quantity")?.source;
      const before = fact("before");
      const events = counted(String(source?.events), "event");
      const whole = `${rows("value_whole")} = ${out("value_whole")}`;
      const end = `, rounded to ${rounded}${creditOf(of)}`;
      const usage = `usage of ${fact("quantity")} in ${events}${days}`;
      if (before === "0") return [usage, `${whole}${end}`];
      const priced = `${rows("value_priced")} = ${out("value_priced")}`;
      const difference = `${out("value_whole")} − ${out("value_priced")} = ${out("difference")}`;
      return [
        usage,
        `on bill ${source?.bill}, after ${before} on earlier bills`,
        `${out("whole")} in all: ${whole}`,
        `${fact("priced")} billed before: ${priced}`,
        `${difference}${end}`,
      ];
    },
    "reversal_credit/1": ({ fact, out, days }) => [
      `what was billed of a period that does not begin${days}`,
      `${fact("billed")} billed, less ${out("compensated")} that was credited before`,
    ],
    "reversal_charge/1": ({ out, days }) => [
      `what was credited of a period that does not begin${days}`,
      `${out("credited")} credited, less ${out("charged")} that was charged before`,
    ],
  };

const factWords: Readonly<Record<string, string>> = {
  units: "Units",
  discount_percent: "Discount",
  sheet: "Price",
  quantity: "Quantity",
  price: "Price of one",
  from_units: "Units before",
  to_units: "Units afterwards",
  effective_date: "From",
  period_start: "Period begins",
  period_end: "Period ends",
  before: "Quantity on earlier bills",
  priced: "Quantity that earlier bills charged",
  billed: "Billed",
  opposite: "Credited before",
  earlier: "Charged before",
  credited: "Credited",
  charged: "Charged before",
};

/** Returns the words for a fact, of those that are counted with its number. */
export function describeFact({ name }: Pick<ShownFact, "name">): string {
  const [, counted = name, number = ""] = /^(\w+)_(\d+)$/.exec(name) ?? [];
  return `${factWords[counted] ?? name} ${number}`.trim();
}

const sourceWords: Readonly<Record<string, string>> = {
  unit_change: "change of units",
  usage_bill: "usage bill",
  invoice_line: "line of an invoice",
  credit_note_line: "line of a credit note",
};

/** Returns the words for the object that a fact comes from. */
export function describeSource({ object, bill }: ShownFact["source"]): string {
  return `${sourceWords[object] ?? object}${bill === undefined ? "" : ` ${bill}`}`;
}

function unitsOf({ fact, document }: DescribedLine, name: string): string {
  const free = sheetOf(document, fact("sheet"))?.free_units ?? 0;
  return `${counted(fact(name), "unit")}${free === 0 ? "" : ` (${free} free)`}`;
}

function counted(count: string, noun: string): string {
  return `${count} ${noun}${count === "1" ? "" : "s"}`;
}

function sheetOf({ sheets }: Explanation, name: string): ShownSheet | undefined {
  return sheets.find((sheet) => sheet.name === name);
}

function valueText({ fact, out, rows }: DescribedLine, of: string): string {
  const [terms, sum] = [rows(`list${of}`), out(`list${of}`)];
  const list = terms === sum ? sum : `${terms} = ${sum}`;
  const percent = fact("discount_percent");
  return percent === "0" ? list : `${list}, less ${percent} % = ${out(`value${of}`)}`;
}

function creditOf({ document, line }: DescribedLine): string {
  const credit = money(line.result, document.places);
  return document.object === "credit_note" ? `: a credit of ${credit}` : "";
}

/** The amount with the places of its currency: `62.50`. */
function money(text: string, places: number): string {
  const shown = formatDecimal(parseDecimal(text));
  return places === 0 ? shown.slice(0, -5) : shown.slice(0, shown.length - 4 + places);
}
