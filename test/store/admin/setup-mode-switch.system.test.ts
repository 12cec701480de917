/**
 * A switch of Setup Mode waits for no work under way. Work that the switch would cut in two refuses
 * it, and the refusal names that work (SETUP-4).
 */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { createChanges } from "../../../src/store/admin/changes.ts";
import {
  createOrganisationStore,
  type OrganisationStore,
} from "../../../src/store/admin/organisations/organisations.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createTerminations } from "../../../src/store/subscriptions/end-removals.ts";
import { perFile } from "../../support/file-fixture.ts";
import { type OperatorWrites, operatorWrites } from "../../support/operator-writes.ts";
import { park, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { type UsageFixture, usageTest } from "../billing/usage-fixture.ts";

type Organisations = Pick<OrganisationStore, "get"> & Pick<OperatorWrites, "setSetupMode">;

const test = usageTest.extend("organisations", perFile, async ({ fixture }) => {
  const { get } = createOrganisationStore(fixture.pool, createChanges(fixture.pool));
  return { get, setSetupMode: operatorWrites(fixture.pool).setSetupMode };
});

const switched = (organisations: Organisations, organisation: string, on: boolean) =>
  organisations.setSetupMode(organisation, on);

const isOn = async (organisations: Organisations, organisation: string) =>
  (await organisations.get(organisation))?.setupMode;

/** Returns the message of the refusal. The mode stays as it was. */
async function refusedSwitch(
  organisations: Organisations,
  organisation: string,
  on: boolean,
): Promise<string> {
  const error = await switched(organisations, organisation, on).then(
    () => null,
    (reason: unknown) => reason as { readonly code: string; readonly message: string },
  );
  expect(error).toMatchObject({ code: "invalid_state" });
  expect(await isOn(organisations, organisation)).toBe(!on);
  return error?.message ?? "";
}

const writes = (fixture: UsageFixture, organisation: string) =>
  tenantWrites(fixture.pool, organisation);

const terminations = (fixture: UsageFixture, organisation: string) =>
  createTerminations(fixture.pool, createEncryption(randomBytes(32)))(organisation);

const end = (
  fixture: UsageFixture,
  organisation: string,
  id: string,
  now: string,
  isVoiding = false,
) =>
  writes(fixture, organisation).end(
    { id, now },
    { when: "now", deleteUnsentInvoices: false, voidApprovedInvoices: isVoiding },
  );

/** Begins an end and returns its id. */
async function begun(
  fixture: UsageFixture,
  organisation: string,
  id: string,
  now: string,
  isVoiding = false,
): Promise<string> {
  const outcome = await end(fixture, organisation, id, now, isVoiding);
  if (outcome.kind !== "removing") throw new Error(`the end is ${outcome.kind}`);
  return outcome.terminationId;
}

/** Takes the first task of an end under way. The task must be of this kind. */
async function take<K extends "drop" | "remove" | "finish">(
  fixture: UsageFixture,
  organisation: string,
  terminationId: string,
  kind: K,
) {
  const task = await terminations(fixture, organisation).take(terminationId, 60_000);
  if (task?.kind !== kind) throw new Error(`the task is ${task?.kind}`);
  return task as Extract<NonNullable<typeof task>, { readonly kind: K }>;
}

/** Sets the subscription's documents to their state once the ledger has them. */
async function inLedger(fixture: UsageFixture, id: string, status: string): Promise<void> {
  await tables(fixture.pool).ledgerJob.updateMany({
    where: { state: "ready", subscriptionId: id },
    data: { state: "done", finishedAt: new Date() },
  });
  await fixture.pool.query(
    `UPDATE invoices SET status = $2, ledger_invoice_id = gen_random_uuid()::text
      WHERE subscription_id = $1 AND status = 'scheduled'`,
    [id, status],
  );
  await fixture.pool.query(
    `UPDATE invoice_lines SET ledger_line_id = id::text
      WHERE invoice_id IN (SELECT id FROM invoices WHERE subscription_id = $1)`,
    [id],
  );
}

const retry = (fixture: UsageFixture, id: string) =>
  tables(fixture.pool).subscription.updateMany({
    where: { id },
    data: { parkedUntil: new Date() },
  });

const starts = async (fixture: UsageFixture, id: string) =>
  (await fixture.invoices(id)).map(({ start }) => start);

test("a due parked subscription refuses Setup Mode on, and the next switch bills it", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-11");
  await park(fixture.pool, id);
  expect(await refusedSwitch(organisations, organisation, true)).toContain(id);
  await retry(fixture, id);
  await fixture.posted(organisation);
  // What the switch bills has to be sent before it can follow.
  expect(await refusedSwitch(organisations, organisation, true)).toContain("INV-0002");
  await fixture.posted(organisation);
  expect(await switched(organisations, organisation, true)).toMatchObject({ changed: true });
  expect(await starts(fixture, id)).toEqual(["2026-03-10", "2026-04-10"]);
});

test("a due parked subscription refuses Setup Mode off, and its period is not billed", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { setup_mode: true });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-11");
  await park(fixture.pool, id);
  expect(await refusedSwitch(organisations, organisation, false)).toContain(id);
  await retry(fixture, id);
  expect(await switched(organisations, organisation, false)).toMatchObject({
    changed: true,
    issued: 0,
  });
  await fixture.setClock(organisation, "2026-05-20");
  await fixture.bill(organisation);
  expect(await starts(fixture, id)).toEqual(["2026-05-10"]);
});

test("a parked subscription that is not due does not refuse a switch", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await park(fixture.pool, id);
  await fixture.posted(organisation);
  expect(await switched(organisations, organisation, true)).toMatchObject({ changed: true });
});

test("the refusal of a switch names ten parked subscriptions and has their number", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const ids: string[] = [];
  for (let count = 0; count < 12; count += 1) ids.push(await fixture.subscribe(organisation));
  await fixture.posted(organisation);
  await fixture.setClock(organisation, "2026-04-11");
  await Promise.all(ids.map((id) => park(fixture.pool, id)));
  const message = await refusedSwitch(organisations, organisation, true);
  expect(ids.filter((id) => message.includes(id))).toHaveLength(10);
  expect(message).toContain("12");
});

test("an end under way refuses a switch until it is refused and reissues its invoice", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  const id = await fixture.subscribe(organisation);
  await inLedger(fixture, id, "approved");
  await fixture.setClock(organisation, "2026-04-01");
  await fixture.bill(organisation);
  const terminationId = await begun(fixture, organisation, id, "2026-04-01T12:00:00Z", true);
  await terminations(fixture, organisation).drop(
    await take(fixture, organisation, terminationId, "drop"),
  );
  const message = await refusedSwitch(organisations, organisation, true);
  expect(message).toContain(id);
  expect(message).toContain("ended");
  const removal = await take(fixture, organisation, terminationId, "remove");
  await terminations(fixture, organisation).refuse(removal, {
    reason: "period_locked",
    message: "locked",
    invoice: null,
  });
  await fixture.posted(organisation);
  expect(await switched(organisations, organisation, true)).toMatchObject({ changed: true });
  expect(await starts(fixture, id)).toEqual(["2026-03-10", "2026-04-10", "2026-04-10"]);
});

test("an end under way bills its deferred amount before a switch can follow", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  const id = await fixture.subscribe(organisation);
  const deferred = {
    units: 12,
    prorate: true,
    behaviour: "charge_on_renewal",
    effectiveDate: civilDate("2026-03-20"),
    document: null,
  } as const;
  await writes(fixture, organisation).changeUnits({ id, now: "2026-03-10T12:00:00Z" }, deferred);
  await fixture.setClock(organisation, "2026-04-01");
  await fixture.bill(organisation);
  const terminationId = await begun(fixture, organisation, id, "2026-04-01T12:00:00Z");
  await terminations(fixture, organisation).drop(
    await take(fixture, organisation, terminationId, "drop"),
  );
  await refusedSwitch(organisations, organisation, true);
  await terminations(fixture, organisation).finish(
    await take(fixture, organisation, terminationId, "finish"),
    "now",
  );
  await fixture.posted(organisation);
  expect(await switched(organisations, organisation, true)).toMatchObject({ changed: true });
  expect((await fixture.invoices(id)).map(({ type }) => type)).toContain("change");
});

test("an amendment under way refuses a switch, by the number of its invoice", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-01");
  await fixture.bill(organisation);
  await inLedger(fixture, id, "draft");
  const amended = {
    units: 14,
    prorate: false,
    behaviour: null,
    effectiveDate: null,
    document: "amend",
  } as const;
  await writes(fixture, organisation).changeUnits({ id, now: "2026-04-01T12:00:00Z" }, amended);
  const message = await refusedSwitch(organisations, organisation, true);
  expect(message).toContain("INV-0002");
  await inLedger(fixture, id, "draft");
  expect(await switched(organisations, organisation, true)).toMatchObject({ changed: true });
});

test("a restoration whose documents the ledger does not have yet refuses a switch", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  const id = await fixture.subscribe(organisation);
  await inLedger(fixture, id, "approved");
  await fixture.setClock(organisation, "2026-04-01");
  await fixture.bill(organisation);
  const terminationId = await begun(fixture, organisation, id, "2026-04-01T12:00:00Z");
  await terminations(fixture, organisation).drop(
    await take(fixture, organisation, terminationId, "drop"),
  );
  await terminations(fixture, organisation).finish(
    await take(fixture, organisation, terminationId, "finish"),
    "now",
  );
  await writes(fixture, organisation).restore({ id, now: "2026-04-01T12:00:00Z" });
  const message = await refusedSwitch(organisations, organisation, true);
  expect(message).toContain("Still to be sent to the ledger: invoice INV-");
  await inLedger(fixture, id, "approved");
  expect(await switched(organisations, organisation, true)).toMatchObject({ changed: true });
});

test("usage that a switch bills amends no invoice", async ({ fixture, organisations }) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-01");
  await fixture.bill(organisation);
  await inLedger(fixture, id, "draft");
  await fixture.use(organisation, id, ["10", "2026-04-01"]);
  await fixture.setClock(organisation, "2026-04-11");
  expect(await refusedSwitch(organisations, organisation, true)).toContain("INV-0003");
  await fixture.posted(organisation);
  expect(await switched(organisations, organisation, true)).toMatchObject({ changed: true });
  expect((await fixture.invoices(id)).map(({ type }) => type)).toEqual([
    "first",
    "renewal",
    "usage",
  ]);
});

test("an end that waits for a switch is decided in the new mode", async ({
  fixture,
  organisations,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-01");
  await fixture.bill(organisation);
  await fixture.posted(organisation);
  // Another session locks the subscription, so that the switch has read, and cannot write yet.
  const holder = await fixture.pool.connect();
  try {
    await holder.query("BEGIN");
    await holder.query("SELECT FROM subscriptions WHERE id = $1 FOR UPDATE", [id]);
    const { rows } = await holder.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    const switching = switched(organisations, organisation, true);
    const [switcher = 0] = await until("the switch waits for the subscription", () =>
      waiting(fixture, rows[0]?.pid ?? 0),
    );
    const waitingEnd = end(fixture, organisation, id, "2026-04-01T12:00:00Z").catch(
      (error: unknown) => error,
    );
    await until("the end waits for the switch", () => waiting(fixture, switcher));
    await holder.query("COMMIT");
    expect(await switching).toMatchObject({ changed: true });
    expect(await waitingEnd).toMatchObject({ code: "invalid_state" });
  } finally {
    holder.release();
  }
});

/** Returns the sessions that wait for a lock of this one, or null while none does. */
async function waiting(fixture: UsageFixture, pid: number): Promise<readonly number[] | null> {
  const { rows } = await fixture.pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND $1 = ANY (pg_blocking_pids(pid))`,
    [pid],
  );
  return rows.length === 0 ? null : rows.map((row) => row.pid);
}
