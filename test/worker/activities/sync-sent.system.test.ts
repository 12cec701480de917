/** An e-mailed invoice is synced, even if the ledger does not move its change time. */
import { expect } from "vitest";
import { createLedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import {
  createLedgerSyncActivities,
  type LedgerSyncActivities,
} from "../../../src/worker/activities/sync/ledger-sync.ts";
import { bookkeeper } from "../../support/bookkeeper.ts";
import { perFile } from "../../support/file-fixture.ts";
import { setSyncDue } from "../../support/ledger-sync-builder.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { type CreditFixture, type CreditParty, creditTest } from "./credit-fixture.ts";

const test = creditTest.extend("sync", perFile, async ({ fixture }) =>
  createLedgerSyncActivities({
    ledgerSync: createLedgerSync(fixture.pool, fixture.encryption, 3_600_000),
    openLedger: fixture.openLedger,
    callDeadlineMs: 20_000,
    onSkipped: () => undefined,
    startLedgerSync: async () => true,
    startAllocation: async () => true,
  }),
);

/** Reads everything again, in as many batches as that takes. */
async function syncAll(
  fixture: CreditFixture,
  sync: LedgerSyncActivities,
  party: CreditParty,
): Promise<void> {
  await setSyncDue(fixture.pool, party);
  const isOver = async () =>
    (await sync.syncBatch({ organisationId: party.organisationId })).nextInMs === null;
  await until("nothing is left to read", isOver);
}

test("an e-mail of a partly paid invoice is synced within a day", async ({ fixture, sync }) => {
  const party = await fixture.party();
  await fixture.issue(party, "10", "20");
  const hand = bookkeeper(fixture.pool, fixture.demoUrl, party.tenantId);
  await hand.pay("INV-0001", "2");
  await syncAll(fixture, sync, party);
  // Longer ago than an incremental sync reads back.
  for (const [table, column, owner, id] of [
    ["demo_ledger.invoices", "updated_at", "tenant_id", party.tenantId],
    ["invoices", "ledger_updated_at", "organisation_id", party.organisationId],
  ]) {
    await fixture.pool.query(
      `UPDATE ${table} SET ${column} = ${column} - interval '2 hours' WHERE ${owner} = $1`,
      [id],
    );
  }
  await hand.send("INV-0001");
  await hand.send("INV-0002");
  const sent = async () => {
    const where = { organisationId: party.organisationId, sent: true };
    const sentOnes = tables(fixture.pool).invoice.findMany({ where, orderBy: { number: "asc" } });
    return (await sentOnes).map((row) => row.number);
  };
  await syncAll(fixture, sync, party);
  const day = "UPDATE ledger_sync_cursors SET part_paid_checked_at = $2 WHERE organisation_id = $1";
  expect(await sent()).toEqual(["INV-0002"]);
  await fixture.pool.query(day, [party.organisationId, new Date(Date.now() - 25 * 3_600_000)]);
  await syncAll(fixture, sync, party);
  expect(await sent()).toEqual(["INV-0001", "INV-0002"]);
});
