/**
 * Holds a verified explanation against the objects that it names, as the API shows them now. No
 * arithmetic can refute a source: an object that is not there, or one that says otherwise.
 */
import type { Api } from "./api.ts";
import type {
  Explanation,
  Fact,
  Line,
  Listed,
  Period,
  Prices,
  Sheet,
  Source,
  Subscription,
  UnitChange,
  UsageBill,
} from "./shapes.ts";

/** What was found of one document. */
export interface Comparison {
  /** Lines whose amount is the document's, and whether their sum is its subtotal. */
  amounts: number;
  isSum: boolean;
  /** Facts that the API shows, those of them that it shows so, and those that it does not show. */
  lookedUp: number;
  agreeing: number;
  notShown: number;
  readonly faults: string[];
}

/** A number without the zeros at its end, so that `12.5000` is `12.5`. */
const plain = (of: unknown): string =>
  String(of)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

const pricesText = ({ type, free_units = 0, price, tiers }: Prices): string => {
  const rows = tiers.map(({ up_to, unit_price, flat_price }) => [up_to, unit_price, flat_price]);
  return JSON.stringify([type, free_units, plain(price), rows.map((row) => row.map(plain))]);
};

/** The members that each source has beside `object` and `field`. */
const membersOf: Readonly<Record<string, readonly (keyof Source)[]>> = {
  "plan price": ["id"],
  "plan meters": ["id", "meter"],
  "subscription price_override": ["id"],
  "subscription discount_percent": ["id"],
  "subscription units": ["id"],
  "subscription charges": ["id"],
  "unit_change units": ["id"],
  "unit_change effective_date": ["id"],
  "period billed_units": ["id", "period"],
  "period setup_mode": ["id", "period"],
  "period removal": ["id", "period"],
  "period start": ["id", "period"],
  "period end": ["id", "period"],
  "charge price": ["id"],
  "usage_bill quantity": ["id", "period", "meter", "bill", "events"],
  "usage_bill before": ["id", "period", "meter", "bill"],
  "usage_bill priced": ["id", "period", "meter", "bill"],
  "invoice_line amount": ["id"],
  "credit_note_line amount": ["id"],
};

/** The document that is held, and the amounts of all documents' lines, by `amountsOf`. */
interface Context {
  readonly api: Api;
  readonly document: Listed;
  readonly sheets: readonly Sheet[];
  readonly amounts: ReadonlyMap<string, string>;
}

/** A line of the document, and the facts of its explanation. */
interface Explained {
  readonly line: Line;
  readonly facts: readonly Fact[];
}

/** What the API shows: a value, null if it does not show it, undefined if nothing is there. */
type Shown = string | number | null | undefined;

const changesOf = async ({ api, document }: Context) =>
  (await api.list<UnitChange>(`/v1/subscriptions/${document.subscription}/unit_changes`)) ?? [];

const periodsOf = async ({ api, document }: Context) =>
  (await api.list<Period>(`/v1/subscriptions/${document.subscription}/periods`)) ?? [];

const subscriptionOf = ({ api, document }: Context) =>
  api.get<Subscription>(`/v1/subscriptions/${document.subscription}`);

/** The prices that a sheet was made from, as the plan and the subscription show them now. */
async function pricesNow(context: Context, source: Source, sheet: Sheet) {
  const { api, document } = context;
  const plan = await api.get<Prices>(`/v1/plans/${sheet.plan}`);
  const isOfPlan = source.id === sheet.plan && sheet.subscription === undefined;
  switch (source.field) {
    case "price":
      return isOfPlan && sheet.meter === undefined ? plan : undefined;
    case "meters": {
      const path = `/v1/plans/${sheet.plan}/meters`;
      const meters = await api.list<Prices & { readonly id: string }>(path);
      const isOfMeter = isOfPlan && source.meter === sheet.meter;
      return isOfMeter ? meters?.find(({ id }) => id === sheet.meter) : undefined;
    }
    default: {
      const [period] = await periodsOf(context);
      const price = period?.price_override ?? undefined;
      const named = [sheet.subscription, source.id];
      const isOverride = named.every((id) => id === document.subscription);
      return isOverride && plan && price !== undefined ? { ...plan, price } : undefined;
    }
  }
}

/** The name of the sheet if its prices are those of now, else the prices of now. */
async function sheetNow(context: Context, { value, source }: Fact): Promise<Shown> {
  const sheet = context.sheets.find(({ name }) => name === value);
  const subscription = await subscriptionOf(context);
  if (sheet === undefined || sheet.plan !== subscription?.plan) return undefined;
  const now = await pricesNow(context, source, sheet);
  if (now === undefined) return undefined;
  return pricesText(now) === pricesText(sheet) ? value : pricesText(now);
}

/** The units that the subscription had before its first change. */
async function firstUnits(context: Context): Promise<Shown> {
  const first = (await changesOf(context)).at(-1);
  return first?.from_units ?? (await subscriptionOf(context))?.units;
}

/**
 * The units that the period of the line was billed for before. An invoice's line shows them. Of a
 * credit note it is only known that the subscription once had them.
 */
async function billedUnits(
  context: Context,
  { value, source }: Fact,
  { line, facts }: Explained,
): Promise<Shown> {
  if (facts.find(({ name }) => name === "period_start")?.source.period !== source.period)
    return undefined;
  if (line.proration) return line.proration.from_units;
  const changes = await changesOf(context);
  const had = [await firstUnits(context), ...changes.map(({ units }) => units)];
  return had.map(String).includes(value) ? value : null;
}

/** What the API shows of a fact. Its source has the members of its kind. */
async function shown(context: Context, fact: Fact, of: Explained): Promise<Shown> {
  const { api, document, amounts } = context;
  const { object, id, field, period: index, meter, bill, events } = fact.source;
  if (object === "charge") {
    const charge = await api.get<{ readonly id: string; readonly price: string }>(
      `/v1/charges/${id}`,
    );
    return charge?.id === id ? charge?.price : undefined;
  }
  if (object.endsWith("_line")) return amounts.get(`${document.subscription} ${object} ${id}`);
  if (fact.name === "sheet") return sheetNow(context, fact);
  if (object === "unit_change") {
    const changes = await changesOf(context);
    const change = changes.find((listed) => listed.id === id);
    return field === "units" ? change?.units : change?.effective_date;
  }
  if (id !== document.subscription) return undefined;
  if (object === "usage_bill") {
    const path = `/v1/subscriptions/${id}/usage_bills`;
    const bills = await api.list<UsageBill>(path);
    const taken = bills?.find(
      (row) => row.bill === bill && row.period_index === index && row.meter === meter,
    );
    const isCounted = events === undefined || events === taken?.events;
    return isCounted ? taken?.[field as "quantity" | "before" | "priced"] : undefined;
  }
  if (object === "period") {
    const period = (await periodsOf(context)).find((listed) => listed.index === index);
    if (field === "start" || field === "end") return period?.[field];
    const isSo = field !== "setup_mode" || period?.setup_mode === true;
    return isSo ? billedUnits(context, fact, of) : undefined;
  }
  if (field === "discount_percent") return (await subscriptionOf(context))?.discount_percent;
  if (field === "units") return fact.name === "to_units" ? null : firstUnits(context);
  return fact.name === "price" ? of.line.unit_price : of.line.units;
}

/** Counts what is shown, and names what differs from it. */
function compareValue(comparison: Comparison, what: string, claimed: string, value: Shown): void {
  if (value === null) {
    comparison.notShown += 1;
    return;
  }
  comparison.lookedUp += 1;
  if (value !== undefined && plain(value) === claimed) comparison.agreeing += 1;
  else {
    const is = value === undefined ? "nothing of it" : plain(value);
    comparison.faults.push(`${what} is ${claimed}, and the API shows ${is}`);
  }
}

async function compareFacts(
  comparison: Comparison,
  context: Context,
  of: Explained,
): Promise<void> {
  for (const fact of of.facts) {
    const { object, field, ...members } = fact.source;
    const expected = membersOf[`${object} ${field}`];
    const isOfKind = expected?.toSorted().join() === Object.keys(members).toSorted().join();
    const value = isOfKind ? await shown(context, fact, of) : undefined;
    compareValue(comparison, `line ${of.line.id}: ${fact.name}`, fact.value, value);
  }
}

/**
 * An amended line says what it was, until the change that it names. A line that is issued again
 * names a line of an invoice that was removed.
 */
async function compareOrigins(
  comparison: Comparison,
  context: Context,
  { facts, was, reissues }: Explanation["lines"][number],
  line: Line,
): Promise<void> {
  const { api, document } = context;
  const name = `line ${line.id}`;
  const [units] = facts;
  const change = (await changesOf(context)).find(({ id }) => id === units?.source.id);
  const amended = [change?.invoice, change?.renewal_invoice];
  const isAmended = [document.id, reissues?.invoice].some((id) => id && amended.includes(id));
  if (units?.name === "units" && isAmended && was === undefined)
    comparison.faults.push(`${name}: does not say what it was before it was amended`);
  if (was !== undefined) {
    const until = change === undefined ? undefined : `${change.created.slice(0, 19)}Z`;
    compareValue(comparison, `${name}: was.until`, was.until, until);
    await compareFacts(comparison, context, { line, facts: was.facts });
  }
  if (reissues !== undefined) {
    const invoice = await api.get<Listed>(`/v1/invoices/${reissues.invoice}`);
    const isRemoved = invoice?.status === "deleted" || invoice?.status === "voided";
    const isOf = invoice?.id === reissues.invoice && invoice.subscription === document.subscription;
    const copied = invoice?.lines.find(({ id }) => id === reissues.line);
    const value = isRemoved && isOf && copied?.amount === line.amount ? copied.id : undefined;
    compareValue(comparison, `${name}: reissues`, reissues.line, value);
  }
}

/** Holds a verified explanation against its document and the objects that its facts name. */
export async function lookUp(
  api: Api,
  explanation: Explanation,
  document: Listed,
  amounts: ReadonlyMap<string, string>,
): Promise<Comparison> {
  const { sheets, lines, ledger } = explanation;
  const isSum = explanation.subtotal === document.subtotal;
  const comparison: Comparison = {
    amounts: 0,
    isSum,
    lookedUp: 0,
    agreeing: 0,
    notShown: 0,
    faults: [],
  };
  const context = { api, document, sheets, amounts };
  for (const member of ["object", "id", "number", "currency", "subtotal"] as const)
    if (explanation[member] !== document[member])
      comparison.faults.push(
        `${member} is ${explanation[member]}, and the API shows ${document[member]}`,
      );
  if (ledger !== undefined && ledger.total !== document.total)
    comparison.faults.push(`total is ${ledger.total}, and the API shows ${document.total}`);
  if (lines.length !== document.lines.length) comparison.faults.push("has another number of lines");
  for (const [index, explained] of lines.entries()) {
    const line = document.lines[index];
    if (line?.id !== explained.line || line.amount !== explained.amount) {
      comparison.faults.push(
        `line ${explained.line}: is ${line?.id}, and its amount ${line?.amount}`,
      );
      continue;
    }
    comparison.amounts += 1;
    await compareFacts(comparison, context, { line, facts: explained.facts });
    await compareOrigins(comparison, context, explained, line);
  }
  return comparison;
}
