/**
 * BillingService over the wire: increases of units that nothing bills in a period whose renewal
 * invoice was removed by hand. What earlier versions left is planted. ADMIN-16
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../../../packages/dev/src/demo/first-data.ts";
import type { LifeBuilder } from "../../../scenario/life-builder.ts";
import { addBands, type Json } from "../../../scenario/units-builder.ts";
import { setOrganisation, tables } from "../../../support/rows.ts";
import type { TestSystem } from "../../../support/system.ts";
import {
  april,
  half,
  leftoversOf,
  mended,
  shown,
  leftoverTest as test,
} from "./leftovers-builder.ts";

const may = { start: "2026-05-01", end: "2026-06-01" };
const kind = "LEFTOVER_KIND_UNBILLED_INCREASE";

/** Removes an invoice as a person does in the ledger, as the next sync stores it. */
const removeByHand = ({ pool }: TestSystem, invoice: Json) =>
  tables(pool).invoice.updateMany({
    where: { id: invoice.id },
    data: { status: "deleted", amountDue: 0 },
  });

/** Raises units as an earlier version did outside the window: the next period stays as it is. */
async function raiseAsBefore({ pool }: TestSystem, id: string, units: number, at: string) {
  await pool.query(
    `WITH change AS (INSERT INTO unit_changes (id, organisation_id, subscription_id, from_units,
        to_units, deferred, job_ids, request_hash, created_at)
      SELECT gen_random_uuid(), organisation_id, id, units, $2, false, '{}', sha256('units'), $3
      FROM subscriptions WHERE id = $1)
    UPDATE subscriptions SET units = $2 WHERE id = $1`,
    [id, units, at],
  );
}

/** Begins May with the present units as its billed ones, as an earlier version did. */
async function beginAsBefore({ pool }: TestSystem, id: string): Promise<void> {
  await pool.query(
    `UPDATE periods p SET billed_units = s.units FROM subscriptions s
      WHERE s.id = $1 AND p.subscription_id = s.id AND p.index = 1`,
    [id],
  );
}

const billedUnits = async ({ pool }: TestSystem, id: string, index: number) =>
  (await tables(pool).period.findFirst({ where: { subscriptionId: id, index } }))?.billedUnits;

/** A subscription whose renewal invoice of May was removed by hand. */
async function removedAhead(
  { system, builder }: { readonly system: TestSystem; readonly builder: LifeBuilder },
  own: CreatedOrganisation,
  body: object = {},
): Promise<{ readonly id: string; readonly renewal: Json }> {
  const { id } = await builder.subscribe(own, { ...april, ...body });
  const [renewal] = await builder.invoices(own, id);
  expect(renewal).toMatchObject({ type: "renewal", period: may });
  await removeByHand(system, renewal);
  return { id, renewal };
}

describe.concurrent("an increase after a removal by hand is billed once", () => {
  const row = { kind, amount: "30.0000", currency: "NZD" };
  const document = ["DOCUMENT_KIND_INVOICE", "INVOICE_TYPE_CHANGE", "30.0000"];

  test("before the renewal, and the next change is measured from it", async ({
    system,
    admin,
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf();
    const { id, renewal } = await removedAhead({ system, builder }, own);
    await raiseAsBefore(system, id, 13, "2026-04-16T12:00:00Z");
    const expected = { ...row, subscription: id, numbers: [renewal.number] };
    expect(shown(await mended(admin, own.organisationId, expected))).toEqual([document]);
    const [billed] = await builder.invoices(own, id);
    expect(billed.lines).toMatchObject([
      {
        amount: "30.0000",
        period: may,
        proration: { from_units: 10, to_units: 13, days_remaining: 31, days_in_period: 31 },
      },
    ]);
    const { change } = await builder.changed(own, id, { units: 15, document: "separate" });
    expect(change.invoice.lines.map(({ amount }: Json) => amount)).toEqual(["20.0000"]);
    await builder.setClock(own, "2026-05-02");
    await builder.changed(own, id, { units: 16, prorate: true, effective_date: may.start });
    expect(await leftoversOf(admin, own.organisationId)).toEqual([]);
  });

  test("after a renewal that began with the higher units, whatever changed since", async ({
    system,
    admin,
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf();
    const { id, renewal } = await removedAhead({ system, builder }, own);
    await raiseAsBefore(system, id, 13, "2026-04-16T12:00:00Z");
    await builder.setClock(own, "2026-05-02");
    await beginAsBefore(system, id);
    await builder.changed(own, id, { units: 11 });
    const later = { units: 15, prorate: true, effective_date: may.start };
    const deferring = { ...later, units: 16, proration_behaviour: "charge_on_renewal" };
    await builder.changed(own, id, later);
    await builder.changed(own, id, deferring);
    const expected = { ...row, subscription: id, numbers: [renewal.number] };
    expect(shown(await mended(admin, own.organisationId, expected))).toEqual([document]);
    expect(await billedUnits(system, id, 1)).toBe(16);
  });

  test("after a renewal that kept the billed units", async ({
    system,
    admin,
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf();
    const { organisationId } = own;
    const { id, renewal } = await removedAhead({ system, builder }, own);
    await raiseAsBefore(system, id, 13, "2026-04-20T12:00:00Z");
    await builder.setClock(own, "2026-05-02");
    await builder.changed(own, id, { units: 14 });
    expect(await billedUnits(system, id, 1)).toBe(10);
    // Which changes came before the start is known in real time alone.
    expect(await leftoversOf(admin, organisationId)).toEqual([]);
    await setOrganisation(system.pool, organisationId, { livemode: true, testClock: null });
    const expected = { ...row, subscription: id, numbers: [renewal.number] };
    expect(shown(await mended(admin, organisationId, expected))).toEqual([document]);
    expect(await billedUnits(system, id, 1)).toBe(13);
  });
});

test("an increase from fewer units than were removed is no leftover", async ({
  system,
  admin,
  builder,
  aheadOf,
}) => {
  const own = await aheadOf();
  const { id } = await removedAhead({ system, builder }, own);
  await builder.changed(own, id, { units: 8, document: "separate" });
  await builder.setClock(own, "2026-05-02");
  await builder.changed(own, id, { units: 7 });
  await raiseAsBefore(system, id, 8, "2026-04-20T12:00:00Z");
  await beginAsBefore(system, id);
  await builder.changed(own, id, { units: 12, prorate: true, effective_date: may.start });
  expect(await leftoversOf(admin, own.organisationId)).toEqual([]);
});

/** What follows the removal by hand in April, and what follows in May. */
const lives: readonly {
  readonly what: string;
  readonly body?: object;
  readonly april?: readonly object[];
  readonly may?: readonly object[];
}[] = [
  {
    what: "raised, lowered, and raised again",
    april: [
      { units: 13, ...half, document: "separate" },
      { units: 11, document: "separate" },
      { units: 12, document: "separate" },
    ],
    may: [
      { units: 15, prorate: true, effective_date: may.start },
      { units: 17, prorate: true, effective_date: "2026-05-02" },
    ],
  },
  {
    what: "raised without proration in both periods",
    april: [{ units: 13, document: "separate" }],
    may: [{ units: 15 }],
  },
  {
    what: "lowered, and raised above in the next period",
    april: [{ units: 8, document: "separate" }],
    may: [{ units: 12, prorate: true, effective_date: may.start }],
  },
  {
    what: "raised at no cost",
    body: { discount_percent: "100" },
    april: [{ units: 13, ...half, document: "separate" }],
    may: [{ units: 14 }],
  },
  {
    what: "raised to a cheaper band, and to one that costs more",
    body: { plan_code: "bands" },
    april: [
      { units: 11, ...half, document: "separate" },
      { units: 20, ...half, document: "separate" },
    ],
    may: [{ units: 22, prorate: true, effective_date: may.start }],
  },
  {
    what: "raised to be billed on the renewal",
    may: [
      {
        units: 13,
        prorate: true,
        effective_date: may.start,
        proration_behaviour: "charge_on_renewal",
      },
    ],
  },
];

test("a change of units of today leaves nothing, whatever a person removed", async ({
  system,
  admin,
  builder,
  aheadOf,
}) => {
  const own = await aheadOf();
  await addBands(system, own);
  const left = () => leftoversOf(admin, own.organisationId);
  const ids: string[] = [];
  for (const { body, april: changes = [] } of lives) {
    const { id } = await removedAhead({ system, builder }, own, body);
    ids.push(id);
    for (const change of changes) await builder.changed(own, id, change);
  }
  // Amended or billed separately before the removal, and removed by an end.
  for (const document of ["amend", "separate"]) {
    const { id } = await builder.subscribe(own, april);
    const [renewal] = await builder.invoices(own, id);
    await builder.changed(own, id, { units: 13, ...half, document });
    await removeByHand(system, renewal);
  }
  const { id: ending } = await builder.subscribe(own, april);
  expect((await builder.end(own, ending, { when: "period_end" })).status).toBe(200);
  await builder.changed(own, ending, { units: 13, ...half });
  const { id: set } = await removedAhead({ system, builder }, own);
  expect((await builder.end(own, set, { when: "period_end" })).status).toBe(200);
  await builder.changed(own, set, { units: 13, ...half });
  const { id: back } = await removedAhead({ system, builder }, own);
  expect((await builder.end(own, back, { when: "period_end" })).status).toBe(200);
  await builder.changed(own, back, { units: 13, ...half });
  await builder.restored(own, back);
  const { id: late } = await builder.subscribe(own, april);
  expect(await left()).toEqual([]);

  await builder.setClock(own, "2026-05-02");
  for (const [index, { may: changes = [] }] of lives.entries())
    for (const change of changes) await builder.changed(own, ids[index] ?? "", change);
  // Its draft takes the charge, and is removed by hand in its own period.
  const joining = { units: 13, prorate: true, effective_date: may.start };
  const { change } = await builder.changed(own, late, joining);
  expect(change.invoice.type).toBe("renewal");
  await removeByHand(system, change.invoice);
  await builder.changed(own, late, { units: 14, prorate: true, effective_date: may.start });
  expect(await left()).toEqual([]);
});
