/** Meters, their accounts, and their prices on plans, over the wire. CATALOGUE-8 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../../../packages/dev/src/demo/first-data.ts";
import { tables } from "../../../support/rows.ts";
import { startSystem, type TestSystem } from "../../../support/system.ts";
import { type AdminAsk, askWith, codeOf } from "../request.ts";

let system: TestSystem;
let admin: AdminAsk;
let made: CreatedOrganisation;
let own = { organisation: "" };
let other = { organisation: "" };

beforeAll(async () => {
  system = await startSystem({ without: ["worker"] });
  admin = askWith(system, await system.operator("owner", "Olga"));
  // In Setup Mode subscriptions are created without the ledger.
  made = await system.organisation({}, { setup_mode: true });
  own = { organisation: made.organisationId };
  other = { organisation: (await system.organisation()).organisationId };
});

afterAll(() => system?.stop());

const nobody = { organisation: randomUUID() };
const inactive = { status: "METER_STATUS_INACTIVE" };
const active = { status: "METER_STATUS_ACTIVE" };

async function meter(code: string, of = own) {
  return (await admin.done("MeterService/CreateMeter", { ...of, code, name: code })).meter;
}

/** By how much a call increments the version of the organisation's catalogue. */
async function issued(call: () => Promise<unknown>): Promise<number> {
  const version = async () => {
    const text = "SELECT catalogue_version::int AS version FROM organisations WHERE id = $1";
    return (
      (await system.pool.query<{ version: number }>(text, [made.organisationId])).rows[0]
        ?.version ?? 0
    );
  };
  const before = await version();
  await call();
  return (await version()) - before;
}

describe("meters", () => {
  const calls = { code: "api-calls", name: "API calls", unitLabel: "call" };

  test("are created, updated and moved, each with an audit entry", async () => {
    const create = () =>
      admin.done("MeterService/CreateMeter", { ...own, ...calls, revenueAccount: "200" });
    expect(await issued(create)).toBe(1);
    const page = await admin.done("MeterService/ListMeters", { ...own, code: "api-calls" });
    const [first] = page.data;
    expect(first).toEqual({
      id: first.id,
      ...calls,
      ...active,
      revenueAccount: "200",
      created: expect.any(String),
    });
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "meter",
      target: first.id,
      operation: "billing.admin.v1.MeterService/CreateMeter",
      after: {
        code: "api-calls",
        unit_label: "call",
        status: "active",
        revenue_account: "200",
        tax_type: null,
      },
    });

    const at = { ...own, id: first.id };
    const change = {
      ...at,
      name: "Calls",
      unitLabel: "request",
      revenueAccount: "",
      taxType: "OUTPUT2",
    };
    expect(await issued(() => admin.done("MeterService/UpdateMeter", change))).toBe(1);
    const { revenueAccount: _, ...rest } = first;
    const changed = { ...rest, name: "Calls", unitLabel: "request", taxType: "OUTPUT2" };
    expect((await admin.done("MeterService/GetMeter", at)).meter).toEqual(changed);
    const entry = await admin.lastEntry();
    expect(entry).toMatchObject({
      before: { revenue_account: "200" },
      after: { revenue_account: null, name: "Calls" },
    });

    expect(
      await issued(() => admin.done("MeterService/SetMeterStatus", { ...at, ...inactive })),
    ).toBe(1);
    expect(await admin.lastEntry()).toMatchObject({
      before: { status: "active" },
      after: { status: "inactive" },
    });
    const { id: last } = await admin.lastEntry();
    await admin.done("MeterService/SetMeterStatus", { ...at, ...inactive });
    expect((await admin.lastEntry()).id).toBe(last);
    expect(
      (await admin.done("MeterService/ListMeters", { ...own, ...active })).data,
    ).toBeUndefined();
    expect(
      (await admin.done("MeterService/ListMeters", { ...own, ...inactive })).data,
    ).toHaveLength(1);
    expect((await admin.done("MeterService/SetMeterStatus", { ...at, ...active })).meter).toEqual(
      changed,
    );
    const newest = await meter("minutes");
    expect(newest.unitLabel).toBe("unit");
    const newer = await admin.done("MeterService/ListMeters", { ...own, limit: 1 });
    expect(newer).toMatchObject({ data: [{ id: newest.id }], hasMore: true });
    const older = await admin.done("MeterService/ListMeters", { ...own, startingAfter: newest.id });
    expect(older.data).toEqual([changed]);
  });

  test("are created once by one Idempotency-Key, also after its 24 hours", async () => {
    const create = { ...own, code: "keyed", name: "Keyed" };
    const asked = { idempotencyKey: "make-meter" };
    const { meter: keyed } = await admin.done("MeterService/CreateMeter", create, asked);
    expect((await admin.done("MeterService/CreateMeter", create, asked)).meter).toEqual(keyed);
    const others = { ...create, name: "Other" };
    expect(await admin.refused("MeterService/CreateMeter", others, asked)).toBe(
      "idempotency_conflict Idempotency-Key",
    );
    await tables(system.pool).idempotencyKey.deleteMany();
    expect((await admin.done("MeterService/CreateMeter", create, asked)).meter).toEqual(keyed);
    await tables(system.pool).idempotencyKey.deleteMany();
    const conflict = await admin.refused(
      "MeterService/CreateMeter",
      { ...create, code: "another" },
      asked,
    );
    expect(conflict).toBe("idempotency_conflict Idempotency-Key");
  });

  test("have accounts among the mappings, which the ledger must have", async () => {
    const mapped = await meter("mapped");
    const set = "AccountMappingService/SetAccountMapping";
    const target = { ...own, meter: mapped.id };
    expect(
      await issued(() => admin.done(set, { ...target, revenueAccount: "260", taxType: "OUTPUT2" })),
    ).toBe(1);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "account_mapping",
      target: mapped.id,
      before: { target: "meter", code: "mapped", revenue_account: null },
      after: { revenue_account: "260" },
    });
    const { meters } = await admin.done("AccountMappingService/GetAccountMapping", own);
    const mapping = { revenueAccount: "260", taxType: "OUTPUT2" };
    expect(meters).toContainEqual({ id: mapped.id, code: "mapped", name: "mapped", mapping });
    expect(
      (await admin.done("MeterService/GetMeter", { ...own, id: mapped.id })).meter,
    ).toMatchObject(mapping);

    expect(await admin.refused(set, { ...own, meter: randomUUID(), skipCheck: true })).toBe(
      "meter_not_found",
    );
    const plan = randomUUID();
    expect(await admin.refused(set, { ...target, plan })).toBe("invalid_parameter meter");
    const unknown = { ...own, code: "x", name: "x", revenueAccount: "999" };
    expect(await admin.refused("MeterService/CreateMeter", unknown)).toBe(
      "invalid_parameter revenue_account",
    );
    const untaxed = { ...own, id: mapped.id, taxType: "NONESUCH" };
    expect(await admin.refused("MeterService/UpdateMeter", untaxed)).toBe(
      "invalid_parameter tax_type",
    );
    const { meter: unchecked } = await admin.done("MeterService/UpdateMeter", {
      ...untaxed,
      skipCheck: true,
    });
    expect(unchecked.taxType).toBe("NONESUCH");
  });

  test("are refused with the parameter at fault, and unknown to another organisation", async () => {
    const theirs = await meter("theirs", other);
    const create = (change: object) =>
      admin.refused("MeterService/CreateMeter", { ...own, code: "y", name: "y", ...change });
    expect(await create({ code: "minutes" })).toBe("meter_code_taken code");
    expect(await create({ code: "" })).toBe("invalid_parameter code");
    expect(await create({ name: undefined })).toBe("invalid_parameter name");
    expect(await create({ unitLabel: "u".repeat(51) })).toBe("invalid_parameter unit_label");
    expect(await create(nobody)).toBe("organisation_not_found");
    for (const id of [theirs.id, randomUUID(), "api-calls"]) {
      for (const method of ["GetMeter", "UpdateMeter"]) {
        expect(await admin.refused(`MeterService/${method}`, { ...own, id })).toBe(
          "meter_not_found",
        );
      }
      expect(await admin.refused("MeterService/SetMeterStatus", { ...own, id, ...active })).toBe(
        "meter_not_found",
      );
    }
    const statusless = { ...other, id: theirs.id };
    expect(await admin.refused("MeterService/SetMeterStatus", statusless)).toBe(
      "invalid_parameter status",
    );
    const after = { ...own, startingAfter: theirs.id };
    expect(await admin.refused("MeterService/ListMeters", after)).toBe(
      "invalid_parameter starting_after",
    );
    const key = await system.operator("read-only");
    const body = { ...own, code: "y", name: "y" };
    expect(codeOf(await system.askAdmin("MeterService/CreateMeter", { key, body }))).toBe(
      "insufficient_role",
    );
    expect((await system.askAdmin("MeterService/ListMeters", { key, body: own })).status).toBe(200);
  });
});

describe("meters on a plan", () => {
  const flat = { name: "Cloud", type: "PLAN_TYPE_FLAT_FEE", price: "49" };
  const perUnit = (of: string, price = "0.002") => ({
    meter: of,
    type: "PLAN_TYPE_PER_UNIT",
    price,
  });
  const ids: string[] = [];

  beforeAll(async () => {
    for (const code of ["gigabytes", "messages", "idle"]) ids.push((await meter(code)).id);
    await admin.done("MeterService/SetMeterStatus", { ...own, id: ids[2], ...inactive });
  });

  test("are named by id or code and can change while the plan is unused", async () => {
    const tiers = [{ upTo: 10, unitPrice: "0.5", flatPrice: "1.25" }, { unitPrice: "0.25" }];
    const meters = [
      perUnit("messages"),
      { meter: ids[0]?.toUpperCase(), type: "PLAN_TYPE_TIERED", tiers },
    ];
    const create = () =>
      admin.done("PlanService/CreatePlan", { ...own, ...flat, code: "cloud", meters });
    expect(await issued(create)).toBe(1);
    const [plan] = (await admin.done("PlanService/ListPlans", { ...own, code: "cloud" })).data;
    const shown = [
      {
        meter: ids[1],
        code: "messages",
        name: "messages",
        type: "PLAN_TYPE_PER_UNIT",
        price: "0.0020",
      },
      {
        meter: ids[0],
        code: "gigabytes",
        name: "gigabytes",
        type: "PLAN_TYPE_TIERED",
        price: "0.0000",
        tiers: [
          { from: 1, upTo: 10, unitPrice: "0.5000", flatPrice: "1.2500" },
          { from: 11, unitPrice: "0.2500" },
        ],
      },
    ];
    expect(plan.meters).toEqual(shown);
    expect((await admin.lastEntry()).after.meters).toMatchObject([
      { meter: ids[1], price: "0.0020" },
      { tiers: [{}, {}] },
    ]);
    expect((await admin.done("MeterService/GetMeter", { ...own, id: ids[0] })).meter.plans).toBe(1);

    const at = { ...own, id: plan.id };
    const { plan: renamed } = await admin.done("PlanService/UpdatePlan", {
      ...at,
      name: "Sky",
      tiers: { tiers: [] },
    });
    expect(renamed).toEqual({ ...plan, name: "Sky" });
    const others = [
      { meter: "gigabytes", type: "PLAN_TYPE_VOLUME", tiers: [{ unitPrice: "3" }] },
      {
        meter: "messages",
        type: "PLAN_TYPE_STAIRSTEP",
        tiers: [{ upTo: 5, flatPrice: "1" }, { flatPrice: "9" }],
      },
    ];
    expect(
      await issued(() =>
        admin.done("PlanService/UpdatePlan", { ...at, meters: { meters: others } }),
      ),
    ).toBe(1);
    const { plan: changed } = await admin.done("PlanService/GetPlan", at);
    expect(changed.meters).toMatchObject([
      { code: "gigabytes", type: "PLAN_TYPE_VOLUME", tiers: [{ unitPrice: "3.0000" }] },
      {
        code: "messages",
        type: "PLAN_TYPE_STAIRSTEP",
        tiers: [{ flatPrice: "1.0000" }, { from: 6, flatPrice: "9.0000" }],
      },
    ]);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "plan",
      before: {
        meters: [{ code: "messages", type: "per_unit", price: "0.0020" }, { code: "gigabytes" }],
      },
      after: {
        meters: [
          { code: "gigabytes", type: "volume" },
          { tiers: [{ up_to: 5, flat_price: "1.0000" }, {}] },
        ],
      },
    });
    const none = await admin.done("PlanService/UpdatePlan", { ...at, meters: {} });
    expect(none.plan.meters).toBeUndefined();
  });

  test("never change once a subscription uses the plan", async () => {
    const meters = [perUnit("messages"), perUnit("gigabytes", "1")];
    const { plan } = await admin.done("PlanService/CreatePlan", {
      ...own,
      ...flat,
      code: "used",
      meters,
    });
    const at = { ...own, id: plan.id };
    await admin.done("PlanService/SetPlanStatus", { ...at, status: "CATALOGUE_STATUS_ACTIVE" });
    const body = { customer_code: "ACME", plan_code: "used" };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key: made.apiKey,
      idempotencyKey: "use",
      body,
    });
    expect(created.status, created.text).toBe(201);

    const refused = (...others: readonly object[]) =>
      admin.refused("PlanService/UpdatePlan", { ...at, meters: { meters: others } });
    expect(await refused()).toBe("plan_in_use");
    expect(await refused(perUnit("messages"))).toBe("plan_in_use");
    expect(await refused(perUnit("gigabytes", "1"), perUnit("messages"))).toBe("plan_in_use");
    expect(await refused(perUnit("messages", "0.003"), perUnit("gigabytes", "1"))).toBe(
      "plan_in_use",
    );
    const tiered = {
      meter: "messages",
      type: "PLAN_TYPE_TIERED",
      tiers: [{ unitPrice: "0.002" }],
    };
    expect(await refused(tiered, perUnit("gigabytes", "1"))).toBe("plan_in_use");
    // What is said of a meter itself is no price; nor is the same said again.
    await admin.done("MeterService/UpdateMeter", { ...own, id: ids[1], name: "Texts" });
    const same = {
      ...at,
      name: "Still used",
      meters: { meters: [perUnit("messages", "0.0020"), meters[1]] },
    };
    const { plan: kept } = await admin.done("PlanService/UpdatePlan", same);
    const renamed = [{ ...plan.meters[0], name: "Texts" }, plan.meters[1]];
    expect(kept).toMatchObject({ name: "Still used", subscriptions: 1, meters: renamed });
    await admin.done("MeterService/SetMeterStatus", { ...own, id: ids[0], ...inactive });
    expect((await admin.done("PlanService/GetPlan", at)).plan.meters).toEqual(renamed);
    await admin.done("MeterService/SetMeterStatus", { ...own, id: ids[0], ...active });

    const shown = await system.ask("GET", `/v1/plans/${plan.id}`, { key: made.apiKey });
    expect(shown.json).toMatchObject({ code: "used", tiers: [] });
    expect(shown.text).not.toContain("meter");
  });

  test("are refused with their place in the request", async () => {
    const theirs = await meter("elsewhere", other);
    const create = (...meters: readonly object[]) =>
      admin.refused("PlanService/CreatePlan", { ...own, ...flat, code: "refused", meters });
    const good = perUnit("messages");
    for (const unknown of [theirs.id, "elsewhere", randomUUID()]) {
      expect(await create(good, perUnit(unknown))).toBe("meter_not_found meters.1.meter");
    }
    expect(await create(perUnit("idle"))).toBe("meter_inactive meters.0.meter");
    expect(await create(good, perUnit(ids[1] ?? ""))).toBe("invalid_parameter meters.1.meter");
    expect(await create({ ...good, meter: "" })).toBe("invalid_parameter meters.0.meter");
    expect(await create({ ...good, type: undefined })).toBe("invalid_parameter meters.0.type");
    expect(await create({ ...good, price: undefined })).toBe("invalid_parameter meters.0.price");
    expect(await create({ ...good, price: "-1" })).toBe("invalid_parameter meters.0.price");
    const bounded = {
      meter: "gigabytes",
      type: "PLAN_TYPE_VOLUME",
      tiers: [{ upTo: 5, unitPrice: "1" }],
    };
    expect(await create(good, bounded)).toBe("invalid_parameter meters.1.tiers.0.up_to");
    expect(await create(...Array.from({ length: 21 }, () => good))).toBe(
      "invalid_parameter meters",
    );
    const [plan] = (await admin.done("PlanService/ListPlans", { ...own, code: "cloud" })).data;
    const update = { ...own, id: plan.id, meters: { meters: [perUnit("idle")] } };
    expect(await admin.refused("PlanService/UpdatePlan", update)).toBe(
      "meter_inactive meters.0.meter",
    );
    expect(
      (await admin.done("PlanService/ListPlans", { ...own, code: "refused" })).data,
    ).toBeUndefined();
  });
});
