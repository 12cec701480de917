/**
 * The subscriptions of the first sandbox: one in each state, with usage, and its clock, which an
 * operator advances over them.
 */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { askWith } from "../../../test/admin/services/request.ts";
import type { Json } from "../../../test/scenario/units-builder.ts";
import { perFile } from "../../../test/support/file-fixture.ts";
import { systemTest } from "../../../test/support/fixtures.ts";
import { type TestSystem, until } from "../../../test/support/system.ts";
import { type CreatedFirstData, createFirstData } from "../src/demo/first-data.ts";
import { finishHistory } from "../src/demo/sandbox-clock.ts";
import { beginningOfHistory, createSandboxHistory } from "../src/demo/sandbox-history.ts";

const secretKey = randomBytes(32).toString("base64");

async function firstStart(system: TestSystem): Promise<CreatedFirstData> {
  const { baseUrl, adminUrl, databaseUrl, demoUrl: demoLedgerUrl } = system;
  const sandboxClock = beginningOfHistory(new Date());
  const data = await createFirstData({ databaseUrl, demoLedgerUrl, secretKey, sandboxClock });
  if (data === null) throw new Error("the database was empty");
  const { sandbox, operatorToken } = data;
  const own = { kind: "status", match: "GET /a-user's-own", tenantId: "none" };
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify(own);
  expect((await fetch(`${demoLedgerUrl}/demo/faults`, { method: "POST", headers, body })).ok).toBe(
    true,
  );
  const where = { baseUrl, adminUrl, databaseUrl, demoLedgerUrl };
  await createSandboxHistory({ ...where, sandbox, operatorToken });
  return data;
}

const test = systemTest
  .extend("settings", perFile, { env: { SECRET_KEY: secretKey } })
  .extend("data", perFile, ({ system }: { readonly system: TestSystem }) => firstStart(system));

/** Reads a list of the sandbox, or one of its objects. */
async function read(system: TestSystem, data: CreatedFirstData, path: string): Promise<Json> {
  const answer = await system.ask("GET", `/v1/${path}`, { key: data.testKey });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

async function byLabel(system: TestSystem, data: CreatedFirstData, start: string): Promise<Json> {
  const { data: all } = await read(system, data, "subscriptions");
  const found = all.find(({ label }: Json) => label.startsWith(start));
  expect(found, start).toBeDefined();
  return found;
}

test("the sandbox has a subscription in each state", async ({ system, data }) => {
  const { data: all } = await read(system, data, "subscriptions");
  const states = all.map(({ label, status, cancel_at_period_end: endsLater }: Json) => [
    label,
    status,
    endsLater,
  ]);
  expect(states.toReversed()).toEqual([
    ["Active, with a one-off charge", "active", false],
    ["Metered", "active", false],
    ["With a deferred charge", "active", false],
    ["Ends with its period", "active", true],
    ["Ended", "ended", false],
    ["Complete after two periods", "complete", false],
    ["Pending", "pending", false],
    ["With a refused invoice", "active", false],
  ]);
  const { data: live } = (await system.ask("GET", "/v1/subscriptions", { key: data.liveKey })).json;
  expect(live).toEqual([]);
});

test("its deferred charge and its usage are on the upcoming invoice", async ({ system, data }) => {
  const upcomingOf = async (label: string) => {
    const { id } = await byLabel(system, data, label);
    const { lines } = await read(system, data, `subscriptions/${id}/upcoming_invoice`);
    return lines.map(({ kind }: Json) => kind);
  };
  expect(await upcomingOf("With a deferred charge")).toEqual(["plan", "proration"]);
  expect(await upcomingOf("Metered")).toEqual(["plan", "usage"]);
  // The first period had 1,500 calls, of which 1,000 are free: 500 × 0.002.
  const { id } = await byLabel(system, data, "Metered");
  const { data: usage } = await read(system, data, `subscriptions/${id}/usage`);
  expect(usage.map(({ quantity, amount }: Json) => [quantity, amount])).toEqual([
    ["2400.0000", "2.8000"],
    ["1500.0000", "1.0000"],
  ]);
});

test("one invoice is refused by the ledger, where only a user's own fault is left", async ({
  system,
  data,
}) => {
  const { id } = await byLabel(system, data, "With a refused invoice");
  const admin = askWith(system, data.operatorToken ?? "");
  const own = { organisation: data.sandbox.organisationId };
  const failed = await admin.done("DocumentService/ListDocuments", {
    ...own,
    state: "DOCUMENT_STATE_FAILED",
  });
  expect(failed.data.map(({ subscription }: Json) => subscription)).toEqual([id]);
  const { faults } = (await (await fetch(`${system.demoUrl}/demo/documents`)).json()) as Json;
  expect(faults).toMatchObject([{ match: "GET /a-user's-own" }]);
});

test("its clock shows real time, and its test key reports usage", async ({ system, data }) => {
  const admin = askWith(system, data.operatorToken ?? "");
  const own = { organisation: data.sandbox.organisationId };
  const { testClock } = await admin.done("TestClockService/GetTestClock", own);
  expect(testClock).toMatchObject({ state: "TEST_CLOCK_STATE_REAL_TIME" });
  expect(testClock.advance).toBeUndefined();
  const { id } = await byLabel(system, data, "Metered");
  const event = { event_id: "now", subscription: id, meter_code: "api-calls", quantity: 10 };
  const reported = await system.ask("POST", "/v1/usage_events", {
    key: data.testKey,
    body: { events: [{ ...event, timestamp: new Date().toISOString() }] },
  });
  expect([reported.status, reported.json]).toMatchObject([200, { created: 1, rejected: 0 }]);
});

test("an operator advances its clock, and its subscriptions renew, begin and complete", async ({
  system,
  data,
}) => {
  const admin = askWith(system, data.operatorToken ?? "");
  const own = { organisation: data.sandbox.organisationId };
  await admin.done("TestClockService/AdvanceTestClock", { ...own, months: 1 });
  const { testClock } = await until("the clock stands", async () => {
    const read = await admin.done("TestClockService/GetTestClock", own);
    return read.testClock.state === "TEST_CLOCK_STATE_STANDING" && read;
  });
  expect(testClock.advance.invoicesIssued).toBeGreaterThanOrEqual(4);
  expect(testClock.advance.parked ?? 0).toBe(0);
  expect((await byLabel(system, data, "Pending")).status).toBe("active");
  expect((await byLabel(system, data, "Ends with")).status).toBe("complete");
});

test("a clock that an ended start left behind shows real time, and others stand", async ({
  system,
  data,
}) => {
  const { pool } = system;
  const create = async (testClock: Date) =>
    (await system.organisation({ livemode: false, testClock })).organisationId;
  const leftBehind = await create(beginningOfHistory(new Date()));
  // Advanced by its user during the history, and by its user afterwards, some time ago.
  const ahead = await create(new Date(Date.now() + 86_400_000));
  const overtaken = data.sandbox.organisationId;
  await pool.query(
    `INSERT INTO clock_advances (organisation_id, started_from, target, finished_at)
      SELECT id, created_at - interval '75 days', test_clock, now()
      FROM organisations WHERE id = $1`,
    [ahead],
  );
  await pool.query("UPDATE organisations SET test_clock = now() WHERE id = $1", [overtaken]);
  const standing = async () => {
    const { rows } = await pool.query("SELECT id FROM organisations WHERE test_clock IS NOT NULL");
    return new Set(rows.map(({ id }) => id));
  };
  expect(await standing()).toEqual(new Set([leftBehind, ahead, overtaken]));
  expect(await finishHistory(system.databaseUrl)).toBe(true);
  expect(await standing()).toEqual(new Set([ahead, overtaken]));
  expect(await finishHistory(system.databaseUrl)).toBe(false);
});
