/** Explanations that are odd where a reader of the format could think two things. */
import { hash } from "./explained.ts";
import { examples } from "./stored.ts";

/** A text, and whether the page lets it pass. */
export interface OddExplanation {
  readonly name: string;
  readonly text: string;
  readonly isRight: boolean;
}

/** The text of a stored example after a replacement, which must find its place. */
function changed(example: string, from: string, to: string): string {
  const found = examples.find(({ name }) => name === example);
  const text = JSON.stringify(found?.explanation);
  if (!text.includes(from)) throw new Error(`${example} has no ${from}`);
  return text.replaceAll(from, to);
}

/** The example with another content of its sheet, which is named anew. */
function withSheet(example: string, from: string, to: string): string {
  const found = examples.find(({ name }) => name === example);
  const [name = "", content = ""] = Object.entries(found?.stored.sheets ?? {})[0] ?? [];
  if (!content.includes(from)) throw new Error(`the sheet of ${example} has no ${from}`);
  const other = content.replaceAll(from, to);
  const explanation = {
    ...found?.explanation,
    sheets: [{ ...JSON.parse(other), name: hash(other) }],
  };
  return JSON.stringify(explanation).replaceAll(name, hash(other));
}

const wrong = (name: string, text: string) => ({ name, text, isRight: false });
const right = (name: string, text: string) => ({ name, text, isRight: true });
const plan = "plan-1-tiered";

/** Each of them, from the stored examples. */
export const oddExplanations: readonly OddExplanation[] = [
  wrong("a count with a point", changed(plan, '"places":2', '"places":2.0')),
  wrong("a count with an exponent", changed(plan, '"places":2', '"places":2e0')),
  wrong("a count of minus zero", changed("usage-1-late", '"free_units":0', '"free_units":-0')),
  wrong("a count above 2^53 - 1", changed("usage-1-late", '"bill":3', '"bill":9007199254740992')),
  right("the greatest count", changed("usage-1-late", '"bill":3', '"bill":9007199254740991')),
  wrong("a count that is no JSON", changed(plan, '"places":2', '"places":NaN')),
  wrong("digits of another script", changed("usage-1-late", '"value":"200"', '"value":"٢٠٠"')),
  wrong("a lone surrogate", changed("usage-1-late", '"field":"before"', '"field":"\\ud800"')),
  right(
    "a pair of surrogates",
    changed("usage-1-late", '"field":"before"', '"field":"\\ud83d\\ude00"'),
  ),
  right("a line break in a text", changed("usage-1-late", '"field":"before"', '"field":"\\n"')),
  wrong("an empty text", changed("usage-1-late", '"field":"before"', '"field":""')),
  wrong("a member twice", changed(plan, '"places":2', '"places":2,"places":2')),
  wrong("a member twice by an escape", changed(plan, '"places":2', '"places":2,"pl\\u0061ces":2')),
  wrong("a number and no id", changed(plan, '"number":"INV-0042"', '"number":null')),
  wrong("a byte order mark", `\ufeff${changed(plan, '"places":2', '"places":2')}`),
  wrong("lists in lists without end", `${"[".repeat(200_000)}${"]".repeat(200_000)}`),
  wrong("a period without days", changed("proration-1-charge", '"2026-04-01"', '"2026-03-01"')),
  wrong("an instant on no day", changed("plan-1-amended", "2026-03-20T", "2026-02-30T")),
  wrong("an instant at 24 hours", changed("plan-1-amended", "T09:30:00Z", "T24:00:00Z")),
  right("an instant with a fraction", changed("plan-1-amended", "T09:30:00Z", "T09:30:00.123Z")),
  wrong("an amended line of another discount", amendedDiscount()),
  wrong("tiers with a price beside", withSheet("usage-1-late", '"price":"0"', '"price":"7"')),
  wrong("bounds that do not rise", withSheet("usage-1-late", '"up_to":null', '"up_to":1000')),
  wrong("a tier after the last", withSheet("usage-1-late", '"up_to":1000', '"up_to":null')),
  wrong(
    "a tier without a unit price",
    withSheet("usage-1-late", '"unit_price":"0.01"', '"unit_price":null'),
  ),
  wrong(
    "a step with a unit price",
    withSheet("plan-1-stairstep", '"unit_price":null', '"unit_price":"1"'),
  ),
  wrong("one price with tiers", withSheet("plan-1-per-unit-override", '"tiers":[]', oneTier())),
  right(
    "a plan's id to escape",
    withSheet("usage-1-late", '"plan":"', '"plan":"\\u0001\\"é\u007f'),
  ),
  right("credit on an invoice", allocated("1.0000", "ledger")),
  wrong("credit on an invoice of another form", allocated("1", "ledger")),
  wrong("credit that nobody put on an invoice", allocated("1.0000", "nobody")),
  wrong("a reversal of five places", reversed("0.00001", "0.0000")),
  right("a reversal of four places", reversed("0.0001", "0.0001")),
  wrong("earlier lines without opposite ones", creditedAlone()),
  ...ledgers(),
];

function oneTier(): string {
  return '"tiers":[{"flat_price":null,"unit_price":"1","up_to":null}]';
}

function amendedDiscount(): string {
  const text = changed("plan-1-amended", '"was"', '"was"');
  const at = text.indexOf('"was"');
  // Nothing remains of the discount, in arithmetic that is right by itself.
  const was = text.slice(at).replace('"7.25"', '"0"').replaceAll('"92.7500"', '"100.0000"');
  return text.slice(0, at) + was.replaceAll('"92.75"', '"100"');
}

/** A charge of what was credited, by right steps. */
function reversed(credited: string, amount: string): string {
  const source = { object: "credit_note_line", id: "c", field: "amount" };
  return document("invoice", amount, {
    rule: "reversal_charge/1",
    facts: [{ name: "credited_1", value: credited, unit: "EUR", source }],
    steps: [
      { id: "credited", op: "sum", in: ["credited_1"], out: credited },
      { id: "charged", op: "sum", in: [], out: "0" },
      { id: "amount", op: "sub", in: ["credited", "charged"], out: credited },
    ],
    result: credited,
  });
}

/** A credit of what was billed, by right steps, that names an earlier line for nothing. */
function creditedAlone(): string {
  const source = { object: "invoice_line", id: "i", field: "amount" };
  return document("credit_note", "3.0000", {
    rule: "reversal_credit/1",
    facts: [
      { name: "billed", value: "3", unit: "EUR", source },
      { name: "earlier_1", value: "1", unit: "EUR", source },
    ],
    steps: [
      { id: "opposite", op: "sum", in: [], out: "0" },
      { id: "earlier", op: "sum", in: ["earlier_1"], out: "1" },
      { id: "left", op: "excess", in: ["opposite", "earlier"], out: "0" },
      { id: "compensated", op: "min", in: ["left", "billed"], out: "0" },
      { id: "amount", op: "sub", in: ["billed", "compensated"], out: "3" },
    ],
    result: "3",
  });
}

function document(object: string, amount: string, line: object): string {
  const head = { format: "explanation/1", object, id: null, number: null, available: true };
  const money = { currency: "EUR", places: 2, sheets: [], subtotal: amount };
  return JSON.stringify({ ...head, ...money, lines: [{ line: null, ...line, amount }] });
}

function ledgers(): readonly OddExplanation[] {
  const given = (tax: string, total: string) =>
    changed(plan, '"subtotal"', `"ledger":{"tax":"${tax}","total":"${total}"},"subtotal"`);
  const subtotal = examples.find(({ name }) => name === plan)?.explanation.subtotal ?? "";
  return [
    right("a ledger without tax", given("0.0000", subtotal)),
    wrong("a tax with a zero before it", given("00.0000", subtotal)),
    wrong("a total without its tax", given("1.0000", subtotal)),
  ];
}

/** A credit note of which an amount is on an invoice. */
function allocated(amount: string, by: string): string {
  const allocations = JSON.stringify([{ invoice: "an invoice", amount, by }]);
  return changed("proration-1-credit", '"subtotal":', `"allocations":${allocations},"subtotal":`);
}
