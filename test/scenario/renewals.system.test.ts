/**
 * The life of subscriptions as the billing run advances it, over HTTP and through Temporal: renewal
 * invoices on their day or ahead of it, starts, completions, changed settings, and equal documents
 * in the ledger. STATE-1, STATE-2, DOCUMENT-3, UNITS-12.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { askWith } from "../admin/services/request.ts";
import type { BillingRuns } from "../support/billing.ts";
import { type TestSystem, until } from "../support/system.ts";
import { scenarioTest as test } from "./fixtures.ts";
import type { Json, UnitsBuilder } from "./units-builder.ts";

/**
 * Moves the clock and waits until everything due is done and the ledger has decided on it.
 */
async function advance(
  builder: UnitsBuilder,
  runs: BillingRuns,
  organisation: CreatedOrganisation,
  instant: string,
): Promise<void> {
  await builder.setClock(organisation, instant);
  await runs.untilDone(organisation.organisationId);
  await builder.posted(organisation);
}

/** Its invoices in short, oldest first: `renewal 2026-05-01 2026-06-01 144.0000 draft`. */
async function shown(
  builder: UnitsBuilder,
  organisation: CreatedOrganisation,
  id: string,
): Promise<readonly string[]> {
  const invoices = await builder.invoices(organisation, id);
  return invoices
    .map(({ type, period, subtotal, status }) =>
      [type, period.start, period.end, subtotal, status].join(" "),
    )
    .toReversed();
}

/**
 * Asserts that the ledger has our invoices and no others, line by line. The ledger's text may add
 * the arithmetic of a line.
 */
async function expectSameDocuments(
  builder: UnitsBuilder,
  organisation: CreatedOrganisation,
  ...ids: readonly string[]
): Promise<void> {
  await builder.posted(organisation);
  const ours = (await Promise.all(ids.map((id) => builder.invoices(organisation, id)))).flat();
  const shown = ours.map(({ number, subtotal, lines }) => [
    number,
    subtotal.slice(0, -2),
    ...lines.map((line: Json) => `${line.name}: ${line.description} ${line.amount.slice(0, -2)}`),
  ]);
  const booked = (await builder.inLedger(organisation)).map(({ number, subtotal, lines }) => [
    number,
    subtotal,
    ...lines.map(([text, amount]) => `${text.replace(/ \([^()]* = [^()]*\)$/, "")} ${amount}`),
  ]);
  expect(booked.toSorted()).toEqual(shown.toSorted());
}

const end = (
  system: TestSystem,
  organisation: CreatedOrganisation,
  id: string,
): Promise<{ status: number; json: Json }> =>
  system.ask("POST", `/v1/subscriptions/${id}/end`, {
    key: organisation.apiKey,
    body: { when: "period_end" },
  });

describe("a renewal invoice", () => {
  test("is issued on its day at the current units, with deferred lines and discount", async ({
    builder,
    runs,
  }) => {
    const organisation = await builder.sandbox();
    const { id } = await builder.subscribe(organisation, {
      discount_percent: "10",
      invoice_reference: "PO 7",
    });
    await builder.setClock(organisation, "2026-04-16");
    const change = {
      units: 14,
      prorate: true,
      proration_behaviour: "charge_on_renewal",
      effective_date: "2026-04-16",
    };
    await builder.changed(organisation, id, change);
    await advance(builder, runs, organisation, "2026-04-30");
    expect(await shown(builder, organisation, id)).toHaveLength(1);
    await advance(builder, runs, organisation, "2026-05-01");
    const [renewal, first, ...others] = await builder.invoices(organisation, id);
    expect([first.type, others]).toEqual(["first", []]);
    expect(renewal).toMatchObject({
      type: "renewal",
      status: "draft",
      reference: "PO 7",
      issue_date: "2026-05-01",
      due_date: "2026-05-15",
      period: { start: "2026-05-01", end: "2026-06-01" },
      subtotal: "144.0000",
      ledger: { sync_status: "synced" },
    });
    // 14 × 10.00 less a tenth, and four units more for half of April.
    expect(renewal.lines.map(({ kind, amount }: Json) => [kind, amount])).toEqual([
      ["plan", "126.0000"],
      ["proration", "18.0000"],
    ]);
    expect(await builder.subscription(organisation, id)).toMatchObject({
      status: "active",
      renewal_date: "2026-06-01",
      units: 14,
      renewal_value: "126.0000",
    });
    await expectSameDocuments(builder, organisation, id);
  });

  test("is issued Invoice Create Days ahead, and its period begins on its day", async ({
    builder,
    runs,
  }) => {
    const organisation = await builder.sandbox({
      invoice_create_days: 10,
      first_invoice_status: "approved",
    });
    const { id } = await builder.subscribe(organisation);
    await builder.changed(organisation, id, { units: 8, prorate: false });
    await advance(builder, runs, organisation, "2026-04-20");
    expect(await shown(builder, organisation, id)).toHaveLength(1);
    await advance(builder, runs, organisation, "2026-04-21");
    expect((await shown(builder, organisation, id))[1]).toBe(
      "renewal 2026-05-01 2026-06-01 80.0000 approved",
    );
    expect((await builder.subscription(organisation, id)).renewal_date).toBe("2026-05-01");
    await advance(builder, runs, organisation, "2026-05-01");
    expect(await shown(builder, organisation, id)).toHaveLength(2);
    expect((await builder.subscription(organisation, id)).renewal_date).toBe("2026-06-01");
    await expectSameDocuments(builder, organisation, id);
  });

  test("is not issued in Setup Mode, and other periods are billed whenever performed", async ({
    system,
    builder,
    runs,
  }) => {
    const admin = askWith(system, await system.operator("admin", "Ruth"));
    const organisation = await builder.sandbox();
    const { id } = await builder.subscribe(organisation);
    const setupMode = (isOn: boolean) =>
      admin.ask("OrganisationService/SetSetupMode", {
        id: organisation.organisationId,
        setupMode: isOn,
      });
    await builder.setClock(organisation, "2026-05-10");
    // The switch bills what is due, and is refused until the ledger has it.
    await until("Setup Mode is on", async () => (await setupMode(true)).status === 200);
    await advance(builder, runs, organisation, "2026-06-10");
    await builder.setClock(organisation, "2026-07-10");
    expect((await setupMode(false)).status).toBe(200);
    await advance(builder, runs, organisation, "2026-08-10");
    expect((await shown(builder, organisation, id)).map((text) => text.slice(0, 18))).toEqual([
      "first 2026-04-01 2",
      "renewal 2026-05-01",
      "renewal 2026-08-01",
    ]);
    await expectSameDocuments(builder, organisation, id);
  });
});

describe("a subscription", () => {
  test("that is pending begins on its start date, in its own zone", async ({ builder, runs }) => {
    const organisation = await builder.sandbox();
    const { id } = await builder.subscribe(organisation, {
      start_date: "2026-04-15",
      timezone: "Pacific/Auckland",
    });
    expect((await builder.subscription(organisation, id)).status).toBe("pending");
    await advance(builder, runs, organisation, "2026-04-14T11:59:59Z");
    expect((await builder.subscription(organisation, id)).status).toBe("pending");
    await advance(builder, runs, organisation, "2026-04-14T12:00:00Z");
    expect(await builder.subscription(organisation, id)).toMatchObject({
      status: "active",
      renewal_date: "2026-05-15",
    });
    expect(await shown(builder, organisation, id)).toHaveLength(1);
  });

  test("that is set to end completes at its renewal date and bills deferred amounts", async ({
    system,
    builder,
    runs,
  }) => {
    const organisation = await builder.sandbox();
    const { id } = await builder.subscribe(organisation);
    await builder.setClock(organisation, "2026-04-16");
    const deferred = {
      prorate: true,
      proration_behaviour: "charge_on_renewal",
      effective_date: "2026-04-16",
    };
    await builder.changed(organisation, id, { units: 12, ...deferred });
    expect((await end(system, organisation, id)).json).toMatchObject({
      status: "active",
      end_date: "2026-05-01",
    });
    await advance(builder, runs, organisation, "2026-05-02");
    expect(await builder.subscription(organisation, id)).toMatchObject({
      status: "complete",
      cancel_at_period_end: true,
      end_date: "2026-05-01",
      renewal_date: "2026-05-01",
      renewal_value: "0.0000",
    });
    expect((await shown(builder, organisation, id)).at(-1)).toBe(
      "change 2026-04-01 2026-05-01 10.0000 draft",
    );
    await advance(builder, runs, organisation, "2026-09-01");
    expect(await shown(builder, organisation, id)).toHaveLength(2);
    await expectSameDocuments(builder, organisation, id);
  });
});

describe("a change of settings is applied to every subscription:", () => {
  test("more Invoice Create Days issue the invoices of the longer window now", async ({
    system,
    builder,
    runs,
  }) => {
    const admin = askWith(system, await system.operator("admin", "Ada"));
    const organisation = await builder.sandbox();
    const { id } = await builder.subscribe(organisation);
    await advance(builder, runs, organisation, "2026-04-22");
    expect(await shown(builder, organisation, id)).toHaveLength(1);
    await admin.done("OrganisationService/UpdateOrganisation", {
      id: organisation.organisationId,
      invoiceCreateDays: 20,
    });
    await advance(builder, runs, organisation, "2026-04-22");
    expect((await shown(builder, organisation, id))[1]).toBe(
      "renewal 2026-05-01 2026-06-01 100.0000 draft",
    );
  });
});
