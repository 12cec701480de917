/**
 * Finds the lines of an amendment that the ledger may have made already. None is billed twice, and
 * none is left out.
 */
import { expect, test } from "vitest";
import { unknownReferenceData } from "../../../src/domain/ledger/validation.ts";
import type { LedgerLine } from "../../../src/ledger/port/ledger.ts";
import { xeroTraits } from "../../../src/ledger/xero/wire/connection.ts";
import type {
  AmendmentLine,
  AmendmentToSend,
} from "../../../src/store/ledger-jobs/amendments/amendments.ts";
import { matchLines } from "../../../src/worker/activities/posting/document-lines.ts";
import { faultOf } from "../../../src/worker/activities/posting/request-amendment.ts";

function ours(id: string, line: Partial<AmendmentLine> = {}): AmendmentLine {
  return {
    id,
    kind: "proration",
    name: "Team",
    description: "2 to 3 seats",
    units: null,
    unitPrice: null,
    amount: "12.5000",
    revenueAccount: "200",
    taxType: null,
    amending: true,
    ledgerLineId: null,
    was: null,
    ...line,
  };
}

function ledgers(ledgerLineId: string, line: Partial<LedgerLine> = {}): LedgerLine {
  return { ledgerLineId, description: "Team: 2 to 3 seats", amount: "12.5000", ...line };
}

const { documents: rules } = xeroTraits;

/** The lines of a ledger whose descriptions have 4,000 characters at most. */
const matched = (...args: [readonly AmendmentLine[], readonly LedgerLine[]]) =>
  matchLines(...args, 4_000);

const plan = {
  kind: "plan",
  description: "3 × 12.5000",
  amount: "37.5000",
  ledgerLineId: "plan",
} as const;
const planInLedger = ledgers("plan", { description: "Team: 3 × 12.5000", amount: "37.5000" });

test("lines in the ledger are found, each with its id", () => {
  const found = matched([ours("a", plan), ours("b")], [ledgers("x"), planInLedger]);
  expect(found).toEqual([
    { id: "a", ledgerLineId: "plan" },
    { id: "b", ledgerLineId: "x" },
  ]);
});

test("a missing line, or one with another amount or text, finds nothing", () => {
  for (const line of [
    { amount: "12.5100" },
    { description: "Team: 2 to 4 seats" },
    { description: "Team: 2 to 3 seats of 9" },
  ]) {
    expect(matched([ours("a")], [ledgers("x", line)])).toBeNull();
  }
  expect(matched([ours("a", plan), ours("b")], [planInLedger])).toBeNull();
  expect(matched([ours("a", plan), ours("b")], [ledgers("x")])).toBeNull();
});

test("an unchanged line that was to be re-priced finds nothing", () => {
  const before = ledgers("plan", { description: "Team: 2 × 12.5000", amount: "25.0000" });
  expect(matched([ours("a", plan)], [before])).toBeNull();
});

test("a re-priced line with another id is found", () => {
  const moved = { ...planInLedger, ledgerLineId: "other" };
  expect(matched([ours("a", plan)], [moved])).toEqual([{ id: "a", ledgerLineId: "other" }]);
});

test("spaces and appended arithmetic do not matter", () => {
  const description = "Team:  2 to 3 seats (3 × 4.1667 = 12.50)";
  expect(matched([ours("a")], [ledgers("x", { description })])).toEqual([
    { id: "a", ledgerLineId: "x" },
  ]);
  const long = ours("a", { description: "y".repeat(5_000) });
  const cut = `Team: ${"y".repeat(3_960)} (3 × 4.1667 = 12.50)`;
  expect(matched([long], [ledgers("x", { description: cut })])).toEqual([
    { id: "a", ledgerLineId: "x" },
  ]);
});

test("two equal lines need two lines, and a line known as another one matches none", () => {
  expect(matched([ours("a"), ours("b")], [ledgers("x")])).toBeNull();
  expect(matched([ours("a"), ours("b")], [ledgers("x"), ledgers("y")])).toEqual([
    { id: "a", ledgerLineId: "x" },
    { id: "b", ledgerLineId: "y" },
  ]);
  const known = ours("a", { amending: false, ledgerLineId: "x" });
  expect(matched([known, ours("b")], [ledgers("x")])).toBeNull();
  expect(matched([known, ours("b")], [ledgers("x"), ledgers("y")])).toEqual([
    { id: "b", ledgerLineId: "y" },
  ]);
});

test("a known line that an equal one replaced answers for itself, not for an added one", () => {
  const known = ours("a", { amending: false, ledgerLineId: "gone" });
  expect(matched([known, ours("b")], [ledgers("x")])).toBeNull();
  expect(matched([known, ours("b")], [ledgers("x"), ledgers("y")])).toEqual([
    { id: "b", ledgerLineId: "y" },
  ]);
});

test("reference data validates only the first attempt of an amendment", () => {
  const amendment: AmendmentToSend = {
    ...{ id: "a", attempts: 1, joins: true, isAwaited: false, skipValidation: false },
    ...{
      subscriptionId: "s",
      invoiceId: "i",
      number: "INV-0001",
      ledgerId: "l",
      contactId: "c",
      currency: "USD",
      ledgerSubtotal: null,
      lines: [ours("a")],
    },
  };
  const archived = { ...unknownReferenceData, accounts: { "200": false } };
  expect(faultOf(amendment, archived, rules)).toMatchObject({ reason: "account_invalid" });
  expect(faultOf({ ...amendment, attempts: 2 }, archived, rules)).toBeNull();
  expect(faultOf({ ...amendment, skipValidation: true }, archived, rules)).toBeNull();
  // A fault of the lines themselves existed at the first attempt, so nothing was sent.
  const unknownPlan = [ours("a", { ...plan, ledgerLineId: null })];
  expect(
    faultOf({ ...amendment, attempts: 2, lines: unknownPlan }, unknownReferenceData, rules),
  ).toMatchObject({
    reason: "drift",
  });
});
