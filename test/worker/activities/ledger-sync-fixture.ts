/** A fixture of organisations on the demo ledger whose sync batches run when the test says so. */
import { expect, test } from "vitest";
import type { SyncKind } from "../../../src/store/ledger-sync/pending-notifications.ts";
import { recordNotifications } from "../../../src/store/ledger-sync/record-notifications.ts";
import { createLedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import {
  createLedgerSyncActivities,
  type LedgerSyncActivities,
} from "../../../src/worker/activities/sync/ledger-sync.ts";
import { type Bookkeeper, bookkeeper } from "../../support/bookkeeper.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { setSyncDue } from "../../support/ledger-sync-builder.ts";
import { fromNow, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { type CreditFixture, type CreditParty, startCreditFixture } from "./credit-fixture.ts";

/** Organisations on the demo ledger, and what their sync reported. */
interface SyncFixture {
  readonly credit: CreditFixture;
  readonly activities: LedgerSyncActivities;
  /** The organisations whose workflows were started. */
  readonly woken: readonly string[];
  /** The objects that were skipped. */
  readonly skipped: readonly object[];
  /** The subscriptions whose allocation was started. */
  readonly credited: readonly string[];
  /** Adds an organisation that is synced already, and a person who edits its ledger. */
  partyWith(
    ...amounts: readonly string[]
  ): Promise<{ readonly party: CreditParty; readonly hand: Bookkeeper }>;
  /** Makes an incremental sync due and runs batches until it is over. */
  syncAll(party: CreditParty): Promise<void>;
  /** Makes an incremental sync due. */
  setDue(party: CreditParty): Promise<void>;
  /**
   * Stores a notification of an hour ago and makes all due. One that fails is not due again within
   * the test.
   */
  notify(party: CreditParty, kind: SyncKind, ledgerId?: string): Promise<void>;
  /** Returns the pending notifications as `failures reason`. */
  pending(party: CreditParty): Promise<readonly string[]>;
  /** Returns the ledger's id of an invoice, or of a customer's contact. */
  ledgerIdOf(party: CreditParty, name: string): Promise<string>;
  /** Runs batches until nothing is left to read. */
  rest(party: Pick<CreditParty, "organisationId">): Promise<void>;
  /** Returns the organisation's invoices as `number status due`. */
  invoices(party: CreditParty): Promise<readonly string[]>;
  /** Returns the customer ACME. */
  acme(party: CreditParty): Promise<object | undefined>;
}

/** The interval of incremental syncs. No second one is due within a test. */
export const syncIntervalMs = 3_600_000;

/** Starts the demo ledger and the activities of the sync. */
export async function startSyncFixture(): Promise<SyncFixture> {
  const credit = await startCreditFixture();
  const { pool } = credit;
  const woken: string[] = [];
  const skipped: object[] = [];
  const credited: string[] = [];
  const activities = createLedgerSyncActivities({
    ledgerSync: createLedgerSync(pool, credit.encryption, syncIntervalMs),
    openLedger: credit.openLedger,
    // No fault here is a lost answer, so no call waits for its deadline.
    callDeadlineMs: 20_000,
    onSkipped: (organisationId, what) => skipped.push({ organisationId, ...what }),
    startLedgerSync: async (organisationId) => woken.push(organisationId) > 0,
    startAllocation: async ({ subscriptionId }) => credited.push(subscriptionId) > 0,
  });
  const texts = async (sql: string, values: readonly unknown[]): Promise<readonly string[]> =>
    (await pool.query<{ text: string }>(sql, [...values])).rows.map(({ text }) => text);
  const setDue = (party: CreditParty) => setSyncDue(pool, party);
  const rest = async ({ organisationId }: Pick<CreditParty, "organisationId">): Promise<void> => {
    await until("nothing is left to read", async () => {
      const batch = await activities.syncBatch({ organisationId });
      expect(batch.detail).toMatch(/^read \d+ objects in the ledger, \d+ changed here/);
      return batch.nextInMs === null;
    });
  };
  const syncAll = async (party: CreditParty) => {
    await setDue(party);
    await rest(party);
  };
  return {
    credit,
    activities,
    woken,
    skipped,
    credited,
    setDue,
    rest,
    syncAll,
    partyWith: async (...amounts) => {
      const party = await credit.party();
      await credit.issue(party, ...amounts);
      await syncAll(party);
      return { party, hand: bookkeeper(pool, credit.demoUrl, party.tenantId) };
    },
    notify: async ({ organisationId, tenantId }, kind, ledgerId) => {
      if (ledgerId !== undefined)
        await recordNotifications(pool, "xero", [{ tenantId, kind, ledgerId, changedAt: null }]);
      await tables(pool).ledgerNotification.updateMany({
        where: { organisationId },
        data: { tryAt: new Date(), receivedAt: fromNow(-60) },
      });
    },
    pending: ({ organisationId }) =>
      texts(
        `SELECT concat_ws(' ', failures, reason) AS text FROM ledger_notifications
          WHERE organisation_id = $1 ORDER BY text`,
        [organisationId],
      ),
    ledgerIdOf: async ({ organisationId }, name) => {
      const [id] = await texts(
        `SELECT ledger_invoice_id AS text FROM invoices
          WHERE organisation_id = $1 AND number = $2
          UNION ALL SELECT ledger_contact_id FROM customers
          WHERE organisation_id = $1 AND code = $2`,
        [organisationId, name],
      );
      return id ?? "";
    },
    invoices: ({ organisationId }) =>
      texts(
        `SELECT concat_ws(' ', number, status, round(amount_due, 2)) AS text FROM invoices
          WHERE organisation_id = $1 ORDER BY number`,
        [organisationId],
      ),
    acme: async ({ organisationId }) => {
      const { rows } = await pool.query(
        `SELECT name, email, status, ledger_contact_id AS contact FROM customers
          WHERE organisation_id = $1 AND code = 'ACME'`,
        [organisationId],
      );
      return rows[0];
    },
  };
}

/** Tests of the ledger sync, on one demo ledger: each part of the fixture by its name. */
export const syncTest = test
  .extend(
    "fixture",
    perFile,
    started(startSyncFixture, ({ credit }) => credit.stop()),
  )
  .extend("sync", perFile, ({ fixture }) => fixture.activities)
  .extend("credit", perFile, ({ fixture }) => fixture.credit)
  .extend("partyWith", perFile, ({ fixture }) => fixture.partyWith)
  .extend("syncAll", perFile, ({ fixture }) => fixture.syncAll)
  .extend("setDue", perFile, ({ fixture }) => fixture.setDue)
  .extend("notify", perFile, ({ fixture }) => fixture.notify)
  .extend("pending", perFile, ({ fixture }) => fixture.pending)
  .extend("ledgerIdOf", perFile, ({ fixture }) => fixture.ledgerIdOf)
  .extend("rest", perFile, ({ fixture }) => fixture.rest)
  .extend("invoices", perFile, ({ fixture }) => fixture.invoices)
  .extend("acme", perFile, ({ fixture }) => fixture.acme);
