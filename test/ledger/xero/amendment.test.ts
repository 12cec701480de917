/** The lines of an amended invoice: unchanged, changed, added and found again. No server. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decimalTextOf } from "../../../src/ledger/port/decimal-text.ts";
import {
  type ExactObject,
  readExactJson,
  writeExactJson,
} from "../../../src/ledger/port/exact-json.ts";
import type { LedgerLineChange } from "../../../src/ledger/port/ledger.ts";
import { amended } from "../../../src/ledger/port/lines/placed-changes.ts";
import {
  amendLines,
  type LineAmendment,
} from "../../../src/ledger/xero/documents/line-amendment.ts";
import { readInvoice, readLine } from "../../../src/ledger/xero/wire/read-shapes.ts";

const seats: ExactObject = {
  LineItemID: "line-1",
  Description: "Seats",
  Quantity: "3.0000",
  UnitAmount: "10.5000",
  AccountCode: "200",
  TaxType: "NONE",
  TaxAmount: "0.00",
  LineAmount: "31.50",
  Tracking: [],
  ValidationErrors: [],
};

const setUp: ExactObject = {
  ...seats,
  LineItemID: "line-2",
  Description: "Set-up",
  Quantity: "1",
  LineAmount: "10.50",
};

function change(changes: Partial<LedgerLineChange> = {}): LedgerLineChange {
  return {
    ledgerLineId: null,
    description: "Seats",
    quantity: "3",
    unitAmount: "10.5000",
    amount: "31.5000",
    accountCode: "200",
    taxType: "NONE",
    ...changes,
  };
}

const more = { quantity: "4", amount: "42.0000" } as const;

function amend(
  elements: readonly ExactObject[],
  ...changes: readonly LedgerLineChange[]
): LineAmendment {
  const amendment = amendLines(elements, changes);
  if (!amendment) throw new Error("the lines cannot be sent back");
  return amendment;
}

/** The ids of the changed lines in an answer with these lines. Undefined if it lacks one. */
function idsIn(
  answer: readonly ExactObject[],
  before: readonly ExactObject[],
  { placed }: LineAmendment,
): readonly string[] | undefined {
  const invoice = readInvoice({
    InvoiceID: "invoice",
    InvoiceNumber: "INV-1",
    Contact: { ContactID: "contact" },
    Status: "DRAFT",
    CurrencyCode: "NZD",
    DateString: "2026-03-01",
    UpdatedDateUTC: "/Date(1540000000000)/",
    ...{ SubTotal: "0", TotalTax: "0", Total: "0", AmountDue: "0" },
    LineItems: answer,
  });
  if (invoice === undefined) throw new Error("the invoice cannot be read");
  const found = amended(placed, before.map(readLine), invoice, true);
  return found.kind === "ok" ? found.value.lineIds : undefined;
}

function sentOf(amendment: LineAmendment): readonly ExactObject[] {
  return readExactJson(writeExactJson(amendment.lines)) as readonly ExactObject[];
}

// What a ledger makes of what was sent: ids for added lines, totals for all.
function answerOf(amendment: LineAmendment): readonly ExactObject[] {
  return sentOf(amendment).map((line, index) => ({
    LineItemID: `new-${index}`,
    ...line,
    LineAmount: decimalTextOf(
      BigInt(Math.round(Number(line.Quantity) * Number(line.UnitAmount) * 100)),
      2,
    ),
  }));
}

describe("lines that stand", () => {
  test("are sent back under their ids with their content, without computed values", () => {
    const byHand: ExactObject = {
      LineItemID: "line-9",
      Description: "Freight",
      Quantity: "2.5000",
      UnitAmount: "0.3333",
      ItemCode: "FRT",
      AccountCode: "260",
      AccountID: "an-account",
      TaxType: "OUTPUT2",
      TaxAmount: "0.14",
      LineAmount: "0.75",
      DiscountRate: "10.00",
      DiscountAmount: "0.08",
      DiscountEnteredAsPercent: true,
      Tracking: [
        {
          Name: "Region",
          Option: "North",
          TrackingCategoryID: "c",
          TrackingOptionID: "o",
          Extra: "x",
        },
      ],
      Item: { ItemID: "i", Code: "FRT" },
      ValidationErrors: [],
    };
    const [kept] = sentOf(amend([byHand], change()));
    expect(kept).toEqual({
      LineItemID: "line-9",
      Description: "Freight",
      Quantity: "2.5",
      UnitAmount: "0.3333",
      ItemCode: "FRT",
      AccountCode: "260",
      TaxType: "OUTPUT2",
      TaxAmount: "0.14",
      DiscountRate: "10",
      Tracking: [
        { Name: "Region", Option: "North", TrackingCategoryID: "c", TrackingOptionID: "o" },
      ],
    });
  });

  test("keep the entered discount, a missing account and a text without amounts", () => {
    const amount: ExactObject = {
      ...seats,
      DiscountRate: "3.17",
      DiscountAmount: "1.00",
      DiscountEnteredAsPercent: false,
    };
    expect(sentOf(amend([amount], change()))[0]).toMatchObject({ DiscountAmount: "1" });
    expect(sentOf(amend([amount], change()))[0]).not.toHaveProperty("DiscountRate");
    const uncoded: ExactObject = { ...seats, AccountCode: undefined, AccountID: "an-account" };
    expect(sentOf(amend([uncoded], change({ description: "x" })))[0]).toMatchObject({
      AccountID: "an-account",
    });
    const words: ExactObject = { LineItemID: "line-3", Description: "Thank you" };
    expect(sentOf(amend([words], change()))[0]).toEqual(words);
  });

  test("keep every digit of a number, and lose an exponent", () => {
    const odd: ExactObject = { ...seats, Quantity: "123456789012345.6789", UnitAmount: "1E-05" };
    expect(writeExactJson(amend([odd], change()).lines)).toContain(
      '"Quantity":123456789012345.6789,"UnitAmount":0.00001',
    );
  });

  test.each([
    { LineItemID: "" },
    { LineItemID: "00000000-0000-0000-0000-000000000000" },
    { LineItemID: null },
    { LineItemID: "line-2" },
    { Quantity: "three" },
    { UnitAmount: true },
    { TaxAmount: [] },
  ])("that cannot be sent back as they are stop the amendment: %o", (fault) => {
    expect(amendLines([{ ...seats, ...fault }, setUp], [change()])).toBeUndefined();
  });
});

describe("a change", () => {
  test("of a named line takes its place under its id, and the others stay", () => {
    const amendment = amend(
      [seats, setUp],
      change({ ledgerLineId: "line-1", ...more, taxType: "OUTPUT2" }),
    );
    expect(amendment.isSame).toBe(false);
    expect(sentOf(amendment)).toMatchObject([
      {
        LineItemID: "line-1",
        Description: "Seats",
        Quantity: "4",
        UnitAmount: "10.5",
        TaxType: "OUTPUT2",
      },
      { LineItemID: "line-2", Description: "Set-up", Quantity: "1" },
    ]);
    expect(sentOf(amendment)[0]).not.toHaveProperty("TaxAmount");
  });

  test("of a named line keeps what we say nothing of, and takes a discount away", () => {
    const tracked = {
      ...seats,
      ItemCode: "SEAT",
      DiscountRate: "50",
      Tracking: [{ Name: "Region", Option: "North" }],
    };
    const [sent] = sentOf(amend([tracked], change({ ledgerLineId: "line-1" })));
    expect(sent).toMatchObject({
      ItemCode: "SEAT",
      DiscountRate: "0",
      Tracking: [{ Name: "Region", Option: "North" }],
    });
  });

  test("that says what stands changes nothing", () => {
    const same = [
      change({ ledgerLineId: "line-1" }),
      change({ ledgerLineId: "line-1", taxType: null, quantity: "3.0000", unitAmount: "10.5" }),
      change({ ledgerLineId: "line-1", description: " Seats\r\n" }),
    ];
    for (const one of same) expect(amend([seats, setUp], one)).toMatchObject({ isSame: true });
    expect(amend([seats])).toMatchObject({ isSame: true });
    const others = [
      { description: "Chairs" },
      more,
      { accountCode: "260" },
      { taxType: "OUTPUT2" },
    ];
    for (const one of others) {
      expect(amend([seats, setUp], change({ ledgerLineId: "line-1", ...one }))).toMatchObject({
        isSame: false,
      });
    }
  });

  test("without a name is added without an id behind all others", () => {
    const sent = sentOf(amend([seats, setUp], change(more)));
    expect(sent).toHaveLength(3);
    expect(sent[2]).toEqual({
      Description: "Seats",
      Quantity: "4",
      UnitAmount: "10.5",
      AccountCode: "200",
      TaxType: "NONE",
    });
  });

  test("without an id is not added if its description and amount exist already", () => {
    expect(amend([seats], change())).toMatchObject({
      isSame: true,
      placed: [{ lineId: "line-1" }],
    });
    const worded = { ...seats, Description: "Seats (2.5 × 10.333 = 25.83)", LineAmount: "25.83" };
    const one = change({ quantity: "2.5", unitAmount: "10.3330", amount: "25.8300" });
    expect(amend([worded], one)).toMatchObject({ isSame: true });
    expect(amend([worded], change({ ...one, amount: "25.8400" }))).toMatchObject({ isSame: false });
  });

  test("without a name never takes a line that another change names", () => {
    const amendment = amend([seats], change(), change({ ledgerLineId: "line-1" }));
    expect(amendment.placed.map(({ lineId }) => lineId)).toEqual([null, "line-1"]);
    expect(sentOf(amendment)).toHaveLength(2);
  });

  test("twice the same needs two lines: one that stands answers for one of them", () => {
    const amendment = amend([seats], change(), change());
    expect(amendment.placed.map(({ lineId }) => lineId)).toEqual(["line-1", null]);
    expect(sentOf(amendment)).toHaveLength(2);
    expect(amend([seats, { ...seats, LineItemID: "line-7" }], change(), change())).toMatchObject({
      isSame: true,
    });
  });

  test("of a line that is gone is reported, unless an equal line exists", () => {
    const gone = change({ ledgerLineId: "gone", ...more });
    expect(amend([setUp], gone)).toMatchObject({ isGone: true });
    const added = amend([setUp], change({ ledgerLineId: null, ...more }));
    expect(amend(answerOf(added), gone)).toMatchObject({ isGone: false, isSame: true });
  });

  const was = { ...change(), ledgerLineId: undefined };
  const recreated: ExactObject = { ...seats, LineItemID: "line-5" };

  test("of a line that another program replaced by an equal one takes the new one's place", () => {
    const higher = change({ ledgerLineId: "line-1", ...more, was });
    const amendment = amend([setUp, recreated], higher, change({ description: "Third" }));
    expect(amendment).toMatchObject({ isGone: false, isSame: false });
    expect(amendment.placed.map(({ lineId }) => lineId)).toEqual(["line-5", null]);
    expect(sentOf(amendment)).toMatchObject([
      { LineItemID: "line-2", Quantity: "1" },
      { LineItemID: "line-5", Quantity: "4" },
      { Description: "Third" },
    ]);
  });

  test.each<[string, readonly ExactObject[], readonly LedgerLineChange[]]>([
    ["two lines have its content", [recreated, { ...recreated, LineItemID: "line-6" }], []],
    ["its content has other words", [{ ...recreated, Description: "Chairs" }], []],
    ["its amount is another", [{ ...recreated, LineAmount: "31.51" }], []],
    ["the only line with its content may be an added one", [recreated], [change()]],
  ])("of a line that is gone takes no line if %s", (_why, elements, others) => {
    const higher = change({ ledgerLineId: "line-1", ...more, was });
    expect(amend([setUp, ...elements], higher, ...others)).toMatchObject({ isGone: true });
  });

  test("of a line that is gone takes no line that another gone one may be", () => {
    const one = change({ ledgerLineId: "line-1", ...more, was });
    const other = change({ ledgerLineId: "line-7", ...more, was });
    expect(amend([recreated], one, other)).toMatchObject({ isGone: true });
  });

  test("of a line that another change names too is a mistake of the caller", () => {
    const twice = change({ ledgerLineId: "line-1" });
    expect(() => amendLines([seats], [twice, twice])).toThrow("two changes of one line");
  });

  test("is found in the answer by its id or its text, in the order of changes", () => {
    const amendment = amend(
      [seats, setUp],
      change({ description: "Second", amount: "42.0000", quantity: "4" }),
      change({ ledgerLineId: "line-2", ...more }),
      change({ description: "Third" }),
    );
    const lines = answerOf(amendment);
    const ids = (answer: readonly ExactObject[]) => idsIn(answer, [seats, setUp], amendment);
    expect(ids(lines)).toEqual(["new-2", "line-2", "new-3"]);
    expect(ids(lines.toReversed())).toEqual(["new-2", "line-2", "new-3"]);
    for (const missing of ["new-2", "line-2", "new-3"])
      expect(ids(lines.filter(({ LineItemID }) => LineItemID !== missing))).toBeUndefined();
    expect(ids(lines.map((line) => ({ ...line, LineAmount: "1.00" })))).toBeUndefined();
  });
});

test("repeated changes nothing and neither loses nor doubles a line", () => {
  const words = fc.constantFrom("Seats", "Set-up", "Support");
  const units = fc.integer({ min: 0, max: 3 });
  const standing = fc.array(fc.tuple(words, units), { maxLength: 5 });
  const wanted = fc.array(fc.tuple(fc.option(fc.integer({ min: 0, max: 6 })), words, units), {
    maxLength: 5,
  });
  let sent = 0;
  const amountOf = (count: number) => decimalTextOf(BigInt(count) * 105_000n, 4);
  fc.assert(
    fc.property(standing, wanted, (lines, drafts) => {
      const elements = lines.map(([Description, count], index) => ({
        ...seats,
        LineItemID: `line-${index}`,
        Description,
        Quantity: String(count),
        LineAmount: amountOf(count),
      }));
      const names = new Set<number>();
      const changes = drafts.map(([name, description, count]) => {
        const isFree = name !== null && !names.has(name);
        if (isFree) names.add(name);
        const ledgerLineId = isFree ? `line-${name}` : null;
        return change({
          ledgerLineId,
          description,
          quantity: String(count),
          amount: amountOf(count),
        });
      });
      const amendment = amend(elements, ...changes);
      // A line that is gone is refused: nothing is sent.
      if (amendment.isGone) return;
      sent += 1;
      const after = answerOf(amendment);
      const ids = idsIn(after, elements, amendment);
      expect(new Set(ids).size).toBe(changes.length);
      // Every line that stood is there, and unnamed ones say what they said.
      for (const element of elements) {
        const now = after.find(({ LineItemID }) => LineItemID === element.LineItemID);
        const isNamed = changes.some(({ ledgerLineId }) => ledgerLineId === element.LineItemID);
        expect(now).toMatchObject(
          isNamed ? {} : { Description: element.Description, Quantity: element.Quantity },
        );
      }
      const added = amendment.placed.filter(({ lineId }) => lineId === null).length;
      expect(after).toHaveLength(elements.length + added);
      const again = amend(after, ...changes);
      expect(again.isSame).toBe(true);
      expect(again.placed.every(({ lineId }) => lineId !== null)).toBe(true);
    }),
  );
  expect(sent).toBeGreaterThan(30);
});
