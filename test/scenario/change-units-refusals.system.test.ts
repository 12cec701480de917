/**
 * Refusals of a change of units over HTTP, one for each fact that is read of the database. The
 * domain holds every refusal and their order. UNITS-6 to UNITS-13.
 */
import { expect } from "vitest";
import { setOrganisation, tables } from "../support/rows.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { half, refusedUnitsTest as test } from "./units-fixture.ts";

const unprocessable = (code: string, param: string | null = null) => refused(422, code, param);
const later = { units: 12, ...half, proration_behaviour: "charge_on_renewal" };
const prorated = { units: 9, prorate: true };
const flat = { plan_code: "site", units: undefined };
const bands = { plan_code: "bands" };
const notBehaviour = ["proration_behaviour_not_allowed", "proration_behaviour"] as const;

test.for<[of: string, order: object, body: object, code: string, param: string]>([
  ["own", flat, { units: 1 }, "plan_has_no_units", "units"],
  ["own", { minimum_units: 5 }, { units: 4 }, "units_below_minimum", "units"],
  ["own", {}, { units: 10 }, "units_unchanged", "units"],
  ["own", {}, prorated, "effective_date_required", "effective_date"],
  [
    "own",
    {},
    { ...prorated, effective_date: "2026-05-01" },
    "effective_date_out_of_period",
    "effective_date",
  ],
  ["own", { end_after_cycles: 1 }, later, ...notBehaviour],
  ["ahead", {}, { ...later, document: "separate" }, ...notBehaviour],
  ["own", bands, { units: 11 }, "proration_required", "prorate"],
  ["own", {}, { units: 12, document: "amend" }, "document_not_allowed", "document"],
  ["ahead", {}, { units: 12 }, "document_required", "document"],
  [
    "own",
    { start_date: "2026-05-10" },
    { ...prorated, effective_date: "2026-05-10" },
    "proration_not_applicable",
    "prorate",
  ],
])("a change of one %s with %j to %j is refused by %s", async ([of, order, body, code, param], {
  own,
  ahead,
  refusal,
  subscribed,
}) => {
  const organisation = of === "own" ? own : ahead;
  const { id } = await subscribed(organisation, order);
  expect(await refusal(organisation, id, body)).toEqual(unprocessable(code, param));
});

test("setup_mode_on comes before every other reason", async ({ builder, refusal, subscribed }) => {
  const inSetupMode = await builder.sandbox({ setup_mode: true });
  const { id } = await subscribed(inSetupMode, flat);
  expect(await refusal(inSetupMode, id, { units: 0, prorate: true })).toEqual(
    unprocessable("setup_mode_on"),
  );
});

test("earlier operations refuse a deferral and a proration", async ({
  builder,
  own,
  refusal,
  subscribed,
}) => {
  const ending = await subscribed(own);
  await builder.ended(own, ending.id, { when: "period_end" });
  expect(await refusal(own, ending.id, later)).toEqual(unprocessable(...notBehaviour));
  const { id } = await subscribed(own);
  await builder.changed(own, id, { units: 11 });
  expect(await refusal(own, id, { units: 12, ...half })).toEqual(
    unprocessable("proration_unavailable", "prorate"),
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

test("a pending subscription keeps its units once its first invoice is paid", async ({
  system,
  own,
  refusal,
  subscribed,
}) => {
  const { id, invoice } = await subscribed(own, { start_date: "2026-05-10" });
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
