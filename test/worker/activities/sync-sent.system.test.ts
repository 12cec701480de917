/** An e-mailed invoice is synced, even if the ledger does not move its change time. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import {
  createLedgerSyncActivities,
  type LedgerSyncActivities,
} from "../../../src/worker/activities/sync/ledger-sync.ts";
import { bookkeeper } from "../../support/bookkeeper.ts";
import { until } from "../../support/system.ts";
import { type CreditFixture, type CreditParty, startCreditFixture } from "./credit-fixture.ts";

let fixture: CreditFixture;
let sync: LedgerSyncActivities;

beforeAll(async () => {
  fixture = await startCreditFixture();
  sync = createLedgerSyncActivities({
    ledgerSync: createLedgerSync(fixture.pool, fixture.encryption, 3_600_000),
    openLedger: fixture.openLedger,
    callDeadlineMs: 20_000,
    onSkipped: () => undefined,
    startLedgerSync: async () => true,
    startAllocation: async () => true,
  });
});
afterAll(() => fixture?.stop());

/** Reads everything again, in as many batches as that takes. */
async function syncAll({ organisationId, tenantId }: CreditParty): Promise<void> {
  await fixture.pool.query(
    `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at)
      VALUES ($1, $2, now())
      ON CONFLICT (organisation_id) DO UPDATE SET next_sync_at = now(), not_before = NULL`,
    [organisationId, tenantId],
  );
  const isOver = async () => (await sync.syncBatch({ organisationId })).nextInMs === null;
  await until("nothing is left to read", isOver);
}

test("an e-mail of a partly paid invoice is synced within a day", async () => {
  const party = await fixture.party();
  await fixture.issue(party, "10", "20");
  const hand = bookkeeper(fixture.pool, fixture.demoUrl, party.tenantId);
  await hand.pay("INV-0001", "2");
  await syncAll(party);
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
    const text = "SELECT number FROM invoices WHERE organisation_id = $1 AND sent ORDER BY number";
    return (await fixture.pool.query<{ number: string }>(text, [party.organisationId])).rows.map(
      (row) => row.number,
    );
  };
  await syncAll(party);
  const day = "UPDATE ledger_sync_cursors SET part_paid_checked_at = $2 WHERE organisation_id = $1";
  expect(await sent()).toEqual(["INV-0002"]);
  await fixture.pool.query(day, [party.organisationId, new Date(Date.now() - 25 * 3_600_000)]);
  await syncAll(party);
  expect(await sent()).toEqual(["INV-0001", "INV-0002"]);
});
