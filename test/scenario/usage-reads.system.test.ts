/**
 * Usage over HTTP: what a platform shows its customer of a period, and an event with the document
 * that bills it. USAGE-16.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import { calls, storage, meteredTest as test } from "./usage-billing-fixture.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";

const invalid = (param: string) => refused(422, "invalid_parameter", param);
const aprilDays = { start: "2026-04-01", end: "2026-05-01" };
const mayDays = { start: "2026-05-01", end: "2026-06-01" };

test("usage is shown open, then billed, and an event leads to its invoice", async ({
  ask,
  clocks,
  reports,
  metered,
  to,
}) => {
  const [own, id] = await metered({}, [calls, storage]);
  await to(own, "2026-04-20");
  const named = (event_id: string, quantity: string, day: string, meter_code = "api-calls") =>
    usageEvent(id, `${day}T00:00:00+02:00`, { event_id, quantity, meter_code });
  await reports.stored(own, [
    named("a/1", "1000.5", "2026-04-20"),
    named("a 2", "499.5", "2026-04-01"),
    named("é3", "4", "2026-04-20", "storage"),
  ]);
  const key = own.apiKey;
  const usage = async (query = "") => {
    const { json, status, text } = await ask("GET", `/v1/subscriptions/${id}/usage${query}`, {
      key,
    });
    expect(status, text).toBe(200);
    return json.data;
  };
  const event = async (eventId: string) =>
    (await ask("GET", `/v1/usage_events/${encodeURIComponent(eventId)}`, { key })).json;
  const open = await usage("?meter_code=api-calls");
  expect(open).toEqual([
    {
      id: expect.stringMatching(/^0\.[0-9a-f-]{36}$/),
      object: "meter_usage",
      subscription: id,
      meter: expect.any(String),
      meter_code: "api-calls",
      unit_label: "call",
      period: aprilDays,
      events: 2,
      quantity: "1500.0000",
      billed_quantity: "0.0000",
      late_quantity: "0.0000",
      currency: expect.any(String),
      billed_amount: "0.0000",
      amount: "25.0000",
    },
  ]);
  const stored = {
    event_id: "a/1",
    object: "usage_event",
    status: "created",
    subscription: id,
    meter: open[0].meter,
    meter_code: "api-calls",
    quantity: "1000.5000",
    timestamp: "2026-04-19T22:00:00.000000Z",
    created: expect.stringMatching(/^2026-04-/),
    period: aprilDays,
    billing: "open",
    invoice: null,
    credit_note: null,
    voided: null,
  };
  expect(await event("a/1")).toEqual(stored);
  await to(own, "2026-05-01");
  const [renewal] = await clocks.invoices(own, id);
  const billed = { ...open[0], billed_quantity: "1500.0000", billed_amount: "25.0000" };
  expect(await usage("?meter_code=api-calls")).toEqual([billed]);
  expect((await usage()).map(({ amount }: { amount: string }) => amount).toSorted()).toEqual([
    "25.0000",
    "8.0000",
  ]);
  expect(await event("a/1")).toEqual({ ...stored, billing: "billed", invoice: renewal.id });
  expect(await event("é3")).toMatchObject({ event_id: "é3", invoice: renewal.id });
  // Late usage makes April 0.01 dearer, and is in the same row.
  await reports.stored(own, [named("late", "1", "2026-04-02"), named("may", "2", "2026-05-01")]);
  expect(await usage("?meter_code=api-calls")).toMatchObject([
    { period: mayDays, quantity: "2.0000", amount: "0.0400", late_quantity: "0.0000" },
    { period: aprilDays, quantity: "1501.0000", late_quantity: "1.0000", amount: "25.0100" },
  ]);
});

test("usage refuses a wrong parameter by its name", async ({ ask, metered, use }) => {
  const [own, id] = await metered();
  await use(own, id, ["10", "2026-04-01"]);
  const listed = await ask("GET", `/v1/subscriptions/${id}/usage`, { key: own.apiKey });
  const [, meter] = listed.json.data[0].id.split(".");
  const wrong: readonly (readonly [query: string, param: string])[] = [
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["starting_after=abc", "starting_after"],
    [`starting_after=${randomUUID()}`, "starting_after"],
    ["starting_after=1.2", "starting_after"],
    // A period that has not begun, and a meter that is not on the plan.
    [`starting_after=999.${meter}`, "starting_after"],
    [`starting_after=0.${randomUUID()}`, "starting_after"],
    ["meter_code=", "meter_code"],
    ["meter=api-calls", "meter"],
  ];
  for (const [query, param] of wrong) {
    const answer = await ask("GET", `/v1/subscriptions/${id}/usage?${query}`, {
      key: own.apiKey,
    });
    expect([query, refusalOf(answer)]).toEqual([query, invalid(param)]);
  }
});

test("a voided event says so, and its usage is not shown", async ({
  system,
  ask,
  metered,
  reports,
}) => {
  const [own, id] = await metered();
  await addMeter(system.pool, own.organisationId, { code: "other" });
  await reports.stored(own, [
    usageEvent(id, "2026-04-01T00:00:00+02:00", { event_id: "wrong", quantity: "9" }),
  ]);
  const voided = await system.askAdmin("UsageService/VoidUsageEvent", {
    key: await system.operator(),
    idempotencyKey: "void",
    body: { organisation: own.organisationId, id: "wrong", reason: "A test of the importer" },
  });
  expect(voided.status, voided.text).toBe(200);
  const { json } = await ask("GET", "/v1/usage_events/wrong", { key: own.apiKey });
  expect(json).toMatchObject({ billing: "voided", voided: expect.stringMatching(/Z$/) });
  const usage = await ask("GET", `/v1/subscriptions/${id}/usage`, { key: own.apiKey });
  expect(usage.json).toEqual({ data: [], has_more: false });
});
