/**
 * Plans and charges over the wire: methods, refusals and audit entries. CATALOGUE-2, CATALOGUE-3
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { adminTest as test } from "../fixtures.ts";

const unknownOrganisation = { organisation: randomUUID() };

describe("plans", () => {
  const tiers = [
    { upTo: 10, unitPrice: "7" },
    { unitPrice: "6.5", flatPrice: "1.25" },
  ];
  const plan = { code: "cloud", name: "Cloud", type: "PLAN_TYPE_TIERED", tiers };

  test("are drafts that can be changed while unused, and move through their statuses", async ({
    admin,
    own,
  }) => {
    const { plan: draft } = await admin.done("PlanService/CreatePlan", { ...own, ...plan });
    expect(draft).toMatchObject({
      status: "CATALOGUE_STATUS_DRAFT",
      price: "0.0000",
      tiers: [
        { from: 1, upTo: 10, unitPrice: "7.0000" },
        { from: 11, unitPrice: "6.5000", flatPrice: "1.2500" },
      ],
    });
    const at = { ...own, id: draft.id };
    const move = async (status: string) =>
      (
        await admin.done("PlanService/SetPlanStatus", {
          ...at,
          status: `CATALOGUE_STATUS_${status}`,
        })
      ).plan.status;
    const stuck = (status: string) =>
      admin.refused("PlanService/SetPlanStatus", { ...at, status: `CATALOGUE_STATUS_${status}` });
    expect(await stuck("LEGACY")).toBe("invalid_state");
    expect(await move("ACTIVE")).toBe("CATALOGUE_STATUS_ACTIVE");
    const { plan: changed } = await admin.done("PlanService/UpdatePlan", {
      ...at,
      tiers: { tiers: [{ unitPrice: "9" }] },
    });
    expect(changed.tiers).toEqual([{ from: 1, unitPrice: "9.0000" }]);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "plan",
      before: { tiers: [{ up_to: 10, unit_price: "7.0000" }, { flat_price: "1.2500" }] },
      after: { tiers: [{ up_to: null, unit_price: "9.0000" }] },
    });
    expect(await move("LEGACY")).toBe("CATALOGUE_STATUS_LEGACY");
    expect(await move("ACTIVE")).toBe("CATALOGUE_STATUS_ACTIVE");
    expect(await stuck("DRAFT")).toBe("invalid_state");
    expect(await move("INACTIVE")).toBe("CATALOGUE_STATUS_INACTIVE");
    expect(await stuck("ACTIVE")).toBe("invalid_state");
    expect((await admin.done("PlanService/GetPlan", at)).plan.status).toBe(
      "CATALOGUE_STATUS_INACTIVE",
    );
  });

  test("never change what they bill once a subscription uses them", async ({
    system,
    admin,
    made,
    own,
  }) => {
    const { data } = await admin.done("PlanService/ListPlans", { ...own, code: "site" });
    const at = { ...own, id: data[0].id };
    const body = { customer_code: "ACME", plan_code: "site" };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key: made.apiKey,
      idempotencyKey: "use",
      body,
    });
    expect(created.status, created.text).toBe(201);
    expect(await admin.refused("PlanService/UpdatePlan", { ...at, price: "1" })).toBe(
      "plan_in_use",
    );
    expect(await admin.refused("PlanService/UpdatePlan", { ...at, intervalMonths: 2 })).toBe(
      "plan_in_use",
    );
    const { plan: renamed } = await admin.done("PlanService/UpdatePlan", { ...at, name: "Site 2" });
    expect(renamed).toMatchObject({ name: "Site 2", subscriptions: 1, price: data[0].price });
  });

  test("keep their price during a concurrent creation of a subscription", async ({
    system,
    admin,
    made,
    own,
  }) => {
    for (let race = 0; race < 6; race += 1) {
      const code = `race-${race}`;
      const flat = { ...own, code, name: "Race", type: "PLAN_TYPE_FLAT_FEE", price: "10" };
      const { plan: raced } = await admin.done("PlanService/CreatePlan", flat);
      const at = { ...own, id: raced.id };
      await admin.done("PlanService/SetPlanStatus", { ...at, status: "CATALOGUE_STATUS_ACTIVE" });
      const body = { customer_code: "ACME", plan_code: code };
      const [created] = await Promise.all([
        system.ask("POST", "/v1/subscriptions", { key: made.apiKey, idempotencyKey: code, body }),
        admin.ask("PlanService/UpdatePlan", { ...at, price: "20" }),
      ]);
      const { plan: now } = await admin.done("PlanService/GetPlan", at);
      expect([created.status, created.json.invoice.subtotal], created.text).toEqual([
        201,
        now.price,
      ]);
    }
  });

  test("are refused with the parameter at fault", async ({ admin, own }) => {
    const refused = (change: object) =>
      admin.refused("PlanService/CreatePlan", { ...own, ...plan, code: "x", ...change });
    expect(await refused({ code: "team" })).toBe("plan_code_taken code");
    expect(await refused({ tiers: [] })).toBe("invalid_parameter tiers");
    expect(
      await refused({
        tiers: [
          { upTo: 5, unitPrice: "1" },
          { upTo: 5, unitPrice: "1" },
        ],
      }),
    ).toBe("invalid_parameter tiers.1.up_to");
    expect(await refused({ type: "PLAN_TYPE_FLAT_FEE", tiers: [] })).toBe(
      "invalid_parameter price",
    );
    expect(await refused({ type: undefined })).toBe("invalid_parameter type");
    expect(await refused({ price: "1.23456" })).toBe("invalid_parameter price");
    expect(await refused({ currency: "ABC" })).toBe("invalid_parameter currency");
    expect(await refused(unknownOrganisation)).toBe("organisation_not_found");
    for (const method of ["GetPlan", "UpdatePlan"]) {
      expect(await admin.refused(`PlanService/${method}`, { ...own, id: randomUUID() })).toBe(
        "plan_not_found",
      );
    }
    const { data } = await admin.done("PlanService/ListPlans", { ...own, code: "cloud" });
    const taken = { ...own, id: data[0].id, code: "team" };
    expect(await admin.refused("PlanService/UpdatePlan", taken)).toBe("plan_code_taken code");
  });
});

describe("charges", () => {
  test("are created, changed until they are billed, and moved like plans", async ({
    system,
    admin,
    made,
    own,
  }) => {
    const { charge } = await admin.done("ChargeService/CreateCharge", {
      ...own,
      code: "visit",
      name: "Visit",
      price: "80",
    });
    expect(charge).toMatchObject({
      status: "CATALOGUE_STATUS_DRAFT",
      price: "80.0000",
      currency: "NZD",
    });
    const at = { ...own, id: charge.id };
    const change = { ...at, price: "90.5", description: "On site" };
    expect((await admin.done("ChargeService/UpdateCharge", change)).charge).toMatchObject({
      price: "90.5000",
      description: "On site",
    });
    expect(await admin.lastEntry()).toMatchObject({
      before: { price: "80.0000" },
      after: { price: "90.5000" },
    });
    await admin.done("ChargeService/SetChargeStatus", { ...at, status: "CATALOGUE_STATUS_ACTIVE" });
    const body = { customer_code: "ACME", plan_code: "site", charges: [{ charge_code: "visit" }] };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key: made.apiKey,
      idempotencyKey: "visit",
      body,
    });
    expect(created.status, created.text).toBe(201);
    expect(await admin.refused("ChargeService/UpdateCharge", { ...at, price: "1" })).toBe(
      "charge_in_use",
    );
    expect(
      (await admin.done("ChargeService/UpdateCharge", { ...at, description: "" })).charge
        .description,
    ).toBeUndefined();
    expect((await admin.done("ChargeService/GetCharge", at)).charge).toMatchObject({
      invoiceLines: 1,
    });
    expect(
      await admin.refused("ChargeService/SetChargeStatus", {
        ...at,
        status: "CATALOGUE_STATUS_DRAFT",
      }),
    ).toBe("invalid_state");
    const again = { ...own, code: "visit", name: "Visit", price: "1" };
    expect(await admin.refused("ChargeService/CreateCharge", again)).toBe("charge_code_taken code");
    expect(await admin.refused("ChargeService/GetCharge", { ...own, id: randomUUID() })).toBe(
      "charge_not_found",
    );
    const { data } = await admin.done("ChargeService/ListCharges", {
      ...own,
      status: "CATALOGUE_STATUS_ACTIVE",
    });
    expect(data[0]).toMatchObject({ code: "visit" });
  });
});
