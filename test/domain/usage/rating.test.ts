/** The amount of usage: a period's whole sum less the priced part, rounded once. USAGE-9. */
import { describe, expect, it } from "vitest";
import { chargeUsage, usageInvoice } from "../../../src/domain/billing/usage-charges.ts";
import type { OpenUsage } from "../../../src/domain/model/usage.ts";
import { formatDecimal, formatShort, parseDecimal } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { meterOf, storage, usageOf, usageSummary } from "../billing/open-usage-builder.ts";
import { tiersOf } from "../catalogue/catalogue.ts";
import { creditSummary, type StateOrder, stateOf } from "../subscriptions/billing-state-builder.ts";

const d = parseDecimal;

/** The charges of the ordered state, by default of June 2026, period 5. */
const charge = (usage: readonly OpenUsage[], order: StateOrder = {}) =>
  chargeUsage(stateOf(order), usage);

/** Each line in short, and what is credited. */
function linesOf(usage: readonly OpenUsage[], order: StateOrder = {}): readonly string[] {
  const { lines, creditNote } = charge(usage, order);
  const charged = lines.map(({ line }) => `${formatDecimal(line.amount)} ${line.description}`);
  return creditNote === null
    ? charged
    : [...charged, ...creditSummary(creditNote).map((line) => `credit ${line}`)];
}

/** What the amounts stand for afterwards. */
const pricedOf = (usage: readonly OpenUsage[]): readonly string[] =>
  charge(usage).lines.map(({ billed: { priced } }) => formatShort(priced));

function refusalOf(usage: readonly OpenUsage[]): readonly [string, string] | null {
  try {
    charge(usage);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.message];
    throw error;
  }
}

const tiered = meterOf({
  type: "tiered",
  price: d("0"),
  tiers: tiersOf([1000, "0.02"], [null, "0.01", "5"]),
});
const steps = meterOf({
  type: "stairstep",
  price: d("0"),
  tiers: tiersOf([10, null, "50"], [null, null, "100"]),
});

describe("the line of a meter", () => {
  it("has quantity, price, arithmetic, period and account, and takes no discount", () => {
    const order = { subscription: { discountPercent: d("50") } };
    const { lines, ...rest } = charge([usageOf("12.3456", { events: 3n })], order);
    expect(lines.map(({ line }) => line)).toEqual([
      {
        kind: "usage",
        name: "API calls",
        description: "12.3456 call: 12.3456 × 0.5000",
        units: null,
        quantity: d("12.3456"),
        unitPrice: d("0.50"),
        amount: d("6.17"),
        facts: expect.objectContaining({ r: "usage/1", q: "12.3456", b: "0", k: "0", n: 3 }),
        period: { start: "2026-06-01", end: "2026-07-01" },
        proration: null,
        chargeId: null,
        meterId: "calls",
        revenueAccount: "200",
        taxType: "OUTPUT",
      },
    ]);
    expect(rest).toEqual({ credited: [], creditNote: null, unpriced: [], isCharged: true });
  });

  it.each([
    ["tiered", tiered, "1500", "30.0000 1500 call: 1000 × 0.0200 + 500 × 0.0100 + 5.0000", null],
    ["tiered, in its first band", tiered, "1000", "20.0000 1000 call: 1000 × 0.0200", "0.02"],
    ["volume", storage, "10.0001", "10.0000 10.0001 GB: 10.0001 × 1.0000", "1"],
    ["volume, on its bound", storage, "10", "20.0000 10 GB: 10 × 2.0000", "2"],
    ["stairstep", steps, "10.5", "100.0000 10.5 call: 100.0000", null],
  ])("is priced over the sum, and names a single price: %s", (_, meter, quantity, line, price) => {
    expect(linesOf([usageOf(quantity, { meter })])).toEqual([line]);
    expect(charge([usageOf(quantity, { meter })]).lines[0]?.line.unitPrice).toEqual(
      price === null ? null : d(price),
    );
  });

  it("uses the meter's account and tax type, else the organisation's, else none", () => {
    const own = meterOf({ revenueAccount: "260", taxType: "ZERO" });
    const accountsOf = (usage: OpenUsage, order: StateOrder = {}) =>
      charge([usage], order).lines.map(({ line }) => [line.revenueAccount, line.taxType]);
    expect(accountsOf(usageOf("1", { meter: own }))).toEqual([["260", "ZERO"]]);
    expect(accountsOf(usageOf("1", { meter: meterOf({ taxType: "ZERO" }) }))).toEqual([
      ["200", "ZERO"],
    ]);
    const unmapped = { organisation: { revenueAccount: null, taxType: null } };
    expect(accountsOf(usageOf("1"), unmapped)).toEqual([[null, null]]);
  });

  it.each([
    ["EUR", "0.01", "0.5", "0.0100"],
    ["EUR", "0.01", "0.49", "0.0000"],
    ["JPY", "1", "2.5", "3.0000"],
    ["JPY", "1", "2.4999", "2.0000"],
    ["KWD", "0.0005", "1", "0.0010"],
    ["KWD", "0.0005", "0.9999", "0.0000"],
  ])("is rounded once to the minor unit of %s: %s × %s", (currency, price, quantity, amount) => {
    const usage = usageOf(quantity, { meter: meterOf({ price: d(price) }) });
    const { lines } = charge([usage], { subscription: { currency } });
    expect(lines.map(({ line }) => formatDecimal(line.amount))).toEqual([amount]);
  });

  it("carries a quantity of any size without losing a digit", () => {
    const meter = meterOf({ price: d("0.0001") });
    const { lines } = charge([usageOf("9999999999999999.9999", { meter })]);
    expect(lines[0]?.line).toMatchObject({
      quantity: d("9999999999999999.9999"),
      amount: d("1000000000000.00"),
      description: "9999999999999999.9999 call: 9999999999999999.9999 × 0.0001",
    });
  });
});

describe("usage of a period of which some was billed", () => {
  it("is the whole sum's price less what that came to", () => {
    const more = "500 call more in the period from 2026-06-01";
    expect(linesOf([usageOf("500", { before: "1000", meter: tiered })])).toEqual([
      `10.0000 ${more}: 1000 × 0.0200 + 500 × 0.0100 + 5.0000 for 1500, ` +
        "less 1000 × 0.0200 for 1000",
    ]);
    expect(linesOf([usageOf("0.5", { before: "10", meter: steps })])).toEqual([
      "50.0000 0.5 call more in the period from 2026-06-01: 100.0000 for 10.5, less 50.0000 for 10",
    ]);
  });

  it("names a single price of the earlier bill and of this one", () => {
    const priceOf = (usage: OpenUsage) => charge([usage]).lines[0]?.line.unitPrice;
    expect(priceOf(usageOf("5", { before: "10" }))).toEqual(d("0.50"));
    expect(priceOf(usageOf("100", { before: "900", meter: tiered }))).toEqual(d("0.02"));
    expect(priceOf(usageOf("101", { before: "900", meter: tiered }))).toBeNull();
    expect(priceOf(usageOf("1", { before: "11", meter: storage }))).toEqual(d("1"));
    expect(priceOf(usageOf("20", { before: "10", meter: storage }))).toBeNull();
    expect(priceOf(usageOf("0.5", { before: "10", meter: steps }))).toBeNull();
  });

  it("of an earlier period names that, whether some was billed or not", () => {
    expect(linesOf([usageOf("4", { index: 4 }), usageOf("2", { index: 3, before: "1" })])).toEqual([
      "1.0000 2 call more in the period from 2026-04-01: 3 × 0.5000 for 3, less 1 × 0.5000 for 1",
      "2.0000 4 call in the period from 2026-05-01: 4 × 0.5000",
    ]);
  });

  it("that rounds to zero is billed with later usage, so that rounding loses nothing", () => {
    const meter = meterOf({ price: d("0.004") });
    expect(pricedOf([usageOf("1", { meter })])).toEqual(["0"]);
    const then = usageOf("1", { meter, before: "1", priced: "0" });
    expect(linesOf([then])).toEqual([
      "0.0100 1 call more in the period from 2026-06-01: 2 × 0.0040 for 2",
    ]);
    expect(pricedOf([then])).toEqual(["2"]);
    // Not the price of the quantity next to it, which belongs to the later one.
    expect(charge([then]).lines[0]?.line).toMatchObject({ quantity: d("1"), unitPrice: null });
  });

  it("is a credit if a band is cheaper: lines of a credit note, dated today", () => {
    const usage = [usageOf("1", { meter: storage, before: "10" }), usageOf("2")];
    const { lines, creditNote, credited, isCharged } = charge(usage);
    expect(lines.map(({ billed }) => usageSummary(billed))).toEqual(["calls of 5 in bill 0"]);
    expect(credited).toEqual([{ usage: usage[0], amount: d("-9.00"), priced: d("11") }]);
    expect(isCharged).toBe(true);
    expect(creditNote).toEqual({
      reference: "PO 7",
      currency: "EUR",
      issueDate: "2026-06-10",
      subtotal: d("9.00"),
      lines: [
        {
          name: "Storage",
          description:
            "1 GB more in the period from 2026-06-01: 11 × 1.0000 for 11, less 10 × 2.0000 for 10",
          amount: d("9.00"),
          facts: expect.objectContaining({ r: "usage/1", q: "1", b: "10", k: "10" }),
          effectiveDate: "2026-06-01",
          meterId: "storage",
          revenueAccount: "200",
          taxType: "OUTPUT",
        },
      ],
    });
  });

  it("rounds a credit half away from zero too, and one that rounds to zero is none", () => {
    const meterAt = (cheaper: string) => ({
      ...storage,
      tiers: tiersOf([10, "1"], [null, cheaper]),
    });
    const usage = (cheaper: string) => usageOf("1", { meter: meterAt(cheaper), before: "10" });
    // 11 × 0.9086 = 9.9946 and 11 × 0.9087 = 9.9957, against 10.
    expect(linesOf([usage("0.9086")])[0]).toMatch(/^credit 0\.0100 from 2026-06-01: 1 GB more/);
    expect(linesOf([usage("0.9087")])[0]).toMatch(/^0\.0000 1 GB more/);
    expect(charge([usage("0.9087")]).lines[0]?.billed).toMatchObject({
      amount: d("0.00"),
      priced: d("10"),
    });
  });
});

describe("several at once", () => {
  it("go oldest bill first, then oldest period, the meters of a period in the order given", () => {
    const { lines } = charge([
      usageOf("1", { bill: 2, meter: storage }),
      usageOf("1", { bill: 2 }),
      usageOf("1", { bill: 1, index: 4 }),
      usageOf("1", { bill: 1, index: 3 }),
    ]);
    expect(lines.map(({ billed }) => usageSummary(billed))).toEqual([
      "calls of 3 in bill 1",
      "calls of 4 in bill 1",
      "storage of 5 in bill 2",
      "calls of 5 in bill 2",
    ]);
  });

  it("of one period and meter continue each other, as if billed one by one", () => {
    const usage = [
      usageOf("5", { meter: storage, bill: 2 }),
      usageOf("8", { meter: storage, bill: 1 }),
    ];
    expect(linesOf(usage)).toEqual([
      "16.0000 8 GB: 8 × 2.0000",
      "credit 3.0000 from 2026-06-01: 5 GB more in the period from 2026-06-01: " +
        "13 × 1.0000 for 13, less 8 × 2.0000 for 8",
    ]);
    const small = meterOf({ price: d("0.004") });
    const bills = [1, 2, 3].map((bill) => usageOf("1", { meter: small, bill }));
    expect(linesOf(bills).map((line) => line.slice(0, 6))).toEqual(["0.0000", "0.0100", "0.0000"]);
    expect(pricedOf(bills)).toEqual(["0", "2", "2"]);
  });

  it("are charged if one is above zero, and a line of zero is next to it", () => {
    const free = meterOf({ id: "free", price: d("0") });
    const both = charge([usageOf("7", { meter: free }), usageOf("1")]);
    expect([both.isCharged, both.lines.length]).toEqual([true, 2]);
    const alone = charge([usageOf("7", { meter: free })]);
    expect([alone.isCharged, alone.lines.length, alone.creditNote]).toEqual([false, 1, null]);
    expect(charge([])).toMatchObject({
      isCharged: false,
      lines: [],
      creditNote: null,
      unpriced: [],
    });
  });

  it("leave out usage of a period that began in Setup Mode: it is on no document", () => {
    const usage = [usageOf("3", { index: 4, setupMode: true }), usageOf("1")];
    const { lines, unpriced, credited } = charge(usage);
    expect(lines.map(({ billed }) => usageSummary(billed))).toEqual(["calls of 5 in bill 0"]);
    expect(unpriced).toEqual([{ usage: usage[0], amount: d("0"), priced: d("0") }]);
    expect(credited).toEqual([]);
  });
});

describe("more than a document can hold", () => {
  const million = meterOf({ price: d("1000000") });

  it("is refused, by line and by the sum of the lines, on either side", () => {
    expect(refusalOf([usageOf("999999999.99", { meter: million })])).toBeNull();
    expect(refusalOf([usageOf("1000000000", { meter: million })])).toEqual([
      "invalid_state",
      "The amount of API calls comes to 1000000000000000.0000: " +
        "less than 1000000000000000.0000 can be billed at once. " +
        "Events of API calls have to be voided.",
    ]);
    const half = usageOf("500000000", { meter: million });
    const other = usageOf("500000000", { meter: { ...million, id: "other", name: "Other" } });
    expect(refusalOf([half])).toBeNull();
    expect(refusalOf([half, other])?.[1]).toMatch(
      /^The amount of API calls, Other comes to 1000000000000000\.0000/,
    );
    const falls = { ...storage, tiers: tiersOf([10_000_000, "999999999.9999"], [null, "0"]) };
    expect(refusalOf([usageOf("1", { meter: falls, before: "10000000" })])?.[0]).toBe(
      "invalid_state",
    );
    expect(refusalOf([usageOf("1", { meter: falls, before: "100000" })])).toBeNull();
  });

  it("is nothing if the period is never billed", () => {
    expect(refusalOf([usageOf("1000000000", { meter: million, setupMode: true })])).toBeNull();
  });
});

it("the invoice is of type usage and of the period that ends, dated and due as every other", () => {
  const state = stateOf({ today: "2026-07-03" });
  const draft = usageInvoice(state, charge([usageOf("3"), usageOf("1", { index: 4 })]).lines);
  expect(draft).toMatchObject({
    type: "usage",
    reference: "PO 7",
    currency: "EUR",
    issueDate: "2026-07-03",
    dueDate: "2026-08-02",
    period: { start: "2026-06-01", end: "2026-07-01" },
    periodIndex: 5,
    subtotal: d("2.00"),
    lines: [{ kind: "usage" }, { kind: "usage" }],
  });
});
