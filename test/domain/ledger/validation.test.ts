/**
 * The validation before a request to the ledger: what it refuses, and that unknown reference data
 * refuses nothing.
 */
import { describe, expect, test } from "vitest";
import type { DocumentRules } from "../../../src/domain/billing/document-rules.ts";
import {
  type DocumentToValidate,
  invalidationsOf,
  type LedgerReferenceData,
  unknownReferenceData,
  validateDocument,
} from "../../../src/domain/ledger/validation.ts";

const line = { amount: "12.5000", revenueAccount: "200", taxType: "OUTPUT2" } as const;
const document: DocumentToValidate = {
  currency: "EUR",
  issueDate: "2026-04-10",
  number: "INV-1",
  subtotal: "25.0000",
  isContactGone: false,
  skipValidation: false,
  lines: [line, { ...line, taxType: null }],
};
const rules: DocumentRules = {
  amountPlaces: 2,
  maxLines: 3,
  maxNumberLength: 8,
  maxDescriptionLength: 100,
  hasDrafts: true,
  canAmendApproved: true,
  hasUniqueNumbers: true,
};
const organisation = {
  currency: "NZD",
  multicurrency: true,
  periodLockDate: null,
  yearLockDate: "2026-04-09",
} as const;
const referenceData: LedgerReferenceData = {
  organisation,
  accounts: { "200": true, "205": false },
  tax_rates: { OUTPUT2: true, OLD: false },
  currencies: { EUR: true },
};

/** The reason of the refusal, and the reference data behind it, of the changed document. */
function faultOf(
  changes: Partial<DocumentToValidate>,
  known: Partial<LedgerReferenceData> = {},
): string | null {
  const reference = { ...referenceData, ...known };
  const fault = validateDocument({ ...document, ...changes }, "invoice", reference, rules);
  return fault && `${fault.reason} by ${fault.by}`;
}

const lined = (changes: Partial<DocumentToValidate["lines"][number]>) => ({
  lines: [line, { ...line, ...changes }],
});

describe("a document", () => {
  test("that the ledger takes by all that is known has no fault", () => {
    expect(faultOf({})).toBeNull();
    expect(faultOf({ currency: "NZD" }, { currencies: {} })).toBeNull();
  });

  test.each<[string, Partial<DocumentToValidate>, Partial<LedgerReferenceData>, string]>([
    ["without an account", lined({ revenueAccount: null }), {}, "account_invalid by null"],
    [
      "on an account that is not there",
      lined({ revenueAccount: "999" }),
      {},
      "account_invalid by accounts",
    ],
    ["on an archived account", lined({ revenueAccount: "205" }), {}, "account_invalid by accounts"],
    ["with an inactive tax type", lined({ taxType: "OLD" }), {}, "tax_invalid by tax_rates"],
    ["with three decimals", lined({ amount: "0.001" }), {}, "currency_not_enabled by null"],
    ["of more lines than it takes", { lines: [line, line, line, line] }, {}, "validation by null"],
    ["whose number is too long for it", { number: "INV-00001" }, {}, "validation by null"],
    ["whose lines come to something else", { subtotal: "25.0100" }, {}, "validation by null"],
    ["in another currency", { currency: "USD" }, {}, "currency_not_enabled by currencies"],
    [
      "in any other currency than the only one",
      {},
      { organisation: { ...organisation, multicurrency: false } },
      "currency_not_enabled by organisation",
    ],
    ["of an archived contact", { isContactGone: true }, {}, "contact_inactive by null"],
    ["of before a lock", { issueDate: "2026-04-08" }, {}, "period_locked by organisation"],
    [
      "of before a lock, made approved",
      { issueDate: "2026-04-08", firstStatus: "approved" },
      {},
      "period_locked by organisation",
    ],
    [
      "of before the later of two locks",
      {},
      { organisation: { ...organisation, periodLockDate: "2026-04-30" } },
      "period_locked by organisation",
    ],
  ])("%s is refused", (_, changes, known, fault) => {
    expect(faultOf(changes, known)).toBe(fault);
  });

  const faulty = {
    ...lined({ revenueAccount: "205", taxType: "OLD" }),
    currency: "USD",
    issueDate: "2026-01-01",
  };

  test("is never refused by what is not known, nor by a tax type that is not listed", () => {
    expect(faultOf(faulty, unknownReferenceData)).toBeNull();
    expect(faultOf(lined({ taxType: "NEW" }))).toBeNull();
  });

  test("of the day of a lock, or a draft dated before it, is left to the ledger", () => {
    expect(faultOf({ issueDate: "2026-04-09" })).toBeNull();
    for (const firstStatus of ["draft", "awaiting_approval"] as const) {
      expect(faultOf({ issueDate: "2026-01-01", firstStatus })).toBeNull();
    }
  });

  test("is not refused by a list that names nothing", () => {
    const empty = { accounts: {}, tax_rates: {}, currencies: {} };
    expect(
      faultOf({ ...lined({ revenueAccount: "999", taxType: "OLD" }), currency: "USD" }, empty),
    ).toBeNull();
  });

  test("that an operator retries is left to the ledger, unless it is wrong in itself", () => {
    expect(faultOf({ ...faulty, isContactGone: true, skipValidation: true })).toBeNull();
    expect(faultOf({ skipValidation: true, subtotal: "1.0000" })).toBe("validation by null");
  });
});

test("a rejection by the ledger invalidates only the reference data that it is about", () => {
  expect(invalidationsOf("period_locked")).toEqual(["organisation"]);
  expect(invalidationsOf("duplicate_number")).toEqual([]);
});
