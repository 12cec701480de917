/** Every refusal of a change of units, with its code, param and message. */
import { describe, expect, it } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import type { RefusalCode } from "../../../src/domain/refusal.ts";
import type { UnitsChangeRequest } from "../../../src/domain/subscriptions/change-units.ts";
import { planOf, tiersOf } from "../catalogue/catalogue.ts";
import {
  changeTo,
  issued,
  refusalOf,
  type StateOrder,
  stateOf,
  volumeSeats,
} from "./billing-state-builder.ts";

const d = parseDecimal;
const flatFee = planOf("flat_fee", { price: d("49") });
const bounded = planOf("tiered", { tiers: tiersOf([5, "1"], [9, "2"]), freeUnits: 2 });
const costly = planOf("per_unit", { price: d("999999999.9999") });
const running = {
  kind: "amend_invoice",
  id: "operation",
  description: "invoice INV-0006 is being amended",
} as const;
const ahead = { today: "2026-06-20" };
const amend = { document: "amend" } as const;
const last = { endDate: civilDate("2026-07-01") };

type Case = [
  guarantee: string,
  order: StateOrder,
  request: UnitsChangeRequest,
  code: RefusalCode,
  param: string | null,
];

describe("a change of units", () => {
  it.each<[...Case, message: string]>([
    [
      "in Setup Mode",
      { organisation: { setupMode: true } },
      changeTo(12),
      "setup_mode_on",
      null,
      "The organisation is in Setup Mode: units cannot be changed.",
    ],
    [
      "while another operation runs",
      { running },
      changeTo(12),
      "invalid_state",
      null,
      "Another operation on this subscription is still running: invoice INV-0006 is being amended.",
    ],
    [
      "of an ended subscription",
      { subscription: { status: "ended" } },
      changeTo(12),
      "subscription_not_changeable",
      null,
      "The subscription has ended: its units cannot be changed.",
    ],
    [
      "of a complete subscription",
      { subscription: { status: "complete" } },
      changeTo(12),
      "subscription_not_changeable",
      null,
      "The subscription is complete: its units cannot be changed.",
    ],
    [
      "of a flat fee",
      { plan: flatFee },
      changeTo(0),
      "plan_has_no_units",
      "units",
      "A flat fee plan has no units.",
    ],
    [
      "below the minimum",
      { subscription: { minimumUnits: 9 } },
      changeTo(8),
      "units_below_minimum",
      "units",
      "units must not be below the minimum of 9.",
    ],
    [
      "above the last tier",
      { plan: bounded },
      changeTo(12),
      "units_above_maximum",
      "units",
      "units must not be above the plan's maximum of 11.",
    ],
    [
      "above what an invoice can hold",
      { plan: costly },
      changeTo(1_000_001),
      "invalid_parameter",
      "units",
      "units cost more than an invoice can hold: 1000000000000000.0000 a period.",
    ],
    [
      "to the units there are",
      {},
      changeTo(10),
      "units_unchanged",
      "units",
      "The subscription has 10 units already.",
    ],
    [
      "prorated from no date",
      {},
      changeTo(12, { prorate: true }),
      "effective_date_required",
      "effective_date",
      "effective_date is required with prorate.",
    ],
    ...["2026-05-31", "2026-07-01", "2027-06-16"].map((from): [...Case, string] => [
      `prorated from ${from}`,
      {},
      changeTo(12, { from }),
      "effective_date_out_of_period",
      "effective_date",
      "effective_date must fall within the current period: from 2026-06-01, before 2026-07-01.",
    ]),
    [
      "downwards and prorated",
      {},
      changeTo(8, { from: "2026-06-16" }),
      "proration_not_applicable",
      "prorate",
      "A decrease issues no document: prorate does not apply.",
    ],
    [
      "prorated while pending",
      { subscription: { status: "pending" } },
      changeTo(12, { from: "2026-06-16" }),
      "proration_not_applicable",
      "prorate",
      "A pending subscription's first invoice is re-priced as a whole: prorate does not apply.",
    ],
  ])("%s is refused", (_, order, request, code, param, message) => {
    expect(refusalOf(stateOf(order), request)).toEqual([code, param, message]);
  });

  const deferred = { behaviour: "charge_on_renewal", from: "2026-06-16" } as const;
  it.each<[...Case, message: string]>([
    ...[
      [
        "in the final period",
        { subscription: last },
        "the subscription is in its final period",
      ] as const,
      [
        "set to end",
        { subscription: { cancelAtPeriodEnd: true } },
        "the subscription is in its final period",
      ] as const,
      [
        "once the next period is invoiced",
        { ...ahead, renewalInvoice: {} },
        "the next period is invoiced already, by INV-0006",
      ] as const,
      [
        "once the next period's invoice was removed",
        { ...ahead, renewalInvoice: null },
        "the next period was invoiced already",
      ] as const,
      ["where it is a credit", { plan: volumeSeats }, "the change is a credit"] as const,
    ].map(([guarantee, order, why]): [...Case, string] => [
      `deferred ${guarantee}`,
      order,
      changeTo(12, deferred),
      "proration_behaviour_not_allowed",
      "proration_behaviour",
      `proration_behaviour must be charge_immediately: ${why}.`,
    ]),
    ...[changeTo(12), changeTo(8), changeTo(12, { from: "2026-06-16" })].map(
      (request): [...Case, string] => [
        `to ${request.units} inside the window without document`,
        { ...ahead, renewalInvoice: {} },
        request,
        "document_required",
        "document",
        "document is required: the renewal invoice INV-0006 is there already. Send amend or " +
          "separate.",
      ],
    ),
    [
      "outside the window with document",
      {},
      changeTo(12, amend),
      "document_not_allowed",
      "document",
      "document is allowed inside the invoice window only.",
    ],
    [
      "of a volume plan that would be a credit, unprorated",
      { plan: volumeSeats },
      changeTo(12),
      "proration_required",
      "prorate",
      "The new total costs less than what was billed: " +
        "send prorate true, so that the credit can be issued.",
    ],
    [
      "that would charge after an unprorated increase",
      { billed: 5, period: { prorationClosed: true } },
      changeTo(12, { from: "2026-06-16" }),
      "proration_unavailable",
      "prorate",
      "Units were increased without proration: until the renewal on 2026-07-01 send prorate false.",
    ],
    [
      "without an account",
      { organisation: { revenueAccount: null } },
      changeTo(8),
      "ledger_accounts_not_mapped",
      null,
      "No revenue account of the ledger is mapped for the plan or the organisation.",
    ],
  ])("%s is refused", (_, order, request, code, param, message) => {
    expect(refusalOf(stateOf(order), request)).toEqual([code, param, message]);
  });

  it.each([
    ["paid", { status: "paid" }, "invoice INV-0006 is paid"],
    ["partly paid", { amountDue: d("99.99") }, "invoice INV-0006 has a payment or credit on it"],
    [
      "still to be sent",
      { status: "scheduled", inLedger: false },
      "invoice INV-0006 is still to be sent to the ledger",
    ],
    [
      "refused by the ledger",
      { status: "not_in_external" },
      "invoice INV-0006 is not in the ledger",
    ],
    ["not in the ledger", { inLedger: false }, "invoice INV-0006 is not in the ledger"],
    [
      "of lines whose ids in the ledger are not known",
      { isPlanLineKnown: false },
      "it is not known which line of invoice INV-0006 is the plan's",
    ],
  ] as const)("by amend, not separate, is refused: the invoice is %s", (_, renewalInvoice, why) => {
    const state = stateOf({ ...ahead, renewalInvoice });
    const message = `The renewal invoice cannot be amended: ${why}. Send document separate.`;
    expect(refusalOf(state, changeTo(12, amend))).toEqual([
      "renewal_invoice_not_amendable",
      "document",
      message,
    ]);
    expect(refusalOf(state, changeTo(8, { document: "separate" }))[0]).toBe("accepted");
  });

  it.each([
    ["draft", {}],
    ["awaiting approval", { status: "awaiting_approval" }],
    ["approved and taxed", { status: "approved", total: d("120.00"), amountDue: d("120.0000") }],
  ] as const)("by amend is accepted where the renewal invoice is %s", (_, renewalInvoice) => {
    expect(refusalOf(stateOf({ ...ahead, renewalInvoice }), changeTo(12, amend))[0]).toBe(
      "accepted",
    );
  });

  it("by amend is refused after a change that was billed separately", () => {
    const state = stateOf({ ...ahead, next: { billedSeparately: true } });
    expect(refusalOf(state, changeTo(12, amend))).toEqual([
      "renewal_invoice_not_amendable",
      "document",
      "The renewal invoice cannot be amended: " +
        "an earlier change was billed separately. Send document separate.",
    ]);
  });

  it.each([
    ["removed", [], "it is removed"],
    ["paid", [issued({ type: "first", status: "paid" })], "invoice INV-0005 is paid"],
    [
      "not sent yet",
      [issued({ type: "first", status: "scheduled" })],
      "invoice INV-0005 is still to be sent to the ledger",
    ],
    [
      "of lines whose ids in the ledger are not known",
      [issued({ type: "first", isPlanLineKnown: false })],
      "it is not known which line of invoice INV-0005 is the plan's",
    ],
  ])("while pending is refused if the first invoice is %s", (_, invoices, why) => {
    const state = stateOf({ subscription: { status: "pending" }, invoices });
    const message = `The first invoice cannot be re-priced: ${why}.`;
    expect(refusalOf(state, changeTo(12))).toEqual(["first_invoice_not_amendable", null, message]);
  });

  it("while pending is refused after a change that was billed separately", () => {
    const state = stateOf({
      subscription: { status: "pending" },
      index: 0,
      period: { billedSeparately: true },
      invoices: [issued({ type: "first", periodIndex: 0 })],
    });
    const message =
      "The first invoice cannot be re-priced: an earlier change was billed separately.";
    expect(refusalOf(state, changeTo(12))).toEqual(["first_invoice_not_amendable", null, message]);
  });

  it("is accepted on the bounds", () => {
    const most = { plan: bounded, units: 9 };
    expect(refusalOf(stateOf(most), changeTo(11))[0]).toBe("accepted");
    expect(refusalOf(stateOf({ plan: costly }), changeTo(1_000_000))[0]).toBe("accepted");
    const round = planOf("per_unit", { price: d("500000000") });
    expect(refusalOf(stateOf({ plan: round }), changeTo(1_999_999))[0]).toBe("accepted");
    expect(refusalOf(stateOf({ plan: round }), changeTo(2_000_000))[0]).toBe("invalid_parameter");
    const mapped = {
      plan: { ...volumeSeats, revenueAccount: "201" },
      organisation: { revenueAccount: null },
    };
    expect(refusalOf(stateOf(mapped), changeTo(8))[0]).toBe("accepted");
  });
});
