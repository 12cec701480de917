/**
 * The gauges of what waits, read from a real database: each situation is brought about and then
 * shows, and organisations with a test clock never do.
 */
import { randomBytes } from "node:crypto";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { watchBacklog } from "../../../src/main/telemetry/backlog-metrics.ts";
import { readBacklog } from "../../../src/store/backlog/backlog.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { type BillingFixture, billingFixture } from "../../store/billing/billing-fixture.ts";
import { type WebhookBuilder, webhookBuilder } from "../../support/webhook-builder.ts";

let billing: BillingFixture;
let webhooks: WebhookBuilder;
let isLost = false;
let reads = 0;
const registry = new Registry();
const cached = new Registry();

beforeAll(async () => {
  billing = await billingFixture();
  webhooks = webhookBuilder(billing.pool, createEncryption(randomBytes(32)));
  const read = async () => {
    reads += 1;
    if (isLost) throw new Error("the database could not be reached");
    return readBacklog(billing.pool);
  };
  watchBacklog({ registry, read, onError: () => undefined, maxAgeMs: 0 });
  watchBacklog({ registry: cached, read, onError: () => undefined });
});
afterAll(() => billing?.drop());

/** The samples of a scrape, by name and labels. */
async function scrape(): Promise<ReadonlyMap<string, number>> {
  const text = await registry.metrics();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line): [string, number] => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end).replace("billing_", ""), Number(line.slice(end + 1))];
    }),
  );
}

const sql = (text: string, ...values: unknown[]) => billing.pool.query(text, values);

/** An organisation in real time, whose subscription renewed long ago by the calendar. */
async function overdue(): Promise<{ organisationId: string; subscriptionId: string }> {
  const organisationId = await billing.sandbox("2026-01-01");
  const subscriptionId = await billing.subscribe(organisationId);
  await sql("UPDATE organisations SET test_clock = NULL WHERE id = $1", organisationId);
  return { organisationId, subscriptionId };
}

const day = 86_400;

test("an empty database has empty gauges, which are there all the same", async () => {
  const samples = await scrape();
  expect(samples.get("backlog_up")).toBe(1);
  expect(samples.get("subscriptions_due")).toBe(0);
  expect(samples.get("subscriptions_due_oldest_age_seconds")).toBe(0);
  expect(samples.get('ledger_connections{state="disconnected"}')).toBe(0);
  expect(samples.has("ledger_day_calls_left_lowest")).toBe(false);
});

test("subscriptions are due with their delay or parked, except by a test clock", async () => {
  const sandbox = await billing.sandbox("2026-01-01");
  await billing.subscribe(sandbox);
  await billing.setClock(sandbox, "2026-06-01");
  expect((await scrape()).get("subscriptions_due")).toBe(0);

  const { organisationId, subscriptionId } = await overdue();
  const due = await scrape();
  expect(due.get("subscriptions_due")).toBe(1);
  // It renewed on 1 February 2026.
  const renewedMs = Date.now() - Date.parse("2026-02-01");
  const delay = due.get("subscriptions_due_oldest_age_seconds") ?? 0;
  expect(Math.abs(delay - renewedMs / 1000)).toBeLessThan(2 * day);

  await sql(
    `UPDATE subscriptions SET parked_reason = 'no account', parked_until = now() + '1 hour'
      WHERE id = $1`,
    subscriptionId,
  );
  const parked = await scrape();
  expect(parked.get("subscriptions_due")).toBe(0);
  expect(parked.get("subscriptions_parked")).toBe(1);

  // A test clock takes it out of the gauges, also while it is parked.
  await sql("UPDATE organisations SET test_clock = now() WHERE id = $1", organisationId);
  expect((await scrape()).get("subscriptions_parked")).toBe(0);
});

test("a waiting job shows what it waits for, and an expired lease", async () => {
  const { organisationId } = await overdue();
  const waiting = async (reason: string) =>
    (await scrape()).get(`ledger_jobs_waiting{kind="create_invoice",reason="${reason}"}`);
  const job = (change: string) =>
    sql(`UPDATE ledger_jobs SET ${change} WHERE organisation_id = $1`, organisationId);
  expect(await waiting("new")).toBe(1);

  await job("created_at = now() - interval '1 hour', attempts = 2");
  expect(await waiting("retrying")).toBe(1);
  const age = (await scrape()).get(
    'ledger_jobs_waiting_oldest_age_seconds{kind="create_invoice",reason="retrying"}',
  );
  expect(age).toBeGreaterThanOrEqual(3_600);

  await job("state = 'sending', first_sent_at = now(), lease_until = now() + interval '1 hour'");
  expect(await waiting("sending")).toBe(1);
  expect((await scrape()).get("ledger_jobs_lease_expired")).toBe(0);
  await job("lease_until = now() - interval '1 second'");
  expect((await scrape()).get("ledger_jobs_lease_expired")).toBe(1);

  const connection = (change: string) =>
    sql(`UPDATE ledger_connections SET ${change} WHERE organisation_id = $1`, organisationId);
  await connection("paused_until = now() + interval '1 hour', paused_reason = 'minute limit'");
  const paused = await scrape();
  expect(paused.get('ledger_jobs_waiting{kind="create_invoice",reason="paused"}')).toBe(1);
  expect(paused.get('ledger_connections{state="paused"}')).toBe(1);
  await connection(
    `disconnected_at = now(), disconnected_reason = 'ended', encrypted_secret = NULL,
      encryption_key_id = NULL`,
  );
  const ended = await scrape();
  expect(ended.get('ledger_jobs_waiting{kind="create_invoice",reason="disconnected"}')).toBe(1);
  expect(ended.get('ledger_connections{state="disconnected"}')).toBe(1);
  expect(ended.get('ledger_connections{state="paused"}')).toBe(0);
});

test("a refused document shows the reason of its last job and its age", async () => {
  const { organisationId, subscriptionId } = await overdue();
  await sql(
    `UPDATE ledger_jobs SET state = 'refused', reason = 'period_locked', message = 'Locked',
      finished_at = now() - interval '2 hours' WHERE organisation_id = $1`,
    organisationId,
  );
  await sql(
    `UPDATE invoices SET status = 'not_in_external', sync_error = 'Locked'
      WHERE organisation_id = $1 AND subscription_id = $2`,
    organisationId,
    subscriptionId,
  );
  const labels = '{kind="invoice",reason="period_locked"}';
  const samples = await scrape();
  expect(samples.get(`documents_failed${labels}`)).toBe(1);
  const age = samples.get(`documents_failed_oldest_age_seconds${labels}`) ?? 0;
  expect(age).toBeGreaterThanOrEqual(7_200);
  expect(age).toBeLessThan(8_000);
});

test("the fewest calls left of a day come from reports of the last day", async () => {
  const { organisationId } = await overdue();
  await sql(
    `INSERT INTO ledger_budgets (organisation_id, calls, flights, flights_until, day_remaining,
      day_observed_at) VALUES ($1, '{}', '{}', '{}', 77, now())`,
    organisationId,
  );
  expect((await scrape()).get("ledger_day_calls_left_lowest")).toBe(77);
  await sql("UPDATE ledger_budgets SET day_observed_at = now() - interval '25 hours'");
  expect((await scrape()).has("ledger_day_calls_left_lowest")).toBe(false);
});

test("outbox entries show their number and the age of the oldest", async () => {
  await sql("DELETE FROM outbox");
  const { organisationId } = await overdue();
  const { rows } = await sql("SELECT count(*)::int AS count FROM outbox");
  await sql(
    `UPDATE outbox SET recorded_at = now() - interval '10 minutes' WHERE organisation_id = $1
      AND seq = (SELECT min(seq) FROM outbox WHERE organisation_id = $1)`,
    organisationId,
  );
  const samples = await scrape();
  expect(rows[0].count).toBeGreaterThan(0);
  expect(samples.get("outbox_entries")).toBe(rows[0].count);
  expect(samples.get("outbox_oldest_age_seconds")).toBeGreaterThanOrEqual(600);
});

test("deliveries show their lag, unless their endpoint's breaker is open", async () => {
  const organisationId = await webhooks.organisation();
  const endpoint = await webhooks.endpoint(organisationId, "https://hooks.example/a");
  await webhooks.events([endpoint], 3);
  await sql("UPDATE webhook_deliveries SET due_at = now() - interval '20 minutes'");
  const late = await scrape();
  expect(late.get("webhook_deliveries_pending")).toBe(3);
  expect(late.get("webhook_delivery_lag_seconds")).toBeGreaterThanOrEqual(1_200);
  expect(late.get('webhook_endpoints{state="healthy"}')).toBe(1);

  await sql(
    `UPDATE webhook_endpoints SET failures = 5, failing_since = now(),
      open_until = now() + interval '1 minute' WHERE id = $1`,
    endpoint.id,
  );
  const open = await scrape();
  expect(open.get("webhook_delivery_lag_seconds")).toBe(0);
  expect(open.get('webhook_endpoints{state="failing"}')).toBe(1);
  await sql(
    `UPDATE webhook_endpoints SET status = 'disabled', disabled_at = now(),
      disabled_reason = 'It took nothing for five days' WHERE id = $1`,
    endpoint.id,
  );
  expect((await scrape()).get('webhook_endpoints{state="disabled"}')).toBe(1);
});

test("many scrapes within 15 seconds cause one read", async () => {
  reads = 0;
  await Promise.all(Array.from({ length: 5 }, () => cached.metrics()));
  await cached.metrics();
  expect(reads).toBe(1);
});

test("without the database the gauges are absent, and one says so", async () => {
  isLost = true;
  const samples = await scrape();
  isLost = false;
  expect(samples.get("backlog_up")).toBe(0);
  expect([...samples.keys()].filter((name) => !name.startsWith("backlog_"))).toEqual([]);
});
