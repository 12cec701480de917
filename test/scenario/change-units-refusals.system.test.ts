/**
 * Every refusal of a change of units after the subscription was found, and what is due before one.
 * UNITS-6 to UNITS-13.
 */
import { describe, expect } from "vitest";
import { setOrganisation } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { addBands } from "./units-builder.ts";
import { april, half, refusedUnitsTest as test } from "./units-fixture.ts";

const invalid = (param: string | null) => refused(422, "invalid_parameter", param);
const unprocessable = (code: string, param: string | null = null) => refused(422, code, param);

/** Changes columns of one subscription, as terminated it would. */
async function alter(system: TestSystem, id: string, set: string): Promise<void> {
  await system.pool.query(`UPDATE subscriptions SET ${set} WHERE id = $1`, [id]);
}

describe("the subscription, its plan and its units", () => {
  test("refuse by setup_mode_on before every other reason", async ({
    system,
    builder,
    refusal,
  }) => {
    const inSetupMode = await builder.sandbox({ setup_mode: true });
    const { id } = await builder.subscribe(inSetupMode, {
      ...april,
      plan_code: "site",
      units: undefined,
    });
    await alter(
      system,
      id,
      "status = 'ended', end_date = '2026-04-01', ended_at = '2026-04-01T12:00:00Z', due_at = NULL",
    );
    expect(await refusal(inSetupMode, id, { units: 0, prorate: true })).toEqual(
      unprocessable("setup_mode_on"),
    );
  });

  test.for([
    "ended",
    "complete",
  ])("an %s subscription is not changeable, before every other fault", async (status, {
    system,
    own,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(own, { minimum_units: 5 });
    const endedAt = status === "ended" ? "'2026-04-01T12:00:00Z'" : "NULL";
    await alter(
      system,
      id,
      `status = '${status}', end_date = renewal_date, ended_at = ${endedAt}, due_at = NULL`,
    );
    expect(await refusal(own, id, { units: 0, prorate: true })).toEqual(
      unprocessable("subscription_not_changeable"),
    );
  });

  test("refuse a flat fee, even the units that it shows", async ({ own, refusal, subscribed }) => {
    const { id } = await subscribed(own, { plan_code: "site", units: undefined });
    for (const units of [0, 1]) {
      expect(await refusal(own, id, { units, prorate: true })).toEqual(
        unprocessable("plan_has_no_units", "units"),
      );
    }
  });

  test("refuse units below the minimum, above the maximum, unbillable or unchanged", async ({
    system,
    builder,
    own,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(own, { minimum_units: 5 });
    expect(await refusal(own, id, { units: 4, prorate: true })).toEqual(
      unprocessable("units_below_minimum", "units"),
    );
    expect(await refusal(own, id, { units: 10, prorate: true })).toEqual(
      unprocessable("units_unchanged", "units"),
    );
    const dear = await subscribed(own, { price: "999999999.9999", units: 1 });
    expect(await refusal(own, dear.id, { units: 1_000_000_000 })).toEqual(invalid("units"));
    const text = `UPDATE plan_tiers SET up_to = 20 WHERE up_to IS NULL AND plan_id =
      (SELECT id FROM plans WHERE organisation_id = $1 AND code = 'bands')`;
    const bounded = await builder.sandbox({ test_clock: "2026-04-16T12:00:00Z" });
    await addBands(system, bounded);
    await system.pool.query(text, [bounded.organisationId]);
    const full = await subscribed(bounded, { plan_code: "bands", units: 20 });
    expect(await refusal(bounded, full.id, { units: 21, prorate: true })).toEqual(
      unprocessable("units_above_maximum", "units"),
    );
  });
});

describe("prorate and its members", () => {
  test("need an effective date in the current period, first and last day included", async ({
    own,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(own);
    const from = (effective_date: string) => ({ units: 9, prorate: true, effective_date });
    const behaviour = { units: 12, prorate: true, proration_behaviour: "charge_on_renewal" };
    for (const body of [behaviour, { units: 9, prorate: true }]) {
      expect(await refusal(own, id, body)).toEqual(
        unprocessable("effective_date_required", "effective_date"),
      );
    }
    for (const day of ["2026-03-31", "2026-05-01", "0001-01-01", "9999-12-31"]) {
      expect(await refusal(own, id, from(day))).toEqual(
        unprocessable("effective_date_out_of_period", "effective_date"),
      );
    }
    for (const day of ["2026-04-01", "2026-04-30"]) {
      expect(await refusal(own, id, from(day))).toEqual(
        unprocessable("proration_not_applicable", "prorate"),
      );
    }
  });

  test("refuse charge_on_renewal in a final or invoiced period, and for a credit", async ({
    system,
    own,
    ahead,
    refusal,
    subscribed,
  }) => {
    const later = { units: 12, ...half, proration_behaviour: "charge_on_renewal" };
    const not = unprocessable("proration_behaviour_not_allowed", "proration_behaviour");
    const last = await subscribed(own, { end_after_cycles: 1 });
    expect(await refusal(own, last.id, later)).toEqual(not);
    const terminated = await subscribed(own);
    await alter(system, terminated.id, "cancel_at_period_end = true, end_date = renewal_date");
    expect(await refusal(own, terminated.id, { ...later, document: "amend" })).toEqual(not);
    const invoiced = await subscribed(ahead);
    expect(await refusal(ahead, invoiced.id, later)).toEqual(not);
    expect(await refusal(ahead, invoiced.id, { ...later, document: "separate" })).toEqual(not);
    const credit = await subscribed(own, { plan_code: "bands" });
    expect(await refusal(own, credit.id, { ...later, units: 11 })).toEqual(not);
  });

  test("are required on a volume plan only for an increase that costs less", async ({
    builder,
    own,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(own, { plan_code: "bands" });
    for (const units of [11, 12]) {
      expect(await refusal(own, id, { units })).toEqual(
        unprocessable("proration_required", "prorate"),
      );
      expect(await refusal(own, id, { units, document: "amend" })).toEqual(
        unprocessable("document_not_allowed", "document"),
      );
    }
    await builder.changed(own, id, { units: 13 });
    await builder.changed(own, id, { units: 12 });
  });

  test("are refused for a charge until the renewal after an unprorated increase", async ({
    builder,
    own,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(own);
    await builder.changed(own, id, { units: 11 });
    expect(await refusal(own, id, { units: 12, ...half })).toEqual(
      unprocessable("proration_unavailable", "prorate"),
    );
  });
});

describe("document", () => {
  test("is refused outside the invoice window, also for a decrease", async ({
    own,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(own);
    for (const body of [{ units: 12, ...half }, { units: 12 }, { units: 9 }]) {
      for (const document of ["amend", "separate"]) {
        expect(await refusal(own, id, { ...body, document })).toEqual(
          unprocessable("document_not_allowed", "document"),
        );
      }
    }
  });

  test("is required inside it, before any other fault of the proration", async ({
    ahead,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(ahead, { plan_code: "bands" });
    for (const body of [{ units: 12, ...half }, { units: 12 }, { units: 9 }]) {
      expect(await refusal(ahead, id, body)).toEqual(
        unprocessable("document_required", "document"),
      );
    }
  });

  test("amend is refused with the reason if the renewal invoice cannot be changed", async ({
    system,
    builder,
    ahead,
    subscribed,
  }) => {
    const why = async (id: string): Promise<string> => {
      const answer = await builder.change(ahead, id, { units: 12, document: "amend" });
      expect(refusalOf(answer)).toEqual(unprocessable("renewal_invoice_not_amendable", "document"));
      return answer.json.error.message;
    };
    const [paid, credited, refusedOne, scheduled, separate] = await Promise.all(
      Array.from({ length: 5 }, () => subscribed(ahead)),
    );
    const alterRenewal = (id: string, set: string) =>
      system.pool.query(
        `UPDATE invoices SET ${set} WHERE subscription_id = $1 AND type = 'renewal'`,
        [id],
      );
    await alterRenewal(paid.id, "status = 'paid', amount_due = 0");
    expect(await why(paid.id)).toMatch(/invoice INV-\d+ is paid/);
    await alterRenewal(credited.id, "amount_due = 60");
    expect(await why(credited.id)).toMatch(/invoice INV-\d+ has a payment or credit on it/);
    await alterRenewal(
      refusedOne.id,
      "status = 'not_in_external', ledger_invoice_id = null, sync_error = 'No'",
    );
    expect(await why(refusedOne.id)).toMatch(/invoice INV-\d+ is not in the ledger/);
    await alterRenewal(scheduled.id, "status = 'scheduled', ledger_invoice_id = null");
    expect(await why(scheduled.id)).toMatch(/invoice INV-\d+ is still to be sent to the ledger/);
    await builder.changed(ahead, separate.id, { units: 11, ...half, document: "separate" });
    expect(await why(separate.id)).toMatch(/an earlier change was billed separately/);
    // And separate is always possible.
    await builder.changed(ahead, separate.id, { units: 12, ...half, document: "separate" });
  });
});

describe("a pending subscription", () => {
  const may = { start_date: "2026-05-10" };

  test("is not prorated and takes no document", async ({ builder, own, refusal }) => {
    const { id } = await builder.subscribe(own, may);
    const prorated = { units: 12, prorate: true, effective_date: "2026-05-10" };
    expect(await refusal(own, id, prorated)).toEqual(
      unprocessable("proration_not_applicable", "prorate"),
    );
    expect(await refusal(own, id, { ...prorated, effective_date: "2026-04-16" })).toEqual(
      unprocessable("effective_date_out_of_period", "effective_date"),
    );
    expect(await refusal(own, id, { units: 12, document: "amend" })).toEqual(
      unprocessable("document_not_allowed", "document"),
    );
  });

  test.for([
    ["paid", "status = 'paid', amount_due = 0"],
    ["voided", "status = 'voided'"],
    [
      "not in the ledger",
      "status = 'not_in_external', ledger_invoice_id = null, sync_error = 'No'",
    ],
  ] as const)("whose first invoice is %s keeps its units", async ([_, set], {
    system,
    builder,
    own,
    refusal,
  }) => {
    const { id, invoice } = await builder.subscribe(own, may);
    await system.pool.query(`UPDATE invoices SET ${set} WHERE id = $1`, [invoice.id]);
    for (const units of [9, 12]) {
      expect(await refusal(own, id, { units })).toEqual(
        unprocessable("first_invoice_not_amendable"),
      );
    }
  });
});

test("a change without a mapped revenue account is refused and writes nothing", async ({
  system,
  builder,
  refusal,
  subscribed,
}) => {
  const unmapped = await builder.sandbox({ test_clock: "2026-04-16T12:00:00Z" });
  const { id } = await subscribed(unmapped);
  await setOrganisation(system.pool, unmapped.organisationId, { revenueAccount: null });
  for (const body of [{ units: 12, ...half }, { units: 12 }, { units: 9 }]) {
    expect(await refusal(unmapped, id, body)).toEqual(refused(409, "ledger_accounts_not_mapped"));
  }
  expect(await refusal(unmapped, id, { units: 12, document: "amend" })).toEqual(
    unprocessable("document_not_allowed", "document"),
  );
  const plans =
    "UPDATE plans SET revenue_account = '200' WHERE organisation_id = $1 AND code = 'team'";
  await system.pool.query(plans, [unmapped.organisationId]);
  await builder.changed(unmapped, id, { units: 9 });
});

describe("due work is performed before a change is decided,", () => {
  test("even if that is refused: it renews, opens its window, begins, completes", async ({
    builder,
  }) => {
    const moved = await builder.sandbox({ invoice_create_days: 5 });
    const running = await builder.subscribe(moved, april);
    const pending = await builder.subscribe(moved, { start_date: "2026-06-10" });
    const last = await builder.subscribe(moved, { ...april, end_after_cycles: 1 });
    await builder.setClock(moved, "2026-06-27");
    const answers = await Promise.all(
      [running, pending, last].map(({ id }) =>
        builder.change(moved, id, { units: 12, prorate: true }),
      ),
    );
    expect(answers.map((answer) => refusalOf(answer).code)).toEqual([
      "effective_date_required",
      "effective_date_required",
      "subscription_not_changeable",
    ]);
    const shown = await Promise.all(
      [running, pending, last].map(({ id }) => builder.subscription(moved, id)),
    );
    expect(
      shown.map(({ status, renewal_date, end_date, units }) => [
        status,
        renewal_date,
        end_date,
        units,
      ]),
    ).toEqual([
      ["active", "2026-07-01", null, 10],
      ["active", "2026-07-10", null, 10],
      ["complete", "2026-05-01", "2026-05-01", 10],
    ]);
    await builder.expectEqualDocuments(moved);
    const periods = (await builder.invoices(moved, running.id)).map(({ period }) => period.start);
    expect(periods).toEqual(["2026-07-01", "2026-06-01", "2026-05-01", "2026-04-01"]);
  });
});
