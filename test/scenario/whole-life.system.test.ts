/**
 * Whole lives over HTTP and in memory: over any sequence of changes of units, ends, restorations
 * and days, the same requests are refused, and subscription, periods, documents and pending amounts
 * are what the rules alone say, and what a preview said before.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { planLine } from "../../src/domain/billing/invoice-lines.ts";
import { addDays, civilDate } from "../../src/domain/calendar/civil-date.ts";
import { daysInPeriod } from "../../src/domain/calendar/period.ts";
import { formatDecimal } from "../../src/domain/money/decimal.ts";
import { loadStates } from "../../src/store/billing/billing-state.ts";
import { shareOrganisation } from "../../src/store/billing/locked-subscription.ts";
import { inTransaction } from "../../src/store/database/pool.ts";
import { changeTo } from "../domain/subscriptions/billing-state-builder.ts";
import { change, end, type Life, pass, restore, stateIn } from "../properties/life.ts";
import { sharedSystem } from "../support/reused-system.ts";
import { tables } from "../support/rows.ts";
import type { Answered, TestSystem } from "../support/system.ts";
import { type Ask, checkedAsk } from "./checked-ask.ts";
import { type LifeBuilder, lifeBuilder } from "./life-builder.ts";
import { type Compared, type Previewed, preview } from "./preview-comparison.ts";
import { addBands, type Json } from "./units-builder.ts";

let system: TestSystem;
let builder: LifeBuilder;
let ask: Ask;

beforeAll(async () => {
  system = await sharedSystem();
  ask = checkedAsk(system);
  builder = lifeBuilder(system, ask);
});

/** Whole numbers from 0 up to but without `below`, the same for the same seed. */
type Pick = (below: number) => number;

function pickFrom(seed: number): Pick {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** One subscription over HTTP and in memory. */
interface Both {
  readonly own: CreatedOrganisation;
  readonly id: string;
  readonly life: Life;
}

/**
 * A new subscription of any plan, from three weeks before 1 April to three after it; all its
 * invoices are drafts.
 */
async function begin(pick: Pick): Promise<Both> {
  const own = await builder.sandbox({ invoice_create_days: [0, 7, 14, 25][pick(4)] });
  await addBands(system, own);
  const offset = pick(3) === 0 ? 1 + pick(20) : -pick(20);
  const { id } = await builder.subscribe(own, {
    start_date: addDays(civilDate("2026-04-01"), offset),
    plan_code: ["bands", "team", "growth", "bands"][pick(4)],
    units: 8 + pick(6),
    ...(pick(4) === 0 ? { end_after_cycles: 1 + pick(3) } : {}),
  });
  return { own, id, life: await lifeOf(own, id) };
}

/** What has just been created, in memory. */
async function lifeOf({ organisationId }: CreatedOrganisation, id: string): Promise<Life> {
  return inTransaction(system.pool, async (client) => {
    const { organisation } = await shareOrganisation(client, organisationId);
    const [state] = await loadStates(client, organisation, {
      ids: [id],
      now: new Date("2026-04-01T12:00:00Z"),
    });
    if (state === undefined) throw new Error("there is no such subscription");
    const { plan, subscription, today, period, nextPeriod, invoices } = state;
    const periods = nextPeriod === null ? [period] : [period, nextPeriod];
    const papers = invoices.toReversed().flatMap(({ type, periodIndex }, index) => {
      const of = periods[periodIndex];
      const lines = of === undefined ? [] : [planLine(plan, subscription, of, organisation)];
      return [{ id: `paper ${index}`, type, periodIndex, lines, isRemoved: false }];
    });
    const lists = { credits: [], deferred: [], removed: [], lost: [], reversed: [] };
    const nothing = { ...lists, current: 0, changes: new Map() };
    return { organisation, plan, subscription, today, periods, papers, ...nothing };
  });
}

/**
 * A step in both. Returns the life after it in memory (null if refused) and the answer of the API
 * (null for days alone), with the preview that was asked before it.
 */
interface Stepped {
  readonly shown: string;
  readonly after: Life | null;
  readonly answer: Answered | null;
  readonly previewed: Previewed | null;
}

const comparing = (own: CreatedOrganisation): Compared => ({ system, ask, builder, own });

async function passDays({ own, id, life }: Both, pick: Pick): Promise<Stepped> {
  const after = pass(life, pick(14));
  await builder.setClock(own, after.today);
  // Any operation performs what is due, also a refused one.
  await builder.change(own, id, { units: life.subscription.units });
  return { shown: `until ${after.today}`, after, answer: null, previewed: null };
}

async function changeUnits({ own, id, life }: Both, pick: Pick): Promise<Stepped> {
  const { period, nextPeriod, subscription, invoices } = stateIn(life);
  const isAhead = invoices.some(
    ({ type, periodIndex }) => type === "renewal" && periodIndex === nextPeriod?.index,
  );
  const isProrated = pick(3) > 0 && subscription.status === "active";
  const request = changeTo(Math.max(1, subscription.units - 3 + pick(8)), {
    ...(isProrated && { from: addDays(period.start, pick(daysInPeriod(period))) }),
    behaviour: isProrated && pick(3) === 0 ? "charge_on_renewal" : null,
    document: isAhead ? (pick(2) === 0 ? "amend" : "separate") : null,
  });
  const { units, prorate, effectiveDate, behaviour, document } = request;
  const body = {
    units,
    ...(prorate && { prorate, effective_date: effectiveDate }),
    ...(behaviour !== null && { proration_behaviour: behaviour }),
    ...(document !== null && { document }),
  };
  const after = change(life, request)?.life ?? null;
  const previewed = await preview(comparing(own), id, "units", body);
  const answer = await builder.change(own, id, body);
  return { shown: JSON.stringify(body), after, answer, previewed };
}

async function endIt({ own, id, life }: Both, pick: Pick): Promise<Stepped> {
  const when = pick(2) === 0 ? "now" : "period_end";
  const deleteUnsentInvoices = when === "now" && pick(3) === 0;
  const after = end(life, { when, deleteUnsentInvoices, voidApprovedInvoices: false }, 99);
  const body = { when, ...(deleteUnsentInvoices && { delete_unsent_invoices: true }) };
  const previewed = await preview(comparing(own), id, "end", body);
  const answer = await builder.end(own, id, body);
  return { shown: `end ${JSON.stringify(body)}`, after, answer, previewed };
}

async function restoreIt({ own, id, life }: Both): Promise<Stepped> {
  const previewed = await preview(comparing(own), id, "restore", {});
  const answer = await builder.restore(own, id);
  return { shown: "restore", after: restore(life), answer, previewed };
}

const steps = [
  passDays,
  passDays,
  changeUnits,
  changeUnits,
  changeUnits,
  changeUnits,
  endIt,
  restoreIt,
  restoreIt,
];

/** The state of a subscription in a fixed order. */
interface Known {
  readonly subscription: readonly unknown[];
  readonly periods: readonly unknown[];
  readonly invoices: readonly string[];
  readonly credits: readonly string[];
  readonly waiting: readonly string[];
}

function inMemory({ subscription, periods, papers, credits, deferred }: Life): Known {
  const { status, units, renewalDate, endDate, cancelAtPeriodEnd } = subscription;
  const invoices = papers.map(({ type, isRemoved, lines }) => {
    const shown = lines.map(
      (line) => `${formatDecimal(line.amount)} ${line.description} from ${line.period?.start}`,
    );
    return `${type}${isRemoved ? ", removed" : ""}: ${shown.map(unnumbered).sort().join("; ")}`;
  });
  const waiting = deferred.flatMap(({ line, paperId }) =>
    paperId === null ? [`${formatDecimal(line.amount)} ${line.description}`] : [],
  );
  return {
    subscription: [status, units, renewalDate, endDate, cancelAtPeriodEnd],
    periods: periods.map((period) => ({
      index: period.index,
      start: period.start,
      billed: period.billedUnits,
      by: period.billedBy,
      closed: period.prorationClosed,
      separately: period.billedSeparately,
    })),
    invoices: invoices.sort(),
    credits: credits
      .map((one) =>
        unnumbered(`${formatDecimal(one.amount)} ${one.description} from ${one.effectiveDate}`),
      )
      .sort(),
    waiting: waiting.sort(),
  };
}

/** A document is named by another number in memory. */
function unnumbered(text: string): string {
  return text.replaceAll(/paper \d+|credit \d+|INV-\d+|CN-\d+/g, "document");
}

async function overHttp(own: CreatedOrganisation, id: string): Promise<Known> {
  const { status, units, renewal_date, end_date, cancel_at_period_end } =
    await builder.subscription(own, id);
  const invoices = (await builder.invoices(own, id)).map(({ type, status: is, lines }: Json) => {
    const shown = lines.map(
      ({ amount, description, period }: Json) => `${amount} ${description} from ${period.start}`,
    );
    const removed = is === "deleted" ? ", removed" : "";
    return `${type}${removed}: ${shown.map(unnumbered).sort().join("; ")}`;
  });
  const credits = (await builder.creditNotes(own, id)).flatMap(({ lines }: Json) =>
    lines.map((one: Json) =>
      unnumbered(`${one.amount} ${one.description} from ${one.effective_date.slice(0, 10)}`),
    ),
  );
  const periods = await system.pool.query(
    `SELECT index, start_date::text AS start, billed_units AS billed, billed_by AS by,
      proration_closed AS closed, billed_separately AS separately
      FROM periods WHERE subscription_id = $1 ORDER BY index`,
    [id],
  );
  const changes = await tables(system.pool).unitChange.findMany({
    where: { subscriptionId: id },
    orderBy: { seq: "asc" },
  });
  /** What set billed units, with the place of a change instead of its id. */
  const numbered = (by: string | null) =>
    changes.reduce(
      (text, change, index) => text?.replace(change.id, `change-${index}`) ?? null,
      by,
    );
  const waiting = await system.pool.query<{ shown: string }>(
    `SELECT amount || ' ' || description AS shown FROM deferred_lines WHERE subscription_id = $1
      AND invoice_id IS NULL`,
    [id],
  );
  return {
    subscription: [status, units, renewal_date, end_date, cancel_at_period_end],
    periods: periods.rows.map(({ by, ...row }) => ({ ...row, by: numbered(by) })),
    invoices: invoices.sort(),
    credits: credits.sort(),
    waiting: waiting.rows.map(({ shown }) => shown).sort(),
  };
}

/** What was done in any of the lives. */
const done = new Set<string>();

describe.concurrent("a life over HTTP is the one of the rules", () => {
  test.each([19, 25, 32])("seed %i", async (seed) => {
    const pick = pickFrom(seed);
    let { own, id, life } = await begin(pick);
    const log: string[] = [];
    for (let count = 0; count < 25; count += 1) {
      // What an operation performs before it decides.
      life = pass(life, 0);
      const step = steps[pick(steps.length)] ?? passDays;
      const { shown, after, answer, previewed } = await step({ own, id, life }, pick);
      log.push(shown);
      if (answer !== null)
        expect([log, answer.status === 200], answer.text).toEqual([log, after !== null]);
      if (after !== null) done.add(shown);
      life = after ?? life;
      await builder.posted(own);
      if (answer !== null) await previewed?.expectSame(answer);
      expect([log, await overHttp(own, id)]).toEqual([log, inMemory(life)]);
    }
    await builder.expectEqualDocuments(own);
  });
});

test("these lives have every kind of change, end and restoration", () => {
  const kinds = [
    "amend",
    "separate",
    "charge_on_renewal",
    "period_end",
    "now",
    "delete_unsent_invoices",
    "restore",
  ];
  expect(kinds.filter((kind) => ![...done].some((shown) => shown.includes(kind)))).toEqual([]);
});
