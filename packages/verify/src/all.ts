/**
 * Reads every document of an organisation by an API key. Checks each explanation, and holds what it
 * says against the documents, plans, charges and subscriptions that the API shows.
 */
import { setTimeout as wait } from "node:timers/promises";
import { verify } from "./verify.ts";

interface Line {
  readonly id: string;
  readonly amount: string;
  readonly units?: number | null;
  readonly quantity?: string | null;
  readonly unit_price?: string | null;
  readonly period?: { readonly start: string; readonly end: string } | null;
  readonly proration?: { readonly from_units: number; readonly to_units: number } | null;
}
interface Listed {
  readonly id: string;
  readonly number: string;
  readonly subtotal: string;
  readonly lines: readonly Line[];
}
interface Prices {
  readonly type: string;
  readonly free_units: number;
  readonly price: string;
  readonly tiers: readonly Readonly<Record<"up_to" | "unit_price" | "flat_price", unknown>>[];
}
interface Fact {
  readonly name: string;
  readonly value: string;
  readonly source: { readonly object: string; readonly id?: string; readonly field: string };
}
interface Explanation {
  readonly reason?: string;
  readonly subtotal: string;
  readonly sheets: readonly (Prices & { readonly name: string })[];
  readonly lines: readonly {
    readonly line: string;
    readonly amount: string;
    readonly facts: readonly Fact[];
    readonly was?: { readonly facts: readonly Fact[] };
  }[];
}

/** What was found. `faults` names each document, and what is wrong with it. */
export interface Found {
  readonly documents: number;
  readonly lines: number;
  verified: number;
  unexplained: number;
  lookedUp: number;
  notShown: number;
  readonly faults: string[];
}

/** The answer of a path. Undefined if the key may not read it, or nothing is there. */
type Read = (path: string) => Promise<string | undefined>;

function reader(url: string, key: string): Read {
  return async function read(path) {
    const answer = await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } });
    const text = await answer.text();
    if (answer.status === 429) {
      await wait(1_000 * Number(answer.headers.get("Retry-After") ?? 1));
      return read(path);
    }
    if (answer.ok) return text;
    if (answer.status === 403 || answer.status === 404) return undefined;
    throw new Error(`${path} answered ${answer.status}: ${text}`);
  };
}

async function listed(read: Read, kind: string): Promise<readonly Listed[]> {
  const all: Listed[] = [];
  for (let after = ""; ; after = `&starting_after=${all.at(-1)?.id}`) {
    const text = await read(`/v1/${kind}?limit=100${after}`);
    if (text === undefined) throw new Error(`the key may not read ${kind}`);
    const page: { readonly data: readonly Listed[]; readonly has_more: boolean } = JSON.parse(text);
    all.push(...page.data);
    if (!page.has_more) return all;
  }
}

/** A number without the zeros at its end, so that `12.5000` is `12.5`. */
const plain = (of: unknown): string =>
  String(of)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

const pricesText = ({ type, free_units, price, tiers }: Prices): string => {
  const rows = tiers.map(({ up_to, unit_price, flat_price }) => [up_to, unit_price, flat_price]);
  return JSON.stringify([type, free_units, plain(price), rows.map((row) => row.map(plain))]);
};

/** What facts are held against: objects by their paths, and amounts of lines by their ids. */
interface Api {
  readonly get: (path: string) => Promise<Readonly<Record<string, unknown>> | undefined>;
  readonly amounts: ReadonlyMap<string, string>;
}

/** What the API shows of a fact: by the object that it names, or by the document's line. */
async function shownBy(api: Api, fact: Fact, line: Line, sheets: Explanation["sheets"]) {
  const { name, value, source } = fact;
  switch (`${source.object} ${source.field}`) {
    case "plan price": {
      const plan = (await api.get(`/v1/plans/${source.id}`)) as Prices | undefined;
      const sheet = sheets.find((one) => one.name === value);
      if (plan === undefined || sheet === undefined) return undefined;
      return pricesText(plan) === pricesText(sheet) ? value : pricesText(plan);
    }
    case "subscription discount_percent":
      return (await api.get(`/v1/subscriptions/${source.id}`))?.discount_percent;
    case "charge price":
      return (await api.get(`/v1/charges/${source.id}`))?.price;
    case "subscription charges":
      return name === "price" ? line.unit_price : line.units;
    case "subscription units":
    case "unit_change units":
      return line.proration ? line.proration.to_units : line.units;
    case "period billed_units":
      return line.proration?.from_units;
    case "unit_change effective_date":
      return line.period?.start;
    case "period end":
      return line.period?.end;
    case "usage_bill quantity":
      return line.quantity;
    case "invoice_line amount":
    case "credit_note_line amount":
      return api.amounts.get(source.id ?? "");
    default:
      return undefined;
  }
}

/** Holds a verified explanation against its document. */
async function compare(api: Api, of: Explanation, document: Listed, found: Found): Promise<void> {
  const fault = (why: string) => void found.faults.push(`${document.number}: ${why}`);
  if (of.subtotal !== document.subtotal) fault("has another subtotal");
  if (of.lines.length !== document.lines.length) fault("has another number of lines");
  for (const { line: id, amount, facts, was } of of.lines) {
    const line = document.lines.find((one) => one.id === id);
    if (line?.amount !== amount) fault(`line ${id} has another amount`);
    found.notShown += was?.facts.length ?? 0;
    for (const fact of facts) {
      const is = line && (await shownBy(api, fact, line, of.sheets));
      if (is === undefined || is === null) found.notShown += 1;
      else if (plain(is) === fact.value) found.lookedUp += 1;
      else fault(`line ${id}: ${fact.name} is ${fact.value}, and the API shows ${plain(is)}`);
    }
  }
}

/** Checks every document. `read` answers paths of the API. */
export async function verifyAll(read: Read): Promise<Found> {
  const kinds = ["invoices", "credit_notes"] as const;
  const lists = await Promise.all(kinds.map((kind) => listed(read, kind)));
  const lines = lists.flat().flatMap((document) => document.lines);
  const objects = new Map<string, ReturnType<Api["get"]>>();
  const parsed: Api["get"] = async (path) => JSON.parse((await read(path)) ?? "null") ?? undefined;
  const api: Api = {
    get: (path) => {
      const known = objects.get(path) ?? parsed(path);
      objects.set(path, known);
      return known;
    },
    amounts: new Map(lines.map(({ id, amount }) => [id, amount])),
  };
  const counts = { verified: 0, unexplained: 0, lookedUp: 0, notShown: 0, faults: [] };
  const found: Found = { documents: lists.flat().length, lines: lines.length, ...counts };
  for (const [index, kind] of kinds.entries())
    for (const document of lists[index] ?? []) {
      const text = (await read(`/v1/${kind}/${document.id}/explanation`)) ?? "{}";
      const explanation: Explanation = JSON.parse(text);
      if (explanation.reason === "issued_before") {
        found.unexplained += document.lines.length;
        continue;
      }
      const verdict = await verify(text);
      if (!verdict.verified) {
        found.faults.push(`${document.number}: does not follow at ${verdict.at}: ${verdict.why}`);
        continue;
      }
      found.verified += verdict.lines;
      await compare(api, explanation, document, found);
    }
  return found;
}

/** Checks every document, and prints what was found. Returns whether nothing is wrong. */
export async function printAll(url: string, key: string): Promise<boolean> {
  const found = await verifyAll(reader(url, key));
  const { documents, lines, verified, unexplained, lookedUp, notShown, faults } = found;
  for (const fault of faults) console.log(fault);
  console.log(`documents: ${documents}, lines: ${lines}`);
  console.log(`lines verified: ${verified}, older than explanations: ${unexplained}`);
  console.log(`facts looked up: ${lookedUp}, not shown by the API: ${notShown}`);
  console.log(`what is wrong: ${faults.length}`);
  return faults.length === 0;
}
