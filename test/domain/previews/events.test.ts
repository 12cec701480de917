/** Which events an act causes, by its preview. PREVIEW-8. */
import { describe, expect, test } from "vitest";
import { isOver } from "../../../src/domain/billing/due-date.ts";
import type { DocumentStatus, Invoice } from "../../../src/domain/model/invoice.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import { previewEnd } from "../../../src/domain/previews/end.ts";
import { previewedEvents } from "../../../src/domain/previews/events.ts";
import {
  previewCreation,
  previewRestoration,
  previewUnitsChange,
} from "../../../src/domain/previews/operations.ts";
import { billDue, type Preview } from "../../../src/domain/previews/preview.ts";
import { decideCreation } from "../../../src/domain/subscriptions/create.ts";
import type { EndRequest } from "../../../src/domain/subscriptions/end.ts";
import { noNextPeriodLines } from "../../../src/domain/subscriptions/reversal.ts";
import {
  changeTo,
  type StateOrder,
  stateOf,
  volumeSeats,
} from "../subscriptions/billing-state-builder.ts";
import { factsOf, requestOf } from "../subscriptions/creation-builder.ts";

type Stored = Pick<Invoice, "status" | "lines">;

const storedAs = (status: DocumentStatus, lines: Invoice["lines"] = []) =>
  new Map<string, Stored>([["renewal 6", { status, lines }]]);

/** Each kind with its number and the ids of the objects that exist. */
const eventsOf = (preview: Preview, stored: ReadonlyMap<string, Stored> = new Map()) =>
  previewedEvents(preview, stored).map(({ type, count, objectIds }) =>
    [`${type} × ${count}`, ...objectIds].join(" "),
  );

const { id } = stateOf().subscription;
const updated = `subscription.updated × 1 ${id}`;
const ended = `subscription.ended × 1 ${id}`;
const inWindow = { today: "2026-06-20", next: {}, renewalInvoice: {} };
const now = { when: "now", deleteUnsentInvoices: false, voidApprovedInvoices: false } as const;

test("a creation causes an event of the subscription and one of each invoice", () => {
  const created = (...request: Parameters<typeof requestOf>) => {
    const facts = factsOf();
    const decision = decideCreation(facts, requestOf(...request));
    return eventsOf(previewCreation(facts.organisation, decision));
  };
  expect(created()).toEqual(["subscription.created × 1", "invoice.created × 1"]);
  const withRenewal = created({ startDate: "2026-05-20" });
  expect(withRenewal).toEqual(["subscription.created × 1", "invoice.created × 2"]);
});

describe("a change of units", () => {
  const changed = (order: StateOrder, ...change: Parameters<typeof changeTo>) =>
    previewUnitsChange(billDue(stateOf(order)), changeTo(...change));

  test("causes an event of the subscription alone if no document follows", () => {
    expect(eventsOf(changed({}, 12))).toEqual([updated]);
  });

  test("causes events of the documents that charge and credit it", () => {
    const half = { from: "2026-06-16" };
    expect(eventsOf(changed({}, 12, half))).toEqual([updated, "invoice.created × 1"]);
    const cheaper = changed({ plan: volumeSeats }, 11, half);
    expect(eventsOf(cheaper)).toEqual([updated, "credit_note.created × 1"]);
  });

  test("causes an event of an amended invoice, unless that bills these units already", () => {
    const preview = changed(inWindow, 12, { document: "amend" });
    const [amendment] = preview.amended;
    const line = { ...amendment?.planLine, id: "line" } as Invoice["lines"][number];
    expect(eventsOf(preview, storedAs("draft", [line]))).toEqual([updated]);
    const before = storedAs("draft", [{ ...line, amount: parseDecimal("100") }]);
    expect(eventsOf(preview, before)).toEqual([updated, "invoice.updated × 1 renewal 6"]);
  });

  test("causes one event of each overdue invoice, also of one that it amends", () => {
    const late = { today: "2026-07-25", organisation: { invoiceCreateDays: 10 } };
    const preview = changed(late, 12, { document: "amend" });
    expect(preview.amended).toHaveLength(1);
    expect(eventsOf(preview)).toEqual([updated, "invoice.created × 2"]);
  });
});

describe("an end", () => {
  const end = (order: StateOrder, request: EndRequest) =>
    previewEnd(
      billDue(stateOf(order)),
      { invoices: [], next: noNextPeriodLines, deferred: [] },
      request,
    );

  test.each([
    ["draft", "invoice.deleted"],
    ["awaiting_approval", "invoice.deleted"],
    ["not_in_external", "invoice.deleted"],
    ["scheduled", "invoice.deleted"],
    ["approved", "invoice.voided"],
    ["paid", "invoice.voided"],
  ] as const)("that removes an invoice which is %s causes %s", (status, type) => {
    const preview = end(inWindow, now);
    expect(eventsOf(preview, storedAs(status))).toEqual([ended, `${type} × 1 renewal 6`]);
  });

  test("leaves out a removal that the ledger may make in two ways", () => {
    const approved = { ...inWindow, organisation: { firstInvoiceStatus: "approved" } } as const;
    expect(eventsOf(end(approved, now), storedAs("scheduled"))).toEqual([ended]);
  });

  test("causes two events of an overdue invoice that it issues and removes", () => {
    const late = { today: "2026-06-25", organisation: { invoiceCreateDays: 10 } };
    expect(eventsOf(end(late, now))).toEqual([ended, "invoice.created × 1", "invoice.deleted × 1"]);
  });

  test("with its period causes an update, and none if it is set to end already", () => {
    expect(eventsOf(end({}, { ...now, when: "period_end" }))).toEqual([updated]);
    const set = { subscription: { cancelAtPeriodEnd: true, endDate: stateOf().period.end } };
    expect(eventsOf(end(set, { ...now, when: "period_end" }))).toEqual([]);
  });
});

test("a restoration causes an update, also of a subscription that has ended", () => {
  const state = stateOf({ subscription: { status: "ended", endDate: stateOf().today } });
  const facts = { state, customerStatus: "active", removed: [] } as const;
  const preview = previewRestoration(billDue(state), facts);
  expect(isOver(preview.state.subscription)).toBe(false);
  expect(eventsOf(preview)).toEqual([updated]);
});
