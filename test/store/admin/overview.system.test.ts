/** The figures of an organisation are those of what it has, as of the minute's step. ADMIN-17 */
import { expect } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { createPlatformObjects } from "../../../src/store/admin/platform/platform-objects.ts";
import { readOverview } from "../../../src/store/overview/read-overview.ts";
import { refreshOverviews } from "../../../src/store/overview/refresh-overviews.ts";
import { perFile } from "../../support/file-fixture.ts";
import { tables } from "../../support/rows.ts";
import { type UsageFixture, usageTest } from "../billing/usage-fixture.ts";
import { attentionCases } from "./attention/attention-builder.ts";

const test = usageTest.extend("store", perFile, async ({ fixture }) => ({
  read: (organisationId: string) => readOverview(fixture.pool, organisationId),
}));

/** The step of a minute. */
async function step({ pool }: UsageFixture): Promise<void> {
  const failed: unknown[] = [];
  while ((await refreshOverviews(pool, 5, (_, error) => failed.push(error))) === 5);
  expect(failed).toEqual([]);
}

/** Lets so much time pass since the figures were reckoned and read. */
const age = ({ pool }: UsageFixture, organisation: string, time: string) =>
  pool.query(
    `UPDATE overviews SET as_of = as_of - $2::interval, read_at = read_at - $2::interval
      WHERE organisation_id = $1`,
    [organisation, time],
  );

test("the figures are those of what the organisation has", async ({ fixture, store }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const first = await fixture.subscribe(organisation);
  await fixture.subscribe(organisation, { units: 4 });
  await fixture.posted(organisation);
  await fixture.setClock(organisation, "2026-04-12");
  await fixture.bill(organisation);
  await fixture.pool.query(
    "UPDATE subscriptions SET cancel_at_period_end = true, end_date = renewal_date WHERE id = $1",
    [first],
  );
  expect(await store.read(organisation)).toMatchObject({ figures: null, asOf: null });
  await step(fixture);
  const overview = await store.read(organisation);
  expect(overview?.asOf?.getTime()).toBeLessThanOrEqual(Date.now());
  const nothing = { count: 0, values: [] };
  expect(overview?.figures).toEqual({
    today: "2026-04-12",
    subscriptions: {
      recurring: [{ currency: "NZD", perMonth: "50.0000", subscriptions: 1 }],
      statuses: { active: 2 },
      started: 0,
      ended: 0,
      parked: 0,
    },
    renewals: [
      {
        date: "2026-04-10",
        due: nothing,
        billed: { count: 2, values: [{ currency: "NZD", amount: "175.0000" }] },
        failed: nothing,
        ending: nothing,
      },
      {
        date: "2026-05-10",
        due: { count: 1, values: [{ currency: "NZD", amount: "50.0000" }] },
        billed: nothing,
        failed: nothing,
        ending: { count: 1, values: [{ currency: "NZD", amount: "125.0000" }] },
      },
    ],
    documents: {
      states: { failed: 0, waiting: 2, drift: 0 },
      statuses: { approved: 2, scheduled: 2 },
      notInLedger: { count: 2, oldest: "2026-04-12T12:00:00.000Z" },
    },
    endpoints: [],
  });
});

test("the renewals of a day are the invoices that the list has of it", async ({
  fixture,
  store,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const [ahead, removed] = [
    await fixture.subscribe(organisation),
    await fixture.subscribe(organisation),
  ];
  await fixture.posted(organisation);
  await fixture.setClock(organisation, "2026-04-12");
  await fixture.bill(organisation);
  await fixture.posted(organisation);
  const change = (subscription: string, assignments: string) =>
    fixture.pool.query(
      `UPDATE invoices SET ${assignments} WHERE subscription_id = $1 AND type = 'renewal'`,
      [subscription],
    );
  await change(ahead, "issue_date = '2026-03-27'");
  await change(removed, "status = 'voided'");
  await step(fixture);
  const day = civilDate("2026-04-10");
  const { data } = await createPlatformObjects(fixture.pool).invoices.list(
    organisation,
    { statuses: [], renewalFrom: day, renewalTo: day },
    { limit: 25, startingAfter: null },
  );
  expect(data.map(({ subscriptionId }) => subscriptionId)).toEqual([ahead]);
  const overview = await store.read(organisation);
  expect(overview?.figures?.renewals.find(({ date }) => date === day)?.billed.count).toBe(1);
});

test("figures count what failed, drifts and is parked, and its endpoints", async ({
  fixture,
  store,
}) => {
  const figures = async (kinds: readonly (keyof typeof attentionCases)[]) => {
    const organisation = await fixture.sandbox("2026-03-10");
    const subscription = await fixture.subscribe(organisation);
    await fixture.posted(organisation);
    for (const kind of kinds)
      await attentionCases[kind].make({ fixture, organisation, subscription });
    await step(fixture);
    return (await store.read(organisation))?.figures;
  };
  expect(await figures(["document_refused"])).toMatchObject({
    documents: { states: { failed: 1, waiting: 0, drift: 0 } },
  });
  expect(await figures(["document_drift"])).toMatchObject({
    documents: { states: { failed: 0, waiting: 0, drift: 1 } },
  });
  expect(await figures(["subscription_parked"])).toMatchObject({ subscriptions: { parked: 1 } });
  expect(await figures(["delivery_failed"])).toMatchObject({
    endpoints: [{ url: "https://receiver.example", status: "enabled", failed: 1, waiting: 0 }],
  });
});

test("figures are reckoned each minute while they are read, else each hour", async ({
  fixture,
  store,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await step(fixture);
  await fixture.subscribe(organisation);
  const active = async () =>
    (await store.read(organisation))?.figures?.subscriptions.statuses.active ?? 0;
  await age(fixture, organisation, "5 minutes");
  await step(fixture);
  expect(await active()).toBe(0);
  // It has been read now.
  await step(fixture);
  expect(await active()).toBe(1);
  await fixture.subscribe(organisation);
  await age(fixture, organisation, "50 minutes");
  await step(fixture);
  expect(await active()).toBe(1);
  await age(fixture, organisation, "2 hours");
  await step(fixture);
  expect(await active()).toBe(2);
});

test("figures that take long are reckoned less often", async ({ fixture, store }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await step(fixture);
  await store.read(organisation);
  await fixture.subscribe(organisation);
  await tables(fixture.pool).overview.updateMany({
    where: { organisationId: organisation },
    data: { tookMs: 10_000 },
  });
  await age(fixture, organisation, "9 minutes");
  const before = (await store.read(organisation))?.asOf;
  await step(fixture);
  expect((await store.read(organisation))?.asOf).toEqual(before);
  await age(fixture, organisation, "2 minutes");
  await step(fixture);
  expect((await store.read(organisation))?.figures?.subscriptions.statuses.active).toBe(1);
});
