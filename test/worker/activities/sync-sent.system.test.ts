/** The mirror sees that a person has e-mailed an invoice, also where the ledger moves no time of change for it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import {
  createLedgerSyncActivities,
  type LedgerSyncActivities,
} from "../../../src/worker/activities/sync/ledger-sync.ts";
import { bookkeeper } from "../../support/bookkeeper.ts";
import { until } from "../../support/system.ts";
import { type CreditParty, type CreditWorld, startCreditWorld } from "./credit-fixture.ts";

let world: CreditWorld;
let mirror: LedgerSyncActivities;

beforeAll(async () => {
  world = await startCreditWorld();
  mirror = createLedgerSyncActivities({
    ledgerSync: createLedgerSync(world.pool, world.sealing, 3_600_000),
    openLedger: world.openLedger,
    callDeadlineMs: 20_000,
    onSkipped: () => undefined,
    startLedgerSync: async () => true,
    startAllocation: async () => true,
  });
});
afterAll(() => world?.stop());

/** Has everything read again, in as many rounds as that takes. */
async function sweep({ organisationId, tenantId }: CreditParty): Promise<void> {
  await world.pool.query(
    `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at) VALUES ($1, $2, now())
      ON CONFLICT (organisation_id) DO UPDATE SET next_sync_at = now(), not_before = NULL`,
    [organisationId, tenantId],
  );
  const isSettled = async () => (await mirror.syncBatch({ organisationId })).state === "settled";
  await until("nothing is left to be looked at", isSettled);
}

test("an e-mail of an invoice that is partly paid is seen within a day", async () => {
  const party = await world.party();
  await world.raise(party, "10", "20");
  const hand = bookkeeper(world.pool, world.demoUrl, party.tenantId);
  await hand.pay("INV-0001", "2");
  await sweep(party);
  // Longer ago than a sweep reads back.
  for (const [table, column, owner, id] of [
    ["demo_ledger.invoices", "updated_at", "tenant_id", party.tenantId],
    ["invoices", "ledger_updated_at", "organisation_id", party.organisationId],
  ]) {
    await world.pool.query(
      `UPDATE ${table} SET ${column} = ${column} - interval '2 hours' WHERE ${owner} = $1`,
      [id],
    );
  }
  await hand.send("INV-0001");
  await hand.send("INV-0002");
  const sent = async () => {
    const text = "SELECT number FROM invoices WHERE organisation_id = $1 AND sent ORDER BY number";
    return (await world.pool.query<{ number: string }>(text, [party.organisationId])).rows.map(
      (row) => row.number,
    );
  };
  await sweep(party);
  const day = "UPDATE ledger_sync_cursors SET part_paid_checked_at = $2 WHERE organisation_id = $1";
  expect(await sent()).toEqual(["INV-0002"]);
  await world.pool.query(day, [party.organisationId, new Date(Date.now() - 25 * 3_600_000)]);
  await sweep(party);
  expect(await sent()).toEqual(["INV-0001", "INV-0002"]);
});
