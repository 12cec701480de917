/**
 * What the periodic deletions and an erasure cost: rows a second by each deletion of the worker, in
 * its batches, and the duration of the erasure of one customer among many documents and jobs.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { startPostgres } from "../src/dev/local-stack/postgres/postgres.ts";
import { createIdempotencyStore } from "../src/store/access/idempotency.ts";
import { createChanges } from "../src/store/admin/changes.ts";
import { createCustomerStore } from "../src/store/admin/customers.ts";
import { newId } from "../src/store/database/ids.ts";
import { migrate } from "../src/store/database/migrations/migrate.ts";
import { createPool } from "../src/store/database/pool.ts";
import { deleteExpiredEvents } from "../src/store/events/delete-expired-events.ts";
import { freePort } from "../test/support/ports.ts";
import { printFigure } from "./support/figure.ts";
import { addKeys } from "./support/system.ts";

/** Expired rows of each kind. As many again stay. */
const expired = 40_000;

/** The worker's batch. */
const batch = 1_000;

/** Documents of other customers, each with its job and its published state. */
const documents = 100_000;

/** Runs the measurement. */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "billing-retention-"));
  const log = () => undefined;
  const port = await freePort();
  const postgres = await startPostgres({ dataFolder: join(folder, "postgres"), port, log });
  const databaseUrl = postgres.url;
  const settings = { databaseUrl, size: 4, name: "bench" };
  try {
    await migrate(databaseUrl, { log });
    const pool = createPool(settings, () => undefined);
    try {
      const organisation = await addOrganisation(pool);
      await addAnswers(pool, organisation);
      await addEvents(pool, organisation);
      await pool.query("ANALYZE");
      const { deleteExpired } = createIdempotencyStore(pool, { onTrouble: log });
      await measure("idempotency_keys_deleted", deleteExpired);
      await measure("events_deleted", (atMost) => deleteExpiredEvents(pool, atMost));
      await measureErasure(pool, organisation);
    } finally {
      await pool.end();
    }
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(name: string, remove: (atMost: number) => Promise<number>): Promise<void> {
  const began = performance.now();
  let slowestMs = 0;
  let deleted = 0;
  for (;;) {
    const startedMs = performance.now();
    const count = await remove(batch);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
    deleted += count;
    if (count < batch) break;
  }
  assert.equal(deleted, expired, "exactly the expired rows are deleted");
  printFigure(name, deleted / ((performance.now() - began) / 1_000), "rows/s");
  printFigure(`${name}_slowest_batch`, slowestMs, "ms");
}

async function addOrganisation(pool: pg.Pool): Promise<string> {
  const id = newId();
  await pool.query(
    `INSERT INTO organisations (id, name, timezone, default_currency, livemode)
      VALUES ($1, 'Retention', 'UTC', 'EUR', true)`,
    [id],
  );
  return id;
}

async function addAnswers(pool: pg.Pool, organisation: string): Promise<void> {
  await addKeys(pool, organisation, 1);
  await pool.query(
    `INSERT INTO idempotency_keys (api_key_id, key, organisation_id, operation, path, fingerprint,
      state, owner, lease_until, response, expires_at)
    SELECT key.id, 'key-' || i, $1, 'billing.v1.SubscriptionService/CreateSubscription',
      '/v1/subscriptions', sha256('body'), 'done', gen_random_uuid(), now(),
      convert_to(repeat('answer ', 200), 'UTF8'),
      CASE WHEN i <= $2 THEN now() - interval '1 minute' ELSE now() + interval '1 day' END
    FROM api_keys key, generate_series(1, 2 * $2) i WHERE key.organisation_id = $1`,
    [organisation, expired],
  );
}

/** Each event has one delivery with one attempt. */
async function addEvents(pool: pg.Pool, organisation: string): Promise<void> {
  await pool.query(
    `INSERT INTO webhook_endpoints (id, organisation_id, url, kinds, encrypted_secret,
      encryption_key_id)
      VALUES (gen_random_uuid(), $1, 'https://receiver.example', '{}', 'secret', 'key')`,
    [organisation],
  );
  await pool.query(
    `INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body,
      created_at)
    SELECT gen_random_uuid(), $1, 'invoice.updated', 'invoice', gen_random_uuid(), 1,
      repeat('{"body": 1} ', 150),
      CASE WHEN i <= $2 THEN now() - interval '31 days' ELSE now() END
    FROM generate_series(1, 2 * $2) i`,
    [organisation, expired],
  );
  await pool.query(
    `INSERT INTO webhook_deliveries (id, organisation_id, event_id, endpoint_id, state, attempts,
      due_at, finished_at, created_at)
    SELECT gen_random_uuid(), $1, e.id, w.id, 'delivered', 1, NULL, e.created_at, e.created_at
    FROM events e, webhook_endpoints w WHERE e.organisation_id = $1`,
    [organisation],
  );
  await pool.query(
    `INSERT INTO webhook_attempts (organisation_id, delivery_id, number, at, latency_ms, status)
    SELECT $1, id, 1, created_at, 12, 200 FROM webhook_deliveries WHERE organisation_id = $1`,
    [organisation],
  );
}

/** A customer without subscriptions among the jobs of many others. */
async function measureErasure(pool: pg.Pool, organisation: string): Promise<void> {
  const [customer, other] = [newId(), newId()];
  for (const id of [customer, other]) {
    await pool.query(
      `INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
        VALUES ($1::uuid, $2, $1::text, 'Some Person', 'some@person.example', 'active', $1::text)`,
      [id, organisation],
    );
  }
  await pool.query(
    `INSERT INTO ledger_jobs (id, organisation_id, kind, state, customer_id, finished_at)
    SELECT gen_random_uuid(), $1, 'create_contact', 'done', $2, now()
    FROM generate_series(1, $3)`,
    [organisation, other, documents],
  );
  await pool.query("ANALYZE ledger_jobs");
  const store = createCustomerStore(pool, createChanges(pool));
  const actor = { operatorId: null, operatorName: "bench", tokenId: null, requestId: null };
  const began = performance.now();
  const outcome = await store.erase({ ...actor, operation: "bench" }, organisation, customer);
  assert.equal(outcome, "erased");
  printFigure("customer_erased_among_100k_jobs", performance.now() - began, "ms");
}
