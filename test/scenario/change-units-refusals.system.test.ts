/**
 * Refusals of a change of units over HTTP, one for each fact that is read of the database, and what
 * is due before one. The domain holds every refusal and their order. UNITS-6 to UNITS-13.
 */
import { describe, expect } from "vitest";
import { setOrganisation, tables } from "../support/rows.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { april, half, refusedUnitsTest as test } from "./units-fixture.ts";

const unprocessable = (code: string, param: string | null = null) => refused(422, code, param);

describe("the subscription, its plan and its units", () => {
  test("refuse by setup_mode_on before every other reason", async ({ builder, refusal }) => {
    const inSetupMode = await builder.sandbox({ setup_mode: true });
    const flat = { ...april, plan_code: "site", units: undefined };
    const { id } = await builder.subscribe(inSetupMode, flat);
    expect(await refusal(inSetupMode, id, { units: 0, prorate: true })).toEqual(
      unprocessable("setup_mode_on"),
    );
  });

  test("refuse a flat fee, even the units that it shows", async ({ own, refusal, subscribed }) => {
    const { id } = await subscribed(own, { plan_code: "site", units: undefined });
    expect(await refusal(own, id, { units: 1 })).toEqual(
      unprocessable("plan_has_no_units", "units"),
    );
  });

  test("refuse units below the minimum, above the maximum or unchanged", async ({
    system,
    own,
    refusal,
    subscribed,
  }) => {
    const { id } = await subscribed(own, { minimum_units: 5 });
    expect(await refusal(own, id, { units: 4 })).toEqual(
      unprocessable("units_below_minimum", "units"),
    );
    expect(await refusal(own, id, { units: 10 })).toEqual(
      unprocessable("units_unchanged", "units"),
    );
    const { id: full, plan } = await subscribed(own, { plan_code: "bands", units: 20 });
    const lastTier = { where: { planId: plan, upTo: null } };
    await tables(system.pool).planTier.updateMany({ ...lastTier, data: { upTo: 20 } });
    expect(await refusal(own, full, { units: 21 })).toEqual(
      unprocessable("units_above_maximum", "units"),
    );
    await tables(system.pool).planTier.updateMany({
      where: { planId: plan, upTo: 20 },
      data: { upTo: null },
    });
  });
});

describe("prorate and its members", () => {
  test("need an effective date in the current period", async ({ own, refusal, subscribed }) => {
    const { id } = await subscribed(own);
    expect(await refusal(own, id, { units: 9, prorate: true })).toEqual(
      unprocessable("effective_date_required", "effective_date"),
    );
    const from = { units: 9, prorate: true, effective_date: "2026-05-01" };
    expect(await refusal(own, id, from)).toEqual(
      unprocessable("effective_date_out_of_period", "effective_date"),
    );
  });

  test("refuse charge_on_renewal in a final or invoiced period", async ({
    builder,
    own,
    ahead,
    refusal,
    subscribed,
  }) => {
    const later = { units: 12, ...half, proration_behaviour: "charge_on_renewal" };
    const not = unprocessable("proration_behaviour_not_allowed", "proration_behaviour");
    const last = await subscribed(own, { end_after_cycles: 1 });
    expect(await refusal(own, last.id, later)).toEqual(not);
    const ending = await subscribed(own);
    await builder.ended(own, ending.id, { when: "period_end" });
    expect(await refusal(own, ending.id, later)).toEqual(not);
    const invoiced = await subscribed(ahead);
    expect(await refusal(ahead, invoiced.id, { ...later, document: "separate" })).toEqual(not);
  });

  test("are required for a credit, and refused after an unprorated increase", async ({
    builder,
    own,
    refusal,
    subscribed,
  }) => {
    const credit = await subscribed(own, { plan_code: "bands" });
    expect(await refusal(own, credit.id, { units: 11 })).toEqual(
      unprocessable("proration_required", "prorate"),
    );
    const { id } = await subscribed(own);
    await builder.changed(own, id, { units: 11 });
    expect(await refusal(own, id, { units: 12, ...half })).toEqual(
      unprocessable("proration_unavailable", "prorate"),
    );
  });
});

describe("document", () => {
  test("is refused outside the invoice window and required inside it", async ({
    own,
    ahead,
    refusal,
    subscribed,
  }) => {
    const outside = await subscribed(own);
    expect(await refusal(own, outside.id, { units: 12, document: "amend" })).toEqual(
      unprocessable("document_not_allowed", "document"),
    );
    const inside = await subscribed(ahead);
    expect(await refusal(ahead, inside.id, { units: 12 })).toEqual(
      unprocessable("document_required", "document"),
    );
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
    const [credited, refusedOne, separate] = await Promise.all(
      Array.from({ length: 3 }, () => subscribed(ahead)),
    );
    const { invoice } = tables(system.pool);
    const renewalOf = ({ id }: { id: string }) => ({ subscriptionId: id, type: "renewal" });
    await invoice.updateMany({ where: renewalOf(credited), data: { amountDue: 60 } });
    expect(await why(credited.id)).toMatch(/invoice INV-\d+ has a payment or credit on it/);
    await invoice.updateMany({
      where: renewalOf(refusedOne),
      data: { status: "not_in_external", ledgerInvoiceId: null, syncError: "No" },
    });
    expect(await why(refusedOne.id)).toMatch(/invoice INV-\d+ is not in the ledger/);
    await builder.changed(ahead, separate.id, { units: 11, ...half, document: "separate" });
    expect(await why(separate.id)).toMatch(/an earlier change was billed separately/);
    // And separate is always possible.
    await builder.changed(ahead, separate.id, { units: 12, ...half, document: "separate" });
  });
});

test("a pending subscription is not prorated, and keeps its units once it is paid", async ({
  system,
  builder,
  own,
  refusal,
}) => {
  const { id, invoice } = await builder.subscribe(own, { start_date: "2026-05-10" });
  const prorated = { units: 12, prorate: true, effective_date: "2026-05-10" };
  expect(await refusal(own, id, prorated)).toEqual(
    unprocessable("proration_not_applicable", "prorate"),
  );
  await tables(system.pool).invoice.updateMany({
    where: { id: invoice.id },
    data: { status: "paid", amountDue: 0 },
  });
  expect(await refusal(own, id, { units: 12 })).toEqual(
    unprocessable("first_invoice_not_amendable"),
  );
});

test("a change without a mapped revenue account is refused and writes nothing", async ({
  system,
  builder,
  refusal,
  subscribed,
}) => {
  const unmapped = await builder.sandbox({ test_clock: "2026-04-16T12:00:00Z" });
  const { id, plan } = await subscribed(unmapped);
  await setOrganisation(system.pool, unmapped.organisationId, { revenueAccount: null });
  expect(await refusal(unmapped, id, { units: 12 })).toEqual(
    refused(409, "ledger_accounts_not_mapped"),
  );
  await tables(system.pool).plan.updateMany({
    where: { id: plan },
    data: { revenueAccount: "200" },
  });
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
