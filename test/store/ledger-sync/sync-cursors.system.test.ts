/** From where a sweep reads: marks that move with time, and invoices of which the ledger tells nothing by itself. */
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LedgerSyncTenant } from "../../../src/store/ledger-sync/sync-store.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { addInvoice, ledgerIdOf, type Party } from "../ledger-jobs/credit-party.ts";
import { addConnectedParty, hintsOf, mirroringOf } from "./sync-fixture.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 4);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

function open({ organisationId }: Party): LedgerSyncTenant {
  return mirroringOf(pool).open(organisationId);
}

/** Reads every page of the sweep that is due, with these changes on it; the instants that the kinds were read from. */
async function sweptSince(party: Party, highWater: string | null): Promise<Record<string, number>> {
  await pool.query(
    "UPDATE ledger_sync_cursors SET next_sync_at = now() WHERE organisation_id = $1",
    [party.organisationId],
  );
  const since: Record<string, number> = {};
  for (;;) {
    const page = await open(party).claimSyncPage();
    if (page === null) return since;
    since[page.kind] = Date.parse(page.since);
    await open(party).endPage(page, { cursor: null, highWater, changed: 0 });
  }
}

test("a sweep moves its marks with time, also where nothing was changed, and never beyond its own begin", async () => {
  const party = await addConnectedParty(pool);
  const began = Date.now();
  await sweptSince(party, null);
  // Five minutes before the sweep is the mark, and five minutes before that the next one begins.
  const idle = await sweptSince(party, null);
  for (const kind of ["contacts", "credit_notes", "invoices"]) {
    expect(Math.abs((idle[kind] ?? 0) + 600_000 - began)).toBeLessThan(60_000);
  }
  // A change that is newer than that moves it on, and one of a time to come keeps nothing from being read.
  const newest = new Date(began - 60_000).toISOString();
  await sweptSince(party, newest);
  expect((await sweptSince(party, "9999-12-31T23:59:59.000Z")).invoices).toBe(
    Date.parse(newest) - 300_000,
  );
  const late = await sweptSince(party, null);
  expect(Math.abs((late.invoices ?? 0) + 300_000 - Date.now())).toBeLessThan(60_000);
});

test("a sweep has invoices that are partly paid and not sent looked at once a day", async () => {
  const party = await addConnectedParty(pool);
  for (const amount of ["100", "100", "100", "100"]) await addInvoice(party, amount);
  const text =
    "UPDATE invoices SET amount_due = $3, sent = $4 WHERE organisation_id = $1 AND number = $2";
  for (const [number, due, sent] of [
    ["INV-0001", "40", false],
    ["INV-0002", "40", true],
    ["INV-0003", "100", false],
    ["INV-0004", "99", false],
  ]) {
    await pool.query(text, [party.organisationId, number, due, sent]);
  }
  await sweptSince(party, null);
  const expected = [await ledgerIdOf(party, "INV-0001"), await ledgerIdOf(party, "INV-0004")];
  expect(await hintsOf(party)).toEqual(expected.map((id) => `invoices ${id}`).sort());
  const forget = () =>
    pool.query("DELETE FROM ledger_notifications WHERE organisation_id = $1", [
      party.organisationId,
    ]);
  await forget();
  await sweptSince(party, null);
  expect(await hintsOf(party)).toEqual([]);
  const day =
    "UPDATE ledger_sync_cursors SET part_paid_checked_at = now() - interval '25 hours' WHERE organisation_id = $1";
  await pool.query(day, [party.organisationId]);
  await sweptSince(party, null);
  expect(await hintsOf(party)).toHaveLength(2);
});
