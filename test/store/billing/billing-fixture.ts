/**
 * Sandboxes with a clock and subscriptions, created by the store itself, for tests of the billing
 * run without any process.
 */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { expect, test } from "vitest";
import { demoCatalogue } from "../../../packages/dev/src/demo/demo-catalogue.ts";
import { createSettingUp } from "../../../packages/dev/src/demo/provision.ts";
import { type CreationRequest, decideCreation } from "../../../src/domain/subscriptions/create.ts";
import {
  billChunk,
  type ChunkOrder,
  type ChunkOutcome,
} from "../../../src/store/billing/billing-run.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { requestOf } from "../../domain/subscriptions/creation-builder.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { expectExplained } from "../../support/explained-documents.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { testPool } from "../../support/pool.ts";
import { setOrganisation } from "../../support/rows.ts";

/**
 * The fields in which a subscription differs from the default of `subscribe`. `startDate` is a day
 * of the subscription's zone.
 */
type SubscriptionFields = Partial<Omit<CreationRequest, "startDate">> & {
  readonly startDate?: string | null;
};

/** An invoice as tests compare it. */
interface BilledInvoice {
  readonly number: string;
  readonly type: string;
  readonly start: string;
  readonly end: string;
  readonly subtotal: string;
  readonly lines: readonly string[];
}

/** A database with organisations. */
export interface BillingFixture {
  /** The database's address. */
  readonly url: string;
  readonly pool: pg.Pool;
  /**
   * Creates a sandbox in UTC whose clock shows noon of a day. `changes` are columns of
   * organisations.
   */
  sandbox(day: string, changes?: Record<string, unknown>): Promise<string>;
  /** Sets the sandbox's clock. A bare date is noon UTC of that day. */
  setClock(organisationId: string, instant: string): Promise<void>;
  /** Creates a subscription of 10 units of `team`, at 12.50 each by default. Returns its id. */
  subscribe(organisationId: string, fields?: SubscriptionFields): Promise<string>;
  /** Sets the organisation's documents to their state once the ledger has those that wait. */
  posted(organisationId: string, status?: string): Promise<void>;
  /** Performs chunks until nothing is due. Returns their outcomes, without the last, empty one. */
  bill(organisationId: string, order?: ChunkOrder): Promise<readonly ChunkOutcome[]>;
  /** The columns of a subscription. */
  row(id: string): Promise<Record<string, unknown>>;
  /** Counts an organisation's periods and its renewal invoices with their distinct numbers. */
  totals(organisationId: string): Promise<Record<string, number>>;
  /** The invoices of a subscription, oldest first. */
  invoices(id: string): Promise<readonly BilledInvoice[]>;
  drop(): Promise<void>;
}

/** A fixture in the given database, or else in a new one. */
export async function billingFixture(given?: FreshDatabase): Promise<BillingFixture> {
  const database = given ?? (await freshDatabase());
  const pool = testPool(database.url, 8, "billing-fixture");
  const settingUp = createSettingUp(pool, createEncryption(randomBytes(32)));
  const store = createStore(pool);
  const fixture: BillingFixture = {
    url: database.url,
    pool,
    sandbox: async (day, changes = {}) => {
      const id = newId();
      const now = new Date();
      const connection = {
        kind: "xero",
        grantKind: "custom" as const,
        tenantId: id,
        baseUrl: "http://ledger.example",
        identityUrl: "http://ledger.example",
      };
      const contact = {
        companyName: null,
        firstName: null,
        lastName: null,
        email: "a@acme.example",
        createdAt: now,
      };
      await settingUp.save({
        settings: {
          id,
          name: "Sandbox",
          timezone: "UTC",
          defaultCurrency: "NZD",
          setupMode: false,
          canCreateLedgerContacts: false,
          livemode: false,
          usageAllowed: false,
          invoiceCreateDays: 0,
          firstInvoiceStatus: "draft",
          dueDays: 14,
          numberPrefix: "INV-",
          revenueAccount: "200",
          taxType: "OUTPUT2",
        },
        connection: { ...connection, clientId: "client", clientSecret: "secret" },
        apiKeys: [],
        ...demoCatalogue("NZD", now),
        customers: [
          {
            ...contact,
            id: newId(),
            code: "ACME",
            name: "Acme",
            status: "active",
            ledgerContactId: newId(),
          },
        ],
      });
      const columns = { test_clock: instantOf(day), ...changes };
      for (const [column, value] of Object.entries(columns)) {
        await pool.query(`UPDATE organisations SET ${column} = $2 WHERE id = $1`, [id, value]);
      }
      return id;
    },
    setClock: async (organisationId, instant) => {
      await setOrganisation(pool, organisationId, { testClock: instantOf(instant) });
    },
    subscribe: async (organisationId, fields = {}) => {
      const subscriptionId = newId();
      const codes = { customerCode: "ACME", planCode: fields.planCode ?? "team", chargeCodes: [] };
      const clock = await pool.query<{ now: Date }>(
        "SELECT coalesce(test_clock, now()) AS now FROM organisations WHERE id = $1",
        [organisationId],
      );
      const now = clock.rows[0]?.now ?? new Date();
      const { subscriptions } = store.tenant(organisationId, now);
      const { facts, catalogueVersion } = await subscriptions.loadCreation({
        subscriptionId,
        ...codes,
      });
      const decision = decideCreation(
        { ...facts, now },
        requestOf({ ...codes, units: 10, ...fields }),
      );
      const saved = await subscriptions.saveCreation({
        subscriptionId,
        requestHash: randomBytes(32),
        setupMode: facts.organisation.setupMode,
        catalogueVersion,
        decision,
        first: { invoiceId: newId(), jobId: newId() },
        awaitedUntil: now,
      });
      expect(saved).toBe("saved");
      return subscriptionId;
    },
    posted: async (organisationId, status = "approved") => {
      await pool.query(
        `WITH job AS (
            UPDATE ledger_jobs SET state = 'done', finished_at = now()
            WHERE organisation_id = $1 AND state = 'ready'
              AND kind IN ('create_invoice', 'create_credit_note')
          ), invoice AS (
            UPDATE invoices SET status = $2, ledger_invoice_id = gen_random_uuid()::text
            WHERE organisation_id = $1 AND status = 'scheduled'
          )
          UPDATE credit_notes SET status = 'approved',
            ledger_credit_note_id = gen_random_uuid()::text
          WHERE organisation_id = $1 AND status = 'scheduled'`,
        [organisationId, status],
      );
    },
    bill: async (organisationId, order) => {
      const outcomes: ChunkOutcome[] = [];
      for (;;) {
        const outcome = await billChunk(pool, organisationId, order);
        if (outcome.claimed === 0) return outcomes;
        outcomes.push(outcome);
        expect(outcomes.length, "what was performed is no longer due").toBeLessThan(200);
      }
    },
    row: async (id) =>
      (await pool.query("SELECT * FROM subscriptions WHERE id = $1", [id])).rows[0],
    totals: async (organisationId) => {
      const { rows } = await pool.query(
        `SELECT (SELECT count(*)::int FROM periods WHERE organisation_id = $1) AS periods,
          count(*)::int AS invoices,
          count(DISTINCT (subscription_id, period_index))::int AS billed,
          count(DISTINCT number)::int AS numbers, max(substr(number, 5)::int) AS last
        FROM invoices WHERE organisation_id = $1 AND type = 'renewal'`,
        [organisationId],
      );
      return rows[0];
    },
    invoices: async (id) => {
      const { rows } = await pool.query<BilledInvoice>(
        `SELECT number, type, period_start AS start, period_end AS end, subtotal,
          (SELECT array_agg(l.kind || ' ' || l.amount ORDER BY l.position)
            FROM invoice_lines l WHERE l.invoice_id = i.id) AS lines
        FROM invoices i WHERE subscription_id = $1 ORDER BY seq`,
        [id],
      );
      return rows;
    },
    drop: async () => {
      await pool.end();
      await database.drop();
    },
  };
  return fixture;
}

function instantOf(text: string): string {
  return text.includes("T") ? text : `${text}T12:00:00Z`;
}

/** Tests on sandboxes in a new database. */
export const billingTest = test.extend(
  "fixture",
  perFile,
  started(
    () => billingFixture(),
    (fixture) => expectExplained(fixture.pool).finally(() => fixture.drop()),
  ),
);
