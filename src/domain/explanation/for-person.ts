/** Tells a person how the amounts of a document came about, a few lines each, with the dates. */
import { formatDecimal, parseDecimal } from "../money/decimal.ts";
import type { ShownSheet } from "./price-sheet.ts";
import type { Derivation, Explanation, ShownLine, ShownStep } from "./shown.ts";

/** What the lines below read: facts and results by name, and what the document shares. */
interface DescribedLine {
  readonly line: Derivation;
  readonly document: Explanation;
  readonly fact: (name: string) => string;
  readonly out: (name: string) => string;
  readonly rows: (name: string) => string;
  readonly rounded: string;
}

/** Returns the explanation in lines of text. */
export function describeExplanation(document: Explanation): readonly string[] {
  const { object, number, currency, subtotal, places, ledger, lines } = document;
  const kind = object === "invoice" ? "Invoice" : "Credit note";
  const name = number === null ? kind : `${kind} ${number}`;
  const head = `${name}: ${money(subtotal, places)} ${currency}`;
  const tax = ledger && `${money(ledger.tax, places)} of tax: ${money(ledger.total, places)}`;
  return [
    head,
    ...lines.flatMap((line, index) => describeLine(line, index + 1, document)),
    ...(tax === undefined ? [] : [`The ledger adds ${tax}`]),
  ];
}

function describeLine(line: ShownLine, position: number, document: Explanation): readonly string[] {
  const [first = "", ...rest] = describers[line.rule](describedLine(line, document));
  const amount = `${money(line.amount, document.places)} ${document.currency}`;
  const { was, reissues } = line;
  const before = was && describedLine(was, document);
  return [
    `${position}. ${amount}: ${first}`,
    ...rest.map((text) => `   ${text}`),
    ...(before
      ? [`   until ${was.until} it was ${unitsOf(before, "units")}: ${before.rounded}`]
      : []),
    ...(reissues ? [`   issued again, as on invoice ${reissues.invoice}`] : []),
  ];
}

function describedLine(line: Derivation, document: Explanation): DescribedLine {
  const { places } = document;
  const step = (name: string): ShownStep | undefined => line.steps.find(({ id }) => id === name);
  return {
    line,
    document,
    fact: (name) => line.facts.find((fact) => fact.name === name)?.value ?? "",
    out: (name) => step(name)?.out ?? "",
    rows: (name) => rowsOf(step(name)),
    rounded: money(line.result, places),
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
    "flat_fee/1": (of) => ["a whole period", `${valueText(of, "")}, rounded to ${of.rounded}`],
    "plan/1": (of) => [
      `a whole period of ${unitsOf(of, "units")}`,
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
      const { fact, out, rows, rounded, line } = of;
      const source = line.facts.find(({ name }) => name === "quantity")?.source;
      const bill = `${source?.events} events on bill ${source?.bill}`;
      const before = fact("before") === "0" ? "" : `, after ${fact("before")} on earlier bills`;
      const priced = `${rows("value_priced")} = ${out("value_priced")}`;
      const covered = `${fact("priced")} billed before: ${priced}`;
      const difference = `${out("value_whole")} − ${out("value_priced")} = ${out("difference")}`;
      return [
        `usage of ${fact("quantity")}, ${bill} of period ${source?.period}${before}`,
        `${out("whole")} in all: ${rows("value_whole")} = ${out("value_whole")}`,
        ...(before === "" ? [] : [covered]),
        `${difference}, rounded to ${rounded}${creditOf(of)}`,
      ];
    },
    "reversal_credit/1": ({ fact, out }) => [
      "what was billed of a period that does not begin",
      `${fact("billed")} billed, less ${out("compensated")} that was credited before`,
    ],
    "reversal_charge/1": ({ out }) => [
      "what was credited of a period that does not begin",
      `${out("credited")} credited, less ${out("charged")} that was charged before`,
    ],
  };

function unitsOf({ fact, document }: DescribedLine, name: string): string {
  const free = sheetOf(document, fact("sheet"))?.free_units ?? 0;
  return `${fact(name)} units${free === 0 ? "" : ` (${free} free)`}`;
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

function creditOf({ document }: DescribedLine): string {
  return document.object === "credit_note" ? ", below zero: credited" : "";
}

/** The amount with the places of its currency: `62.50`. */
function money(text: string, places: number): string {
  const shown = formatDecimal(parseDecimal(text));
  return places === 0 ? shown.slice(0, -5) : shown.slice(0, shown.length - 4 + places);
}
