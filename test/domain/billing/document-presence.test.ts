/** The presence of a document in each status, and what each reader makes of it. DOCUMENT-7. */
import { describe, expect, it } from "vitest";
import { allocationStatus } from "../../../src/domain/billing/allocation-status.ts";
import {
  isLost,
  isNeverThere,
  keepsPlace,
  presenceOf,
  presences,
} from "../../../src/domain/billing/document-presence.ts";
import { isNextInvoiced, notAmendable } from "../../../src/domain/billing/issued-invoices.ts";
import { isJoinable } from "../../../src/domain/billing/renewal-usage.ts";
import { decideRetry } from "../../../src/domain/billing/retry-document.ts";
import type { DocumentStatus } from "../../../src/domain/model/invoice.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { Refusal } from "../../../src/domain/refusal.ts";
import { issued, stateOf } from "../subscriptions/billing-state-builder.ts";

/** Each status, with the ledger's id of the document or without, as far as both occur. */
const documents = [
  ["draft", true, "stands", "keeps its place"],
  ["awaiting_approval", true, "stands", "keeps its place"],
  ["approved", true, "stands", "keeps its place"],
  ["paid", true, "stands", "keeps its place"],
  ["scheduled", false, "to_be_sent", "keeps its place"],
  ["not_in_external", false, "nowhere", "keeps its place"],
  ["not_in_external", true, "nowhere", "is gone"],
  ["voided", true, "nowhere", "is gone"],
  ["deleted", true, "nowhere", "is gone"],
  ["deleted", false, "nowhere", "is gone"],
] as const satisfies readonly (readonly [DocumentStatus, boolean, string, string])[];

/** The outcome of a rule: its code if it refuses. */
const outcomeOf = (decide: () => string): string => {
  try {
    return decide();
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
};

it("names every status", () => {
  expect(new Set(documents.map(([status]) => status as string))).toEqual(
    new Set(Object.keys(presences)),
  );
});

describe.each(
  documents,
)("a document that is %s, known to the ledger: %s", (status, inLedger, presence, place) => {
  const document = { status, inLedger };
  const isKept = place === "keeps its place";
  const isRefused = status === "not_in_external" && !inLedger;

  it(`${presence === "stands" ? "stands" : `is ${presence}`} and ${place}`, () => {
    expect([presenceOf(document), keepsPlace(document)]).toEqual([presence, isKept]);
    expect([isNeverThere(document), isLost(document)]).toEqual([
      isRefused,
      status === "not_in_external" && inLedger,
    ]);
  });

  it("is amended only where it stands unpaid, and joined only as a draft", () => {
    const invoice = issued(document);
    expect(notAmendable(invoice) === null).toBe(presence === "stands" && status !== "paid");
    expect(isJoinable(invoice, { lines: [] }, { running: null })).toBe(status === "draft");
  });

  it("as renewal invoice keeps the next period invoiced, unless an end of ours removed it", () => {
    const order = isKept ? { renewalInvoice: document } : { renewalInvoice: null };
    for (const endRemovedRenewal of [false, true]) {
      const state = stateOf({ ...order, endRemovedRenewal });
      expect(isNextInvoiced(state)).toBe(isKept || !endRemovedRenewal);
    }
  });

  it("as credit note has credit to allocate only where it keeps its place", () => {
    const amount = parseDecimal("12");
    const ledger = { syncStatus: "synced", syncError: null } as const;
    const invoiceId = inLedger ? "id" : null;
    const note = { status, total: amount, remainingCredit: amount };
    expect(allocationStatus({ ...note, ledger: { ...ledger, invoiceId } })).toBe(
      isKept ? "unapplied" : "not_applicable",
    );
  });

  it("is created by a retry only where the ledger refused it and never had it", () => {
    const failed = { state: "failed", status, operation: "creation" } as const;
    const retry = () => decideRetry({ ...failed, ledgerId: inLedger ? "id" : null }, false);
    if (status === "not_in_external")
      expect(outcomeOf(retry)).toBe(isRefused ? "creation" : "invalid_state");
  });
});
