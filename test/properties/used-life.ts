/**
 * A subscription with usage, in memory: events with their bills, what closes take, and the simplest
 * reading of the rules in whole ten-thousandths.
 */
import { expect } from "vitest";
import { type DueDecision, decideDue } from "../../src/domain/billing/renewal.ts";
import type { ClosedUsage, DueInvoice } from "../../src/domain/billing/renewal-usage.ts";
import { addDays, type CivilDate, compareDates } from "../../src/domain/calendar/civil-date.ts";
import { periodAt, periodContaining } from "../../src/domain/calendar/period.ts";
import type { PricedMeter } from "../../src/domain/catalogue/meter.ts";
import type { DocumentObject } from "../../src/domain/explanation/named-facts.ts";
import type { BillingState } from "../../src/domain/model/billing-state.ts";
import type { InvoiceLineDraft } from "../../src/domain/model/invoice.ts";
import type { BilledUsage, OpenUsage } from "../../src/domain/model/usage.ts";
import { type Decimal, equals, negate, parseDecimal, sum } from "../../src/domain/money/decimal.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import { decideEnd, decideEnded, type EndWhen } from "../../src/domain/subscriptions/end.ts";
import { decideRestoration } from "../../src/domain/subscriptions/restore.ts";
import { meterOf } from "../domain/billing/open-usage-builder.ts";
import { tiersOf } from "../domain/catalogue/catalogue.ts";
import { afterDue, stateOf } from "../domain/subscriptions/billing-state-builder.ts";

/** An event as it was stored; `quantity` in ten-thousandths. */
interface StoredEvent {
  readonly meter: PricedMeter;
  readonly quantity: bigint;
  readonly period: number;
  readonly bill: number;
}

/** The lines of a document, or those that joined one. */
interface IssuedLines {
  readonly object: DocumentObject;
  readonly lines: readonly Pick<InvoiceLineDraft, "amount" | "facts">[];
}

/** The subscription so far. `setupPeriods` began in Setup Mode. */
export interface UsedLife {
  readonly state: BillingState;
  readonly setupPeriods: ReadonlySet<number>;
  readonly events: readonly StoredEvent[];
  readonly billed: readonly BilledUsage[];
  readonly issued: readonly IssuedLines[];
}

const zero = parseDecimal("0");

/**
 * A meter of each type, at prices of which single units round to nothing; the volume one is cheaper
 * above 20.
 */
export const meters: readonly PricedMeter[] = [
  meterOf({ id: "per_unit", price: parseDecimal("0.0031") }),
  meterOf({
    id: "tiered",
    type: "tiered",
    price: zero,
    tiers: tiersOf([10, "0.5"], [50, "0.0449", "3"], [null, "0.0002"]),
  }),
  meterOf({
    id: "volume",
    type: "volume",
    price: zero,
    tiers: tiersOf([20, "0.75", "1"], [null, "0.1"]),
  }),
  meterOf({
    id: "stairstep",
    type: "stairstep",
    price: zero,
    tiers: tiersOf([5, null, "0"], [60, null, "9.99"], [null, null, "20"]),
  }),
];

/** V(quantity) in hundred-millionths: the tables above, read once more by hand. */
const values: Readonly<Record<string, (quantity: bigint) => bigint>> = {
  per_unit: (q) => q * 31n,
  tiered: (q) => {
    const [ten, fifty] = [100_000n, 500_000n];
    if (q <= ten) return q * 5_000n;
    if (q <= fifty) return ten * 5_000n + (q - ten) * 449n + 300_000_000n;
    return ten * 5_000n + (fifty - ten) * 449n + 300_000_000n + (q - fifty) * 2n;
  },
  volume: (q) => (q === 0n ? 0n : q <= 200_000n ? q * 7_500n + 100_000_000n : q * 1_000n),
  stairstep: (q) => (q <= 50_000n ? 0n : q <= 600_000n ? 999_000_000n : 2_000_000_000n),
};

/** V of a meter's quantity, both as above. */
export function valueOfMeter(meter: string, quantity: bigint): bigint {
  const value = values[meter];
  if (value === undefined) throw new Error(`no meter ${meter}`);
  return value(quantity);
}

/** A decimal in units of this many places; it has no more. */
export function scaled({ unscaled, scale }: Decimal, places: number): bigint {
  return scale > places
    ? unscaled / 10n ** BigInt(scale - places)
    : unscaled * 10n ** BigInt(places - scale);
}

/** The first status of invoices and how early they are issued. */
interface LifeOrder {
  readonly firstInvoiceStatus: BillingState["organisation"]["firstInvoiceStatus"];
  readonly invoiceCreateDays: number;
  readonly endAfterCycles: number | null;
}

/** One that began on 1 January 2026, on that day. */
export function beginLife({
  firstInvoiceStatus,
  invoiceCreateDays,
  endAfterCycles,
}: LifeOrder): UsedLife {
  const anchor = { start: "2026-01-01" as CivilDate, billingDay: 1 };
  const month = { unit: "month", count: 1 } as const;
  const endDate = endAfterCycles === null ? null : periodAt(anchor, month, endAfterCycles - 1).end;
  const state = stateOf({
    index: 0,
    today: "2026-01-01",
    organisation: { firstInvoiceStatus, invoiceCreateDays },
    subscription: { endAfterCycles, endDate },
  });
  return { state, setupPeriods: new Set(), events: [], billed: [], issued: [] };
}

/** What no bill has taken, as the database would sum it. */
export function openOf({ state, setupPeriods, events, billed }: UsedLife): readonly OpenUsage[] {
  const { startDate, billingDay, interval } = state.subscription;
  const groups = Map.groupBy(
    events.filter(({ bill }) => bill >= state.usageBills.billed),
    ({ bill, period, meter }) => `${bill} ${period} ${meter.id}`,
  );
  return [...groups.values()].flatMap((group): OpenUsage[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { bill, period, meter } = first;
    const earlier = billed.filter(
      ({ usage }) => usage.period.index === period && usage.meter.id === meter.id,
    );
    return [
      {
        bill,
        period: periodAt({ start: startDate, billingDay }, interval, period),
        setupMode: setupPeriods.has(period),
        meter,
        events: BigInt(group.length),
        quantity: {
          unscaled: group.reduce((whole, { quantity }) => whole + quantity, 0n),
          scale: 4,
        },
        before: sum(earlier.map(({ usage }) => usage.quantity)),
        priced: earlier.at(-1)?.priced ?? zero,
      },
    ];
  });
}

/** Performs what is due on a later day, by default as the billing run does. */
export function pass(
  life: UsedLife,
  days: number,
  decide: (facts: BillingState) => DueDecision | null = decideDue,
): UsedLife {
  let after: UsedLife = {
    ...life,
    state: { ...life.state, today: addDays(life.state.today, days) },
  };
  for (;;) {
    const state = { ...after.state, usage: openOf(after) };
    const due = decide(state);
    if (due === null) return after;
    const setupPeriods = due.periods.filter(({ setupMode }) => setupMode).map(({ index }) => index);
    after = {
      ...take(after, due),
      state: { ...afterDue(state, due), usage: null },
      setupPeriods: new Set([...after.setupPeriods, ...setupPeriods]),
    };
  }
}

/**
 * Reports an event of so many days ago, or of tomorrow by a clock that is ahead. The state stays if
 * the event is rejected.
 */
export function report(
  life: UsedLife,
  meter: PricedMeter,
  quantity: bigint,
  daysAgo: number,
): UsedLife {
  const { subscription, period, usageBills, today } = life.state;
  const { status, endDate, startDate, billingDay, interval } = subscription;
  const day = addDays(today, -daysAgo);
  const isAfterEnd =
    endDate !== null && compareDates(day, status === "ended" ? addDays(endDate, 1) : endDate) >= 0;
  const own = periodContaining({ start: startDate, billingDay }, interval, day);
  if (own === null || isAfterEnd) return life;
  const bill = usageBills.open + Math.max(0, own.index - period.index);
  return { ...life, events: [...life.events, { meter, quantity, period: own.index, bill }] };
}

/** Ends it; the state stays if that is refused. */
export function end(life: UsedLife, when: EndWhen): UsedLife {
  const state = { ...life.state, usage: openOf(life) };
  try {
    const request = { when, deleteUnsentInvoices: false, voidApprovedInvoices: false };
    const decision = decideEnd({ state, invoices: [] }, request);
    if (decision.kind === "unchanged") return life;
    const invoices = state.invoices.filter(({ id }) => !decision.removals.includes(id));
    const ended = decideEnded({ ...state, invoices }, when);
    const { subscription, usageBills } = ended;
    return {
      ...take(life, ended),
      state: { ...state, invoices, subscription, usageBills, usage: null },
    };
  } catch (error) {
    if (error instanceof Refusal) return life;
    throw error;
  }
}

/** Restores it; the state stays if that is refused. */
export function restore(life: UsedLife): UsedLife {
  try {
    const { subscription } = decideRestoration({
      state: life.state,
      customerStatus: "active",
      removed: [],
    });
    return { ...life, state: { ...life.state, subscription } };
  } catch (error) {
    if (error instanceof Refusal) return life;
    throw error;
  }
}

/** Switches Setup Mode. */
export function setUp(life: UsedLife, setupMode: boolean): UsedLife {
  const { state } = life;
  return { ...life, state: { ...state, organisation: { ...state.organisation, setupMode } } };
}

/** Has the ledger approve what stands, so that usage can join it no more. */
export function approve(life: UsedLife): UsedLife {
  const invoices = life.state.invoices.map((invoice) => ({
    ...invoice,
    status: "approved" as const,
  }));
  return { ...life, state: { ...life.state, invoices } };
}

/** What a close takes, with what every document bills held against what it is noted for. */
function take(
  life: UsedLife,
  closed: ClosedUsage & { readonly invoices: readonly DueInvoice[] },
): UsedLife {
  const { invoices, joined, creditNotes, unbilled } = closed;
  const amountsOf = (usage: readonly BilledUsage[]) => sum(usage.map(({ amount }) => amount));
  for (const { draft, usage } of invoices) {
    const lines = draft.lines.filter(({ kind }) => kind === "usage");
    expect(lines.map(({ amount, quantity, meterId }) => [amount, quantity, meterId])).toEqual(
      usage.map(({ amount, usage: of }) => [amount, of.quantity, of.meter.id]),
    );
    expect(draft.type === "usage" && draft.subtotal.unscaled === 0n).toBe(false);
  }
  for (const { draft, usage } of creditNotes)
    expect(equals(draft.subtotal, negate(amountsOf(usage)))).toBe(true);
  expect(joined === null || joined.amendment.added.length === joined.usage.length).toBe(true);
  expect(amountsOf(unbilled).unscaled).toBe(0n);
  const taken = [
    ...invoices.flatMap(({ usage }) => usage),
    ...creditNotes.flatMap(({ usage }) => usage),
    ...unbilled,
  ];
  const all = [...taken, ...(joined?.usage ?? [])];
  for (const { usage } of all) {
    expect(usage.bill).toBeGreaterThanOrEqual(life.state.usageBills.billed);
    expect(usage.bill).toBeLessThan(closed.usageBills.billed);
  }
  // In the order in which their quantities were added up.
  return {
    ...life,
    billed: [...life.billed, ...all.toSorted((left, right) => left.usage.bill - right.usage.bill)],
    issued: [
      ...life.issued,
      ...invoices.map(({ draft: { lines } }) => ({ object: "invoice" as const, lines })),
      ...(joined === null ? [] : [{ object: "invoice" as const, lines: joined.amendment.added }]),
      ...creditNotes.map(({ draft: { lines } }) => ({ object: "credit_note" as const, lines })),
    ],
  };
}
