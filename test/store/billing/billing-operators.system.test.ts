/**
 * What operators do while billing is due: they switch Setup Mode and retry a parked subscription.
 * SETUP-3, SETUP-4.
 */
import { expect, vi } from "vitest";
import { createBillingStore } from "../../../src/store/admin/billing.ts";
import { type Changes, createChanges } from "../../../src/store/admin/changes.ts";
import { createOrganisationStore } from "../../../src/store/admin/organisations/organisations.ts";
import { perFile } from "../../support/file-fixture.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { fromNow, tables } from "../../support/rows.ts";
import { billingTest } from "./billing-fixture.ts";

const test = billingTest.extend("changes", perFile, async ({ fixture }) =>
  createChanges(fixture.pool),
);

const actor = {
  operatorId: null,
  operatorName: "Test",
  tokenId: null,
  operation: "Test",
  requestId: null,
};

test.for([
  "stands",
  "advances",
])("a period is billed by the mode in which it began, if the clock %s", async (way, {
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  const { setSetupMode } = operatorWrites(fixture.pool);
  const starts = async () => (await fixture.invoices(id)).map(({ start }) => start);
  const advance =
    "INSERT INTO clock_advances (organisation_id, started_from, target) " +
    "VALUES ($1, '2026-03-10', '2027-01-01')";
  if (way === "advances") await fixture.pool.query(advance, [organisation]);
  await fixture.setClock(organisation, "2026-04-20");
  await fixture.posted(organisation);
  // What the switch bills has to be sent first (SETUP-4).
  await expect(setSetupMode(organisation, true)).rejects.toMatchObject({ code: "invalid_state" });
  await fixture.posted(organisation);
  await setSetupMode(organisation, true);
  expect(await starts(), "periods that began before Setup Mode are billed").toEqual([
    "2026-03-10",
    "2026-04-10",
  ]);
  await fixture.setClock(organisation, "2026-06-05");
  await setSetupMode(organisation, false);
  await fixture.setClock(organisation, "2026-06-20");
  await fixture.bill(organisation, { isOfClock: way === "advances" });
  expect(await starts(), "periods that began in Setup Mode are not billed").toEqual([
    "2026-03-10",
    "2026-04-10",
    "2026-06-10",
  ]);
});

test("a switch of Setup Mode is refused if the billing before it takes too long", async ({
  fixture,
  changes,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-20");
  const { setSetupMode } = operatorWrites(fixture.pool, -1);
  const { get } = createOrganisationStore(fixture.pool, changes);
  await expect(setSetupMode(organisation, true)).rejects.toMatchObject({
    code: "invalid_state",
  });
  expect(await get(organisation)).toMatchObject({ setupMode: false });
  expect(await fixture.invoices(id)).toHaveLength(1);
  await fixture.bill(organisation);
  await fixture.posted(organisation);
  expect(await setSetupMode(organisation, true)).toMatchObject({ changed: true, issued: 0 });
});

test("a retry returns the parked subscription as it was, if a run bills it at once", async ({
  fixture,
  changes,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await tables(fixture.pool).subscription.updateMany({
    where: { id },
    data: { parkedUntil: fromNow(60), parkedReason: "x", parkedAttempts: 1, dueAt: new Date(0) },
  });
  const run: Changes["run"] = (...args) =>
    changes.run(...args).finally(() => fixture.bill(organisation));
  const retried = await createBillingStore(fixture.pool, { ...changes, run }).retry(
    actor,
    organisation,
    id,
  );
  expect(retried).toMatchObject({
    id,
    status: "active",
    renewalDate: "2026-04-10",
    reason: "x",
    attempts: 1,
  });
});

test.for([2, -2])("a retry is due at once, by a machine %i hours ahead too", async (hours, {
  fixture,
  changes,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-20");
  await tables(fixture.pool).subscription.updateMany({
    where: { id },
    data: { parkedUntil: fromNow(60), parkedReason: "x", parkedAttempts: 1, dueAt: new Date(0) },
  });
  vi.useFakeTimers({ now: Date.now() + hours * 3_600_000, toFake: ["Date"] });
  try {
    await createBillingStore(fixture.pool, changes).retry(actor, organisation, id);
  } finally {
    vi.useRealTimers();
  }
  await fixture.bill(organisation);
  expect(await fixture.invoices(id)).toHaveLength(2);
});
