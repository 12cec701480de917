/**
 * Which lines of the ledger answer for an amendment that it may have taken already: none is billed twice, none is
 * forgotten.
 */
import { expect, test } from "vitest";
import { unknownReferenceData } from "../../../src/domain/billing/ledger-validation.ts";
import type { LedgerLine } from "../../../src/ledger/port/ledger.ts";
import { xeroTraits } from "../../../src/ledger/xero/wire/connection.ts";
import type { AmendmentLine, AmendmentToSend } from "../../../src/store/ledger-jobs/amendments.ts";
import {
  faultOf,
  standingLines as findStandingLines,
} from "../../../src/worker/activities/posting/request-amendment.ts";

function ours(id: string, line: Partial<AmendmentLine> = {}): AmendmentLine {
  return {
    id,
    kind: "proration",
    name: "Team",
    description: "2 to 3 seats",
    units: null,
    unit_price: null,
    amount: "12.5000",
    revenue_account: "200",
    tax_type: null,
    amending: true,
    ledger_line_id: null,
    ...line,
  };
}

function ledgers(ledgerLineId: string, line: Partial<LedgerLine> = {}): LedgerLine {
  return { ledgerLineId, description: "Team: 2 to 3 seats", amount: "12.5000", ...line };
}

const { documents: rules } = xeroTraits;

/** The lines of a ledger whose descriptions have 4,000 characters at most. */
const standingLines = (...args: [readonly AmendmentLine[], readonly LedgerLine[]]) =>
  findStandingLines(...args, 4_000);

const plan = {
  kind: "plan",
  description: "3 × 12.5000",
  amount: "37.5000",
  ledger_line_id: "plan",
} as const;
const planInLedger = ledgers("plan", { description: "Team: 3 × 12.5000", amount: "37.5000" });

test("lines that stand there are found, each under its id", () => {
  const found = standingLines([ours("a", plan), ours("b")], [ledgers("x"), planInLedger]);
  expect(found).toEqual([
    { id: "a", ledgerLineId: "plan" },
    { id: "b", ledgerLineId: "x" },
  ]);
});

test("a line that is not there, or for another amount or reason, leaves nothing found", () => {
  for (const line of [
    { amount: "12.5100" },
    { description: "Team: 2 to 4 seats" },
    { description: "Team: 2 to 3 seats of 9" },
  ]) {
    expect(standingLines([ours("a")], [ledgers("x", line)])).toBeNull();
  }
  expect(standingLines([ours("a", plan), ours("b")], [planInLedger])).toBeNull();
  expect(standingLines([ours("a", plan), ours("b")], [ledgers("x")])).toBeNull();
});

test("a line that was to be re-priced and is as it was leaves nothing found", () => {
  const before = ledgers("plan", { description: "Team: 2 × 12.5000", amount: "25.0000" });
  expect(standingLines([ours("a", plan)], [before])).toBeNull();
});

test("a re-priced line that stands under another id is found", () => {
  const moved = { ...planInLedger, ledgerLineId: "other" };
  expect(standingLines([ours("a", plan)], [moved])).toEqual([{ id: "a", ledgerLineId: "other" }]);
});

test("spaces and an arithmetic at its end make no other line of it", () => {
  const description = "Team:  2 to 3 seats (3 × 4.1667 = 12.50)";
  expect(standingLines([ours("a")], [ledgers("x", { description })])).toEqual([
    { id: "a", ledgerLineId: "x" },
  ]);
  const long = ours("a", { description: "y".repeat(5_000) });
  const cut = `Team: ${"y".repeat(3_960)} (3 × 4.1667 = 12.50)`;
  expect(standingLines([long], [ledgers("x", { description: cut })])).toEqual([
    { id: "a", ledgerLineId: "x" },
  ]);
});

test("two that look alike need two lines, and one that another of ours is known by answers for none", () => {
  expect(standingLines([ours("a"), ours("b")], [ledgers("x")])).toBeNull();
  expect(standingLines([ours("a"), ours("b")], [ledgers("x"), ledgers("y")])).toEqual([
    { id: "a", ledgerLineId: "x" },
    { id: "b", ledgerLineId: "y" },
  ]);
  const known = ours("a", { amending: false, ledger_line_id: "x" });
  expect(standingLines([known, ours("b")], [ledgers("x")])).toBeNull();
  expect(standingLines([known, ours("b")], [ledgers("x"), ledgers("y")])).toEqual([
    { id: "b", ledgerLineId: "y" },
  ]);
});

test("an amendment that may have taken effect is the ledger's to judge, whatever it is known to offer; a first attempt is judged here", () => {
  const amendment: AmendmentToSend = {
    ...{ id: "a", attempts: 1, joins: true, is_awaited: false, skip_validation: false },
    ...{
      subscription_id: "s",
      invoice_id: "i",
      number: "INV-0001",
      ledger_id: "l",
      lines: [ours("a")],
    },
  };
  const archived = { ...unknownReferenceData, accounts: { "200": false } };
  expect(faultOf(amendment, archived, rules)).toMatchObject({ reason: "account_invalid" });
  expect(faultOf({ ...amendment, attempts: 2 }, archived, rules)).toBeNull();
  expect(faultOf({ ...amendment, skip_validation: true }, archived, rules)).toBeNull();
  // What is wrong in itself was so at the first attempt: nothing can have come of that.
  const unknownPlan = [ours("a", { ...plan, ledger_line_id: null })];
  expect(
    faultOf({ ...amendment, attempts: 2, lines: unknownPlan }, unknownReferenceData, rules),
  ).toMatchObject({
    reason: "validation",
  });
});
