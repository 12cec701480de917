/**
 * Amendments on real PostgreSQL: one attempt holds and records each, a refused one can be sent
 * again, and lines that an invoice no longer accepts go on another invoice (POSTING-7).
 */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import type { AmendmentOutcome } from "../../../src/store/ledger-jobs/amendments/amendment-outcomes.ts";
import {
  type AmendmentStore,
  type AmendmentToSend,
  createAmendments,
} from "../../../src/store/ledger-jobs/amendments/amendments.ts";
import { outcomesChannel } from "../../../src/store/ledger-jobs/job-notifications.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import {
  type AmendedRows,
  addAmendment,
  addLine,
  repriceLine,
  seedInvoice,
} from "./amendment-builder.ts";

let database: FreshDatabase;
let pool: pg.Pool;
let listener: pg.Client;
let openAmendments: ReturnType<typeof createAmendments>;
const notified: string[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 6);
  openAmendments = createAmendments(pool, createEncryption(randomBytes(32)));
  listener = new pg.Client({ connectionString: database.url });
  await listener.connect();
  listener.on("notification", ({ payload }) => notified.push(payload ?? ""));
  await listener.query(`LISTEN ${outcomesChannel}`);
});

afterAll(async () => {
  await listener?.end();
  await pool?.end();
  await database?.drop();
});

const leaseMs = 60_000;
const draft = { status: "draft", total: "43.1250", amountDue: "43.1250", sent: false } as const;
const approved = {
  status: "approved",
  total: "28.7500",
  amountDue: "28.7500",
  sent: true,
} as const;
const gone = { status: "not_in_external", total: null, amountDue: null, sent: null } as const;

/** Adds an amendment with a new line, and opens its store. */
async function added(row: Parameters<typeof addAmendment>[2] = {}) {
  const rows = await seedInvoice(pool);
  await addLine(pool, rows);
  const jobId = await addAmendment(pool, rows, row);
  return { rows, jobId, store: openAmendments(rows.organisation) };
}

async function taken(store: AmendmentStore, jobId: string): Promise<AmendmentToSend> {
  const amendment = await store.take(jobId, leaseMs);
  if (amendment === null) throw new Error("it cannot be taken");
  return amendment;
}

/** Ends the attempt's lease now, as if its worker was lost. */
const loseLease = (jobId: string) =>
  pool.query("UPDATE ledger_jobs SET lease_until = now() - interval '1 second' WHERE id = $1", [
    jobId,
  ]);

async function one(table: string, id: string) {
  const { rows } = await pool.query(`SELECT * FROM ${table} WHERE id = $1`, [id]);
  return rows[0];
}

async function linesOf(invoiceId: string) {
  const text = `SELECT id, position, kind, amount, amending, ledger_line_id FROM invoice_lines
    WHERE invoice_id = $1 ORDER BY position`;
  return (await pool.query(text, [invoiceId])).rows;
}

const done = ({ line, addedLine }: AmendedRows): AmendmentOutcome => ({
  kind: "done",
  invoice: draft,
  lines: [
    { id: line, ledgerLineId: "plan-line" },
    { id: addedLine, ledgerLineId: "added-line" },
  ],
});
const refusal = {
  kind: "refused",
  reason: "period_locked",
  message: "The lock\0 date has passed.",
  invoice: null,
} as const;
const move = {
  kind: "closed",
  reason: "wrong_status",
  message: "Invoice INV-0001 is approved.",
  invoice: approved,
  isRepriceable: true,
} as const;

describe("an amendment", () => {
  test("is claimed with everything that the ledger must get", async () => {
    const { rows, jobId, store } = await added();
    expect(await taken(store, jobId)).toMatchObject({
      id: jobId,
      attempts: 1,
      joins: true,
      subscriptionId: rows.subscription,
      invoiceId: rows.invoice,
      number: "INV-0001",
      ledgerId: "ledger",
      lines: [
        {
          id: rows.line,
          kind: "plan",
          amending: false,
          ledgerLineId: "plan-line",
          amount: "25.0000",
          units: 2,
        },
        {
          id: rows.addedLine,
          kind: "proration",
          amending: true,
          ledgerLineId: null,
          amount: "12.5000",
          revenueAccount: "200",
        },
      ],
    });
    expect(await one("ledger_jobs", jobId)).toMatchObject({ state: "sending", attempts: 1 });
  });

  test("is leased by one attempt, and only that one records it", async () => {
    const { rows, jobId, store } = await added();
    const takes = await Promise.all([1, 2, 3].map(() => store.take(jobId, leaseMs)));
    const [first, ...others] = takes.filter((amendment) => amendment !== null);
    expect(others).toEqual([]);
    if (first === undefined) throw new Error("no caller has the amendment");
    await loseLease(jobId);
    const second = await taken(store, jobId);
    expect(second.attempts).toBe(2);
    expect(await one("ledger_jobs", jobId)).toMatchObject({ state: "uncertain" });
    for (const outcome of [done(rows), refusal, move]) await store.record(first, outcome);
    expect(await one("ledger_jobs", jobId)).toMatchObject({
      state: "uncertain",
      attempts: 2,
      finished_at: null,
    });
    expect(await linesOf(rows.invoice)).toMatchObject([{ amending: false }, { amending: true }]);
    const where = { organisationId: rows.organisation };
    expect(await tables(pool).invoice.count({ where })).toBe(1);
    await store.record(second, done(rows));
    expect(await store.read(jobId)).toMatchObject({ outcome: "done", nextInMs: null });
    expect(await store.take(jobId, leaseMs)).toBeNull();
  });

  test("that is done saves the ledger's line ids and the observed invoice", async () => {
    const { rows, jobId, store } = await added();
    await tables(pool).invoice.updateMany({
      where: { id: rows.invoice },
      data: { syncError: "earlier" },
    });
    await store.record(await taken(store, jobId), done(rows));
    expect(await linesOf(rows.invoice)).toMatchObject([
      { id: rows.line, amending: false, ledger_line_id: "plan-line" },
      { id: rows.addedLine, amending: false, ledger_line_id: "added-line" },
    ]);
    expect(await one("invoices", rows.invoice)).toMatchObject({
      status: "draft",
      subtotal: "37.5000",
      total: "43.1250",
      amount_due: "43.1250",
      sync_error: null,
    });
    await until("it is notified", async () => notified.includes(jobId));
  });

  test("that is rescheduled waits, even if uncertain, unless it is leased", async () => {
    const { jobId, store } = await added();
    await store.reschedule(jobId, 60_000, "minute limit");
    expect(await store.read(jobId)).toMatchObject({ outcome: null, reason: "minute limit" });
    expect((await store.read(jobId))?.nextInMs).toBeGreaterThan(40_000);
    expect(await store.take(jobId, leaseMs)).toBeNull();
    await until("who waits is notified", async () => notified.includes(jobId));
    await tables(pool).ledgerJob.updateMany({
      where: { id: jobId },
      data: { notBefore: new Date() },
    });
    await taken(store, jobId);
    await store.reschedule(jobId, 60_000, "day limit");
    expect(await one("ledger_jobs", jobId)).toMatchObject({
      state: "sending",
      reason: "minute limit",
    });
    await loseLease(jobId);
    await store.reschedule(jobId, 60_000, "day limit");
    expect(await one("ledger_jobs", jobId)).toMatchObject({
      state: "uncertain",
      reason: "day limit",
      attempts: 1,
    });
    expect(await store.take(jobId, leaseMs)).toBeNull();
  });

  test("that does not exist has no state", async () => {
    const { rows, store, jobId } = await added();
    expect(await store.read(rows.invoice)).toBeNull();
    const others = await seedInvoice(pool);
    expect(await openAmendments(others.organisation).read(jobId)).toBeNull();
    expect(await openAmendments(others.organisation).take(jobId, leaseMs)).toBeNull();
  });
});

describe("a refused amendment", () => {
  test("leaves its lines for the next one, and the ledger's message on the invoice", async () => {
    const { rows, jobId, store } = await added();
    await store.record(await taken(store, jobId), refusal);
    expect(await one("ledger_jobs", jobId)).toMatchObject({
      state: "refused",
      reason: "period_locked",
    });
    expect(await one("invoices", rows.invoice)).toMatchObject({
      status: "draft",
      total: "25.0000",
      sync_error: "The lock date has passed.",
    });
    expect(await linesOf(rows.invoice)).toMatchObject([
      { amending: false },
      { amending: true, ledger_line_id: null },
    ]);
    await until("it is notified", async () => notified.includes(jobId));
    const retry = await addAmendment(pool, rows);
    await store.record(await taken(store, retry), done(rows));
    expect(await one("invoices", rows.invoice)).toMatchObject({ sync_error: null });
    expect(await linesOf(rows.invoice)).toMatchObject([{ amending: false }, { amending: false }]);
  });

  test("saves the observed invoice", async () => {
    const { rows, jobId, store } = await added({ joins: false });
    const paid = { status: "paid", total: "28.7500", amountDue: "0.0000", sent: true } as const;
    await store.record(await taken(store, jobId), {
      ...refusal,
      reason: "wrong_status",
      invoice: paid,
    });
    expect(await one("invoices", rows.invoice)).toMatchObject({
      status: "paid",
      amount_due: "0.0000",
      sent: true,
    });
  });

  test("of an invoice that the ledger lost makes it not_in_external", async () => {
    const { rows, jobId, store } = await added({ joins: false });
    await store.record(await taken(store, jobId), {
      ...refusal,
      reason: "not_found",
      invoice: gone,
    });
    expect(await one("invoices", rows.invoice)).toMatchObject({
      status: "not_in_external",
      total: "25.0000",
    });
  });

  test("is recorded if the answer does not fit the columns", async () => {
    const { rows, jobId, store } = await added();
    const invoice = { ...draft, total: "9999999999999999.0000" };
    await store.record(await taken(store, jobId), { ...done(rows), invoice } as AmendmentOutcome);
    expect(await one("ledger_jobs", jobId)).toMatchObject({
      state: "refused",
      reason: "validation",
    });
    expect(await one("invoices", rows.invoice)).toMatchObject({ total: "25.0000" });
  });
});

describe("lines that the invoice no longer accepts", () => {
  test("are billed once, on another invoice of the same period, dated today", async () => {
    const awaitedUntil = new Date(Date.now() + 10_000);
    const { rows, jobId, store } = await added({ awaitedUntil });
    // A day that differs in the subscription's zone.
    await tables(pool).organisation.updateMany({
      where: { id: rows.organisation },
      data: { livemode: false, testClock: new Date("2026-03-31T20:00:00Z"), dueDays: 7 },
    });
    await tables(pool).subscription.updateMany({
      where: { id: rows.subscription },
      data: { timezone: "Pacific/Auckland", invoiceReference: "PO 7" },
    });
    await store.record(await taken(store, jobId), move);

    expect(await store.read(jobId)).toMatchObject({ outcome: "moved" });
    const { rows: invoices } = await pool.query(
      "SELECT * FROM invoices WHERE organisation_id = $1 AND type = 'change'",
      [rows.organisation],
    );
    expect(invoices).toMatchObject([
      {
        subscription_id: rows.subscription,
        customer_id: rows.customer,
        number: "SUB-0002",
        reference: "PO 7",
        status: "scheduled",
        currency: "EUR",
        subtotal: "12.5000",
        total: "12.5000",
        issue_date: "2026-04-01",
        due_date: "2026-04-08",
        period_index: 0,
        period_start: "2026-01-15",
        period_end: "2026-02-15",
        ledger_invoice_id: null,
      },
    ]);
    const own = invoices[0].id;
    expect(await linesOf(own)).toEqual([
      {
        id: rows.addedLine,
        position: 0,
        kind: "proration",
        amount: "12.5000",
        amending: false,
        ledger_line_id: null,
      },
    ]);
    expect(await linesOf(rows.invoice)).toMatchObject([{ id: rows.line, amending: false }]);
    expect(await one("invoices", rows.invoice)).toMatchObject({
      status: "approved",
      subtotal: "25.0000",
      total: "28.7500",
      sync_error: null,
    });

    const { rows: operations } = await pool.query(
      "SELECT * FROM ledger_jobs WHERE organisation_id = $1 AND kind = 'create_invoice'",
      [rows.organisation],
    );
    expect(operations).toMatchObject([
      { state: "ready", invoice_id: own, awaited_until: awaitedUntil },
    ]);
    const { rows: changes } = await pool.query(
      "SELECT * FROM unit_changes WHERE organisation_id = $1",
      [rows.organisation],
    );
    expect(changes).toMatchObject([{ invoice_id: own, job_ids: [jobId, operations[0].id] }]);
    await until("it is notified", async () => notified.includes(jobId));
  });

  test("leave a re-priced line and its error on the invoice", async () => {
    const rows = await seedInvoice(pool);
    await repriceLine(pool, rows);
    const store = openAmendments(rows.organisation);
    const earlier = await addAmendment(pool, rows, { joins: false, toUnits: 4 });
    await store.record(await taken(store, earlier), refusal);
    await addLine(pool, rows);
    const jobId = await addAmendment(pool, rows);
    await store.record(await taken(store, jobId), move);
    expect(await linesOf(rows.invoice)).toMatchObject([
      { id: rows.line, amending: true, amount: "50.0000" },
    ]);
    expect(await one("invoices", rows.invoice)).toMatchObject({
      subtotal: "50.0000",
      sync_error: "The lock date has passed.",
    });
    const changes = await tables(pool).unitChange.findMany({
      where: { organisationId: rows.organisation },
      orderBy: { seq: "asc" },
    });
    expect(changes.map(({ invoiceId }) => invoiceId === rows.invoice)).toEqual([true, false]);
  });

  test("leave an invoice that the ledger lost", async () => {
    const { rows, jobId, store } = await added();
    await store.record(await taken(store, jobId), {
      ...move,
      message: "Not there.",
      invoice: gone,
    });
    expect(await one("invoices", rows.invoice)).toMatchObject({
      status: "not_in_external",
      sync_error: "Not there.",
      subtotal: "25.0000",
    });
  });
});
