/**
 * Checks an explanation of amounts (`docs/explanations.md`) by exact arithmetic on bigint. It reads
 * nothing but the facts and the sheets, derives the rest itself, and compares. It needs nothing but
 * the language and Web Crypto, so that it runs in a browser too.
 */
import { minorUnits, pricing, rules } from "./format.ts";
import { checkForm, day, FollowError, need, number } from "./forms.ts";
import {
  add,
  decimal,
  excess,
  min,
  mul,
  neg,
  type Rational,
  rational,
  round,
  show,
  sub,
  sum,
  whole,
  zero,
} from "./rational.ts";

/** Verified with so many lines, or the first place that does not follow, and why. */
export type Verdict =
  | { readonly verified: true; readonly lines: number }
  | { readonly verified: false; readonly at: string; readonly why: string };

type Members = { readonly [name: string]: unknown };
type Tier = { up_to: number | null; unit_price: string | null; flat_price: string | null };
type Sheet = Members & { name: string; type: string; price: string; tiers: readonly Tier[] } & {
  readonly meter?: string;
  readonly free_units: number;
};
type Fact = Members & { readonly name: string; readonly value: string };
type Derivation = Members & { readonly facts: readonly Fact[]; readonly amount: string };
type Line = Derivation & { readonly rule: string; readonly was?: Derivation };
type Explanation = Members & { readonly object: string; readonly currency: string } & {
  readonly sheets: readonly Sheet[];
  readonly lines: readonly Line[];
  readonly ledger?: Members & { readonly tax: string };
};
type Row = { readonly quantity: Rational | null; readonly price: Rational };
type Context = { object: string; currency: string; places: number; sheets: readonly Sheet[] };

/** Finds the first place where what was found is not what follows. */
function compare(found: unknown, follows: unknown, at: string): void {
  if (Object(follows) !== follows || Object(found) !== found) {
    const why = `is ${JSON.stringify(found)}, and ${JSON.stringify(follows)} follows`;
    need(Object.is(found, follows), at, why);
  } else {
    for (const name of new Set([...Object.keys(Object(follows)), ...Object.keys(Object(found))])) {
      const [is, due] = [found, follows].map((of) => (of as Members)[name]);
      const { id = "", name: label = id } = Object(due);
      compare(is, due, `${at}.${name}${Array.isArray(found) && label ? ` (${label})` : ""}`);
    }
  }
}

/** The terms of a price. Nothing to price has none on a sheet with tiers. */
function priced({ type, price, tiers }: Sheet, quantity: Rational, at: string): readonly Row[] {
  const once = { quantity: null, price: number(price, at) };
  if (type === "flat_fee" || type === "per_unit")
    return [type === "flat_fee" ? once : { ...once, quantity }];
  if (quantity[0] === 0n) return [];
  const isAbove = (bound: number | null) => bound !== null && sub(whole(bound), quantity)[0] < 0n;
  const last = tiers.findIndex(({ up_to }) => !isAbove(up_to));
  need(last >= 0, at, "is above the last tier");
  const isWalk = type === "tiered";
  return tiers.slice(isWalk ? 0 : last, last + 1).flatMap((tier, index) => {
    const { up_to, unit_price: unit, flat_price: flat } = tier;
    const under = whole((isWalk && tiers[index - 1]?.up_to) || 0);
    const upper = isWalk && index < last && up_to !== null ? whole(up_to) : quantity;
    const each = unit === null ? [] : [{ quantity: sub(upper, under), price: number(unit, at) }];
    const isOnce = flat !== null && (unit === null || number(flat, at)[0] !== 0n);
    return isOnce ? [...each, { quantity: null, price: number(flat, at) }] : each;
  });
}

type Operation = (a: Rational, b: Rational, sheet: Sheet | undefined) => Rational;
const operations = new Map<string, Operation>([
  ["add", add],
  ["sub", sub],
  ["mul", mul],
  ["div", (a, b) => rational(a[0] * b[1], a[1] * b[0])],
  ["neg", neg],
  ["min", min],
  ["excess", excess],
  ["round", (a, b) => round(a, Number(b[0]))],
  ["less_percent", (a, b) => mul(a, mul(sub(whole(100), b), [1n, 100n]))],
  ["days", (a, b) => sub(b, a)],
  ["units_to_price", (a, _, sheet) => excess(a, whole(sheet?.free_units ?? 0))],
]);

/** Performs one line of a formula, and keeps its result among what is known. */
function perform(line: string, known: Map<string, Rational>, sheet: Sheet | undefined, at: string) {
  const [id = "", , op = "", ...operands] = line.split(" ");
  const all = (stem: string) => [...known.keys()].filter((name) => name.startsWith(stem));
  const names = operands.flatMap((name) => (name.endsWith("*") ? all(name.slice(0, -1)) : name));
  const values = names.map((name) => known.get(name) ?? zero);
  const [a = zero, b = zero] = values;
  need(op !== "div" || b[0] !== 0n, at, "divides by 0");
  const rows = op === "price" && sheet ? priced(sheet, a, at) : [];
  const terms = rows.map(({ quantity, price }) => (quantity ? mul(quantity, price) : price));
  const out = operations.get(op)?.(a, b, sheet) ?? sum(op === "sum" ? values : terms);
  known.set(id, out);
  const shown = rows.map(({ quantity, price }) => ({
    quantity: quantity && show(quantity),
    price: show(price),
  }));
  return {
    ...{ id, op: op === "price" ? pricing.get(sheet?.type ?? "") : op, in: names, out: show(out) },
    ...(op === "price" && { rows: shown }),
    ...(op === "round" && { rounding: "half_away_from_zero" }),
  };
}

/** Derives everything of a line, or of what it was, that follows from its facts. */
function derive(of: Derivation, id: string, at: string, context: Context): Derivation {
  const { object, currency, places, sheets } = context;
  const rule = rules.get(id);
  need(rule?.documents.includes(object) === true, `${at}.rule`, "is not one of the document");
  const isOf = (stem: string) => of.facts.filter(({ name }) => name.startsWith(stem));
  const named = rule.facts.flatMap(([name = "", unit = ""]) => {
    const stem = name.slice(0, -1);
    if (!name.endsWith("*")) return [[name, unit]];
    return isOf(stem).map((_, index) => [`${stem}${index + 1}`, unit]);
  });
  const known = new Map([["places", whole(places)]]);
  const sheet = sheets.find(({ name }) => of.facts.some(({ value }) => value === name));
  const facts = named.map(([name = "", unit = ""], index): Fact => {
    const where = `${at}.facts.${index} (${name})`;
    const { value = "", ...fact } = of.facts[index] ?? {};
    const isDate = unit === "date";
    if (unit === "price_sheet") return { ...fact, name, unit, value: sheet?.name ?? "" };
    known.set(name, isDate ? whole(day(value, where)) : number(value, where));
    const text = isDate ? value : show(known.get(name) ?? zero);
    return { ...fact, name, value: text, unit: unit === "money" ? currency : unit };
  });
  const isAlone = known.has("earlier_1") && !known.has("opposite_1");
  need(!isAlone, `${at}.facts`, "have earlier_1 without opposite_1");
  const isPriced = named.some(([name]) => name === "sheet");
  const isOfRule =
    (sheet?.type === "flat_fee") === (id === "flat_fee/1") &&
    (sheet?.meter !== undefined) === (id === "usage/1");
  need(!isPriced || (sheet !== undefined && isOfRule), `${at}.facts`, "name no sheet of the rule");
  const isNegated = object === "credit_note" && !id.startsWith("reversal");
  const formula = isNegated ? [...rule.steps, "credit = neg amount"] : rule.steps;
  const steps = formula.map((line, index) => perform(line, known, sheet, `${at}.steps.${index}`));
  const result = known.get(isNegated ? "credit" : "amount") ?? zero;
  need(10_000n % result[1] === 0n, `${at}.amount`, "is no amount of four places");
  return { ...of, facts, steps, result: show(result), amount: decimal(result, 4) };
}

/** The name of a sheet: the hash of its JSON text with sorted members and without spaces. */
async function named({ name: _, ...sheet }: Sheet): Promise<string> {
  const sorted = (_: string, of: unknown) =>
    Object(of) !== of || Array.isArray(of)
      ? of
      : Object.fromEntries(Object.entries(Object(of)).sort(([a], [b]) => (a < b ? -1 : 1)));
  const bytes = new TextEncoder().encode(JSON.stringify(sheet, sorted));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes), 0, 16);
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Demands that a sheet has prices where its type has them, and bounds that rise. */
function checkPrices({ type, price, tiers }: Sheet, at: string): void {
  const [isStep, isPlain] = [type === "stairstep", type === "flat_fee" || type === "per_unit"];
  need(pricing.has(type), at, "has no known type");
  need(isPlain ? tiers.length === 0 : tiers.length > 0 && price === "0", at, "has other prices");
  tiers.reduce((below, { up_to, unit_price: unit, flat_price: flat }) => {
    const bound = up_to ?? Number.POSITIVE_INFINITY;
    need(bound > below, at, "has bounds that do not rise");
    need(
      (unit === null) === isStep && !(isStep && flat === null),
      at,
      "has a tier of other prices",
    );
    return bound;
  }, 0);
}

async function follows(of: Explanation): Promise<Explanation> {
  const { object, currency, lines, ledger } = of;
  const ids = [of.id, of.number, ...lines.map(({ line }) => line)];
  need(
    new Set(ids.map((id) => id === null)).size === 1,
    "id",
    "is null, but not all as in a preview",
  );
  const places = minorUnits.find(([, codes]) => codes.includes(currency))?.[0] ?? 2;
  const sheets: Sheet[] = [];
  for (const sheet of of.sheets) {
    const price = show(number(sheet.price, "sheets"));
    const shown = (text: string | null) => text && show(number(text, "sheets"));
    const tiers = sheet.tiers.map(({ up_to, unit_price, flat_price }) => ({
      up_to,
      unit_price: shown(unit_price),
      flat_price: shown(flat_price),
    }));
    const isUsed = lines.some(({ facts }) => facts.some(({ value }) => value === sheet.name));
    need(isUsed, "sheets", "has one that no line names");
    checkPrices(sheet, `sheets (${sheet.name})`);
    sheets.push({ ...sheet, name: await named(sheet), price, tiers });
  }
  sheets.sort((a, b) => (a.name < b.name ? -1 : 1));
  const isDouble = sheets.some(({ name }, index) => sheets[index + 1]?.name === name);
  need(!isDouble, "sheets", "has one twice");
  const context = { object, currency, places, sheets };
  const derived = lines.map((line, index) => {
    const at = `lines.${index}`;
    const now = derive(line, line.rule, at, context);
    if (line.was === undefined) return { ...now, rule: line.rule };
    need(line.rule === "plan/1", `${at}.was`, "is of a plan line only");
    const [kept, prices] = [line, line.was].map(({ facts }) =>
      facts
        .slice(1)
        .map(({ value }) => value)
        .join(),
    );
    need(kept === prices, `${at}.was.facts`, "have another price or discount");
    day(String(line.was.until).slice(0, 10), `${at}.was.until`);
    const was = derive(line.was, line.rule, `${at}.was`, context);
    return { ...now, rule: line.rule, was };
  });
  const subtotal = sum(derived.map(({ amount }) => number(amount, "lines")));
  const total = ledger && decimal(add(subtotal, number(ledger.tax, "ledger.tax")), 4);
  const head = { format: "explanation/1", places, subtotal: decimal(subtotal, 4) };
  return {
    ...of,
    ...head,
    sheets,
    lines: derived,
    ...(ledger && { ledger: { ...ledger, total } }),
  };
}

/** Checks the JSON text of an explanation. */
export async function verify(json: string): Promise<Verdict> {
  try {
    const found: Explanation = JSON.parse(json);
    need(found?.available !== false, "available", `is false: ${found?.reason}`);
    const strings = /"(?:[^"\\]|\\.)*"(?:\s*:)?/g;
    need(!/-|\d[.eE]/.test(json.replace(strings, "")), "text", "has a number that is no count");
    const written = json.match(strings) ?? [];
    const names = written.filter((text) => text.endsWith(":")).length;
    need(checkForm(found, "document", "") === names, "text", "has a member twice");
    compare(found, await follows(found), "");
    return { verified: true, lines: found.lines.length };
  } catch (error) {
    if (error instanceof SyntaxError) return { verified: false, at: "text", why: error.message };
    if (!(error instanceof FollowError)) throw error;
    return { verified: false, at: error.at.replace(/^\./, ""), why: error.message };
  }
}
