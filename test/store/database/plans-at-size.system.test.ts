/**
 * Query plans at size: a claim, a page, a publication and a creation read a few rows among the
 * thousands of a large organisation next to hundreds of small ones, by the plan for their values
 * and by the plan for any values.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test as base, expect } from "vitest";
import { instantOf, readQuantity } from "../../../src/domain/usage/parse.ts";
import { createDeliveryHistory } from "../../../src/store/admin/webhooks/webhook-deliveries.ts";
import { loadStates } from "../../../src/store/billing/billing-state.ts";
import { findDueOrganisations } from "../../../src/store/billing/due-organisations.ts";
import { shareOrganisation } from "../../../src/store/billing/locked-subscription.ts";
import { takeFree, takeInOrder } from "../../../src/store/billing/take-due.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { inTransaction, type Pool } from "../../../src/store/database/pool.ts";
import * as deliveries from "../../../src/store/events/deliveries.ts";
import { recordAttempts } from "../../../src/store/events/delivery-attempts.ts";
import { claimDeliveries } from "../../../src/store/events/delivery-claims.ts";
import { findAllDueEndpoints, findDueEndpoints } from "../../../src/store/events/due-endpoints.ts";
import { findChangedOrganisations } from "../../../src/store/events/outbox.ts";
import { publishChunk } from "../../../src/store/events/publish-changes.ts";
import { loadReferenceData } from "../../../src/store/ledger-connection/reference-data.ts";
import {
  claimContacts,
  claimCreditNotes,
  claimInvoices,
} from "../../../src/store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../src/store/ledger-jobs/document-outcomes.ts";
import { readWaiting } from "../../../src/store/ledger-jobs/jobs.ts";
import { recordOutcomes } from "../../../src/store/ledger-jobs/record-outcomes.ts";
import { claimNotifications } from "../../../src/store/ledger-sync/claim-notifications.ts";
import { claimSyncPage, readSyncState } from "../../../src/store/ledger-sync/incremental-sync.ts";
import { recordNotifications } from "../../../src/store/ledger-sync/record-notifications.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { dearStatements } from "../../support/dear-statements.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { tables } from "../../support/rows.ts";
import { createByStore } from "../../support/store-creation.ts";
import { billingFixture } from "../billing/billing-fixture.ts";
import { addSizedRows, type SizedRows } from "./sized-rows.ts";

const migration =
  "../../../prisma/migrations/20261124000000_organisations_of_any_size/migration.sql";
const now = new Date("2026-04-11T12:00:00Z");

interface Sized extends SizedRows {
  readonly pool: Pool;
  readonly organisation: string;
}

const test = base
  .extend(
    "fixture",
    perFile,
    started(
      () => billingFixture(),
      (fixture) => fixture.drop(),
    ),
  )
  .extend("sized", perFile, async ({ fixture }): Promise<Sized> => {
    const organisation = await fixture.sandbox("2026-03-10");
    await fixture.subscribe(organisation);
    await fixture.setClock(organisation, "2026-04-11");
    const { pool } = fixture;
    return { pool, organisation, ...(await addSizedRows(pool, organisation)) };
  });

test("a chunk of the billing run reads the rows of its subscriptions", async ({ sized }) => {
  const { pool, organisation } = sized;
  // Two hundred are taken, among at most a thousand whose buckets may be free.
  const take = (taken: typeof takeFree) =>
    dearStatements(pool, 1_300, (observed) =>
      inTransaction(observed, (client) => taken(client, organisation, now, 200)),
    );
  expect(await take(takeFree)).toEqual([]);
  expect(await take(takeInOrder)).toEqual([]);
  const found = (observed: Pool) => findDueOrganisations(observed, null, 500);
  expect(await dearStatements(pool, 200, found)).toEqual([]);
  const ids = sized.subscriptions.slice(0, 50);
  const load = (observed: Pool) =>
    inTransaction(observed, async (client) =>
      loadStates(client, (await shareOrganisation(client, organisation)).organisation, {
        ids,
        now,
      }),
    );
  // Each has a customer, a period, an invoice with a line, and a job.
  expect(await dearStatements(pool, 500, load)).toEqual([]);
});

test("a report of usage reads the rows of its subscriptions", async ({ sized }) => {
  const { pool, organisation } = sized;
  const quantity = readQuantity("1");
  if (quantity === null) throw new Error("not a quantity");
  const meter = { by: "code", value: "none" } as const;
  const reported = sized.subscriptions.slice(0, 50).map((subscription) => {
    return { eventId: subscription, subscription, meter, quantity, occurredAt: instantOf(now) };
  });
  const report = (observed: Pool) =>
    createStore(observed).tenant(organisation, now).usage.report(reported, now);
  // Each has the organisation.
  expect(await dearStatements(pool, 200, report)).toEqual([]);
  expect((await report(pool))[49]).toMatchObject({ code: "meter_not_found" });
});

test("a claim of ledger jobs reads the jobs that it takes", async ({ sized }) => {
  const { pool, organisation } = sized;
  for (const take of [claimInvoices, claimCreditNotes, claimContacts])
    expect(
      await dearStatements(pool, 1_000, (observed) => take(observed, organisation, 60_000)),
      take.name,
    ).toEqual([]);
});

test("what waits for the ledger is read of a few jobs while one can be claimed", async ({
  sized,
}) => {
  const { pool, organisation } = sized;
  const read = (observed: Pool) => readWaiting(observed, organisation);
  // Two hundred are counted.
  expect(await dearStatements(pool, 300, read)).toEqual([]);
  expect(await readWaiting(pool, organisation)).toEqual({ waiting: 200, nextInMs: 0 });
});

test("a webhook of a ledger and its reads concern the due notifications", async ({ sized }) => {
  const { pool, organisation } = sized;
  const where = { organisationId: organisation };
  const connection = await tables(pool).ledgerConnection.findFirst({ where });
  const tenantId = connection?.tenantId.toLowerCase() ?? "";
  const report = (observed: Pool) =>
    recordNotifications(observed, "xero", [
      { tenantId, kind: "invoices", ledgerId: "another", changedAt: null },
    ]);
  expect(await dearStatements(pool, 50, report)).toEqual([]);
  expect(await report(pool)).toEqual([organisation]);
  const read = async (observed: Pool) => {
    await readSyncState(observed, organisation, 60_000);
    await claimSyncPage(observed, organisation);
    await claimNotifications(observed, organisation);
  };
  expect(await dearStatements(pool, 100, read)).toEqual([]);
});

test("outcomes of ledger jobs read the jobs and their documents", async ({ sized }) => {
  const { pool, organisation } = sized;
  const { ready } = await claimInvoices(pool, organisation, 60_000);
  const outcomes = ready.map(
    ({ id, attempts }): PostingOutcome => ({
      kind: "again",
      jobId: id,
      attempt: attempts,
      delayMs: 0,
      countsAsAttempt: true,
      reason: "unavailable",
    }),
  );
  const record = (observed: Pool) => recordOutcomes(observed, organisation, outcomes);
  // Each has a subscription, an invoice and a line.
  expect(await dearStatements(pool, 500, record)).toEqual([]);
  const readData = (observed: Pool) => loadReferenceData(observed, organisation);
  expect(await dearStatements(pool, 100, readData)).toEqual([]);
});

test("a claim of webhook deliveries reads the deliveries that it takes", async ({ sized }) => {
  const { pool, organisation, endpointId } = sized;
  const key = { organisationId: organisation, endpointId };
  const encryption = createEncryption(randomBytes(32));
  const works = [
    (observed: Pool) => findDueEndpoints(observed, organisation),
    (observed: Pool) => findAllDueEndpoints(observed, null, 100),
    (observed: Pool) => deliveries.createDeliveryStore(observed, encryption).load(key),
    (observed: Pool) => claimDeliveries(observed, key, 20),
  ];
  for (const work of works) expect(await dearStatements(pool, 200, work)).toEqual([]);
  const claimed = await claimDeliveries(pool, key, 20);
  const attempts = claimed.map(({ id, beganAt, claimedUntil }) => ({
    deliveryId: id,
    beganAt,
    claimedUntil,
    agoMs: 0,
    latencyMs: 1,
    status: 200,
    error: null,
    answer: "",
    verdict: "delivered" as const,
    pauseMs: 0,
    restarts: false,
  }));
  const order = { attempts, isProbe: false, breakerSteps: [0], wholeMs: 60_000 };
  const record = (observed: Pool) =>
    recordAttempts(observed, key, { ...order, url: "https://receiver.example" });
  // Each is compared with the others of the statement.
  expect(await dearStatements(pool, 1_000, record)).toEqual([]);
});

test("the relay reads the rows of the objects that it publishes", async ({ sized }) => {
  const { pool, organisation } = sized;
  const found = (observed: Pool) => findChangedOrganisations(observed, null, 100);
  expect(await dearStatements(pool, 200, found)).toEqual([]);
  const objects = [
    ...sized.subscriptions.slice(0, 20).map((id) => ({ kind: "subscription" as const, id })),
    ...sized.invoices.slice(0, 20).map((id) => ({ kind: "invoice" as const, id })),
  ];
  const publish = (observed: Pool) =>
    publishChunk(observed, organisation, objects, {
      write: ({ kind }) => JSON.stringify({ object: kind }),
    });
  expect(await dearStatements(pool, 500, publish)).toEqual([]);
});

test("a creation reads a few rows", async ({ sized }) => {
  const { pool, organisation } = sized;
  const create = (observed: Pool) => createByStore(createStore(observed), organisation, now);
  expect(await dearStatements(pool, 200, create)).toEqual([]);
});

test("each list reads the rows of its page", async ({ sized }) => {
  const { pool, organisation } = sized;
  const page = { limit: 25, startingAfter: null };
  const any = { customer: null, subscription: null, statuses: [] };
  const anyEntry = { code: null, status: null };
  const lists = {
    customers: (observed: Pool) =>
      createStore(observed)
        .tenant(organisation, now)
        .customers.list({ ...anyEntry, email: null }, page),
    creditNotes: (observed: Pool) =>
      createStore(observed).tenant(organisation, now).creditNotes.list(any, page),
    subscriptions: (observed: Pool) =>
      createStore(observed)
        .tenant(organisation, now)
        .subscriptions.list({ customer: null, customerCode: null, status: "active" }, page),
    plans: (observed: Pool) =>
      createStore(observed).tenant(organisation, now).plans.list(anyEntry, page),
    charges: (observed: Pool) =>
      createStore(observed).tenant(organisation, now).charges.list(anyEntry, page),
    deliveries: (observed: Pool) =>
      createDeliveryHistory(observed, { run: () => Promise.reject() }).list(
        organisation,
        { state: null, since: null, until: null },
        page,
      ),
  };
  // A row of a page has at most a few others.
  for (const [name, list] of Object.entries(lists))
    expect(await dearStatements(pool, 300, list), name).toEqual([]);
});

test("an object reads its own rows", async ({ sized }) => {
  const { pool, organisation } = sized;
  const [subscription = "", invoice = ""] = [sized.subscriptions[0], sized.invoices[0]];
  const read = async (observed: Pool) => {
    const { subscriptions, invoices } = createStore(observed).tenant(organisation, now);
    expect(await subscriptions.get(subscription)).not.toBeNull();
    expect(await invoices.get(invoice)).not.toBeNull();
  };
  expect(await dearStatements(pool, 100, read)).toEqual([]);
});

test("every table expects the size of the largest organisation", async ({ sized }) => {
  const { rows } = await sized.pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND a.attname = 'organisation_id'
        AND NOT coalesce('n_distinct=1' = ANY (a.attoptions), false)`,
  );
  expect(rows, "each needs ALTER COLUMN organisation_id SET (n_distinct = 1)").toEqual([]);
});

test("the migration applies to tables with rows at once", async ({ sized }) => {
  const { pool } = sized;
  const expected = async () => {
    const { rows } = await pool.query<{ n_distinct: number }>(
      `SELECT n_distinct FROM pg_stats
        WHERE tablename = 'subscriptions' AND attname = 'organisation_id'`,
    );
    return rows[0]?.n_distinct;
  };
  await pool.query("ALTER TABLE subscriptions ALTER COLUMN organisation_id RESET (n_distinct)");
  await pool.query("ANALYZE subscriptions");
  expect(await expected()).not.toBe(1);
  await pool.query(readFileSync(new URL(migration, import.meta.url), "utf8"));
  expect(await expected()).toBe(1);
});
