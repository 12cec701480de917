/**
 * Currencies with more decimal places than the ledger has: refused, or warned of, before anything
 * is billed in them. CATALOGUE-10
 */
import { expect } from "vitest";
import { adminTest as test } from "../fixtures.ts";
import { createTenant } from "../request.ts";

const plan = { name: "Plan", type: "PLAN_TYPE_FLAT_FEE", price: "1" };
const charge = { name: "Charge", price: "1" };

test("a currency of three places is refused with a ledger of two places", async ({
  system,
  admin,
}) => {
  const { organisationId: organisation } = await system.organisation();
  for (const [index, currency] of ["KWD", "BHD", "CLF"].entries()) {
    const own = { organisation, code: `unfit-${index}`, currency };
    expect(await admin.refused("PlanService/CreatePlan", { ...own, ...plan })).toBe(
      "invalid_parameter currency",
    );
    expect(await admin.refused("ChargeService/CreateCharge", { ...own, ...charge })).toBe(
      "invalid_parameter currency",
    );
  }
  for (const [index, currency] of ["EUR", "JPY"].entries()) {
    const own = { organisation, code: `fit-${index}`, currency };
    await admin.done("PlanService/CreatePlan", { ...own, ...plan });
    await admin.done("ChargeService/CreateCharge", { ...own, ...charge });
  }
  const { data } = await admin.done("PlanService/ListPlans", { organisation, code: "fit-0" });
  const moved = { organisation, id: data[0].id, currency: "KWD" };
  expect(await admin.refused("PlanService/UpdatePlan", moved)).toBe("invalid_parameter currency");
  const answer = await admin.ask("PlanService/CreatePlan", {
    organisation,
    code: "why",
    currency: "KWD",
    ...plan,
  });
  expect(answer.text).toContain(
    "currency KWD has 3 decimal places, and the connected ledger has 2",
  );
});

test("a plan without a currency is validated by the organisation's currency", async ({
  system,
  admin,
}) => {
  const { organisationId: organisation } = await system.organisation({ currency: "KWD" });
  const own = { organisation, code: "by-default" };
  expect(await admin.refused("PlanService/CreatePlan", { ...own, ...plan })).toBe(
    "invalid_parameter currency",
  );
  expect(await admin.refused("ChargeService/CreateCharge", { ...own, ...charge })).toBe(
    "invalid_parameter currency",
  );
});

test("a connection warns of currencies that were accepted without one", async ({
  system,
  admin,
}) => {
  const made = await admin.done("OrganisationService/CreateOrganisation", {
    name: "New",
    timezone: "Asia/Kuwait",
    defaultCurrency: "KWD",
  });
  const organisation = made.organisation.id;
  const unfit = await admin.done("PlanService/CreatePlan", {
    organisation,
    code: "dinar",
    ...plan,
  });
  await admin.done("ChargeService/CreateCharge", { organisation, code: "setup", ...charge });
  await admin.done("PlanService/CreatePlan", {
    organisation,
    code: "euro",
    currency: "EUR",
    ...plan,
  });
  const tenant = await createTenant(system);
  const connected = await admin.done("LedgerConnectionService/ConnectLedger", {
    organisation,
    ...tenant,
  });
  const warning =
    "The ledger has 2 decimal places of an amount, and KWD has 3: " +
    "it would refuse such amounts of charge setup, plan dinar.";
  expect(connected.warnings).toEqual([warning]);
  const checked = await admin.done("LedgerConnectionService/CheckLedgerConnection", {
    organisation,
  });
  expect(checked).toMatchObject({ ok: true, warnings: [warning] });
  // What it is in already is no change.
  const same = { organisation, id: unfit.plan.id, name: "Dinar", currency: "KWD" };
  expect((await admin.done("PlanService/UpdatePlan", same)).plan).toMatchObject({
    name: "Dinar",
    currency: "KWD",
  });
});
