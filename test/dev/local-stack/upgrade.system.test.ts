/** A database that was in use before a migration keeps what it has, and gets what the migration adds as if it had always been there. */
import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { migrate, withDatabase } from "../../../src/store/database/migrate.ts";
import { projectMigrations } from "../../../src/store/database/schema-engine.ts";

let folder = "";
let url = "";
let client: pg.Client;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "upgrade-test-"));
  url = withDatabase(inject("postgresUrl"), `upgrade_${randomUUID().replaceAll("-", "")}`);
  client = new pg.Client({ connectionString: url });
});

afterEach(async () => {
  await client.end();
  const admin = new pg.Client({ connectionString: withDatabase(url, "postgres") });
  await admin.connect();
  await admin.query(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
  await admin.end();
  await rm(folder, { recursive: true, force: true });
});

/** Brings the database to where it stood after this migration, and connects. */
async function migrateTo(last: string): Promise<void> {
  const names = (await readdir(projectMigrations)).filter(
    (name) => name === "migration_lock.toml" || name <= last,
  );
  expect(names).toContain(last);
  for (const name of names)
    await cp(join(projectMigrations, name), join(folder, name), { recursive: true });
  await migrate(url, { migrationsFolder: folder });
  await client.connect();
}

/** A subscription of March as it was before. */
interface Older {
  readonly name: string;
  readonly organisation: "live" | "sandbox";
  readonly status: "active" | "ended" | "complete";
  /** When its ends were asked for, and whether each came about. */
  readonly endings?: readonly (readonly [createdAt: string, ended: boolean])[];
  /** What `ended_at` has to be. */
  readonly endedAt: string | null;
}

const endDates = { active: null, ended: "2026-03-10", complete: "2026-04-01" };

/** The day of their end is one of Auckland's, thirteen hours ahead. */
const endOfDay = "2026-03-10T11:00:00.000000Z";

const older: readonly Older[] = [
  {
    name: "ended by a call",
    organisation: "live",
    status: "ended",
    endings: [
      ["2026-03-09T08:00:00Z", false],
      ["2026-03-10T09:30:00.123456Z", true],
    ],
    endedAt: "2026-03-10T09:30:00.123456Z",
  },
  {
    name: "ended, restored and ended again",
    organisation: "live",
    status: "ended",
    endings: [
      ["2026-03-01T00:00:00Z", true],
      ["2026-03-10T10:00:00Z", true],
    ],
    endedAt: "2026-03-10T10:00:00.000000Z",
  },
  {
    name: "ended without a trace of when",
    organisation: "live",
    status: "ended",
    endedAt: endOfDay,
  },
  {
    name: "ended by the clock of a sandbox",
    organisation: "sandbox",
    status: "ended",
    endings: [["2026-11-20T09:30:00Z", true]],
    endedAt: endOfDay,
  },
  { name: "complete", organisation: "live", status: "complete", endedAt: null },
  { name: "active", organisation: "live", status: "active", endedAt: null },
];

/** An organisation with a customer and a plan, all of one id. */
async function addOrganisation(id: string, kind: Older["organisation"]): Promise<void> {
  const isLive = kind === "live";
  await client.query(
    `INSERT INTO organisations (id, name, timezone, default_currency, livemode, test_clock)
      VALUES ($1, $2, 'UTC', 'NZD', $3, $4)`,
    [id, kind, isLive, isLive ? null : "2026-03-20"],
  );
  await client.query(
    `INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
      VALUES ($1, $1, 'ACME', 'Acme', 'a@acme.example', 'active', 'contact')`,
    [id],
  );
  await client.query(
    `INSERT INTO plans (id, organisation_id, code, name, type, currency, price, status)
      VALUES ($1, $1, 'team', 'Team', 'per_unit', 'NZD', 12.5, 'active')`,
    [id],
  );
}

/** A subscription in its first period, with the invoice of that and its ends. */
async function addOlder(id: string, owner: string, { status, endings = [] }: Older): Promise<void> {
  await client.query(
    `INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency, interval_unit, interval_count, timezone,
        start_date, billing_day, current_period, renewal_date, end_date, cancel_at_period_end, units, minimum_units, discount_percent,
        due_at, request_hash)
      VALUES ($1, $2, $2, $2, $3, 'NZD', 'month', 1, 'Pacific/Auckland', '2026-03-01', 1, 0, '2026-04-01', $4, $5, 2, 0, 0, $6, '\\x00')`,
    [
      id,
      owner,
      status,
      endDates[status],
      status === "complete",
      status === "active" ? "2026-04-01" : null,
    ],
  );
  await client.query(
    `INSERT INTO periods (organisation_id, subscription_id, index, start_date, end_date, billed_units)
      VALUES ($1, $2, 0, '2026-03-01', '2026-04-01', 2)`,
    [owner, id],
  );
  await client.query(
    `INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, type, status, currency, subtotal, total, amount_due,
        issue_date, period_index, period_start, period_end, ledger_invoice_id)
      VALUES ($1, $2, $2, $1, $3, 'first', 'draft', 'NZD', 25, 25, 25, '2026-03-01', 0, '2026-03-01', '2026-04-01', $3)`,
    [id, owner, `INV-${id}`],
  );
  await client.query(
    `INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description, units, unit_price, amount,
        period_start, period_end)
      VALUES ($1, $2, $1, 0, 'plan', 'Team', '2 × 12.5000', 2, 12.5, 25, '2026-03-01', '2026-04-01')`,
    [id, owner],
  );
  for (const [createdAt, ended] of endings) {
    await client.query(
      `INSERT INTO terminations (id, organisation_id, subscription_id, end_when, ended, created_at, request_hash)
        VALUES (gen_random_uuid(), $1, $2, 'now', $3, $4, sha256('x'))`,
      [owner, id, ended, createdAt],
    );
  }
}

test("subscriptions that ended before usage was known have the instant at which they did", async () => {
  await migrateTo("20261121000007_test_clock");
  const owners = { live: randomUUID(), sandbox: randomUUID() };
  const ids = new Map(older.map((one) => [one, randomUUID()]));
  await client.query("BEGIN");
  await addOrganisation(owners.live, "live");
  await addOrganisation(owners.sandbox, "sandbox");
  for (const [one, id] of ids) await addOlder(id, owners[one.organisation], one);
  await client.query("COMMIT");
  const applied = await migrate(url);
  expect(applied[0]).toBe("20261121000008_usage");
  const { rows } = await client.query(
    `SELECT s.id, to_char(s.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ended_at, s.usage_bill, s.usage_billed,
      (SELECT sum(l.amount) FROM invoice_lines l JOIN invoices i ON i.id = l.invoice_id WHERE i.subscription_id = s.id) AS billed
    FROM subscriptions s`,
  );
  const expected = [...ids].map(([{ endedAt }, id]) => {
    return { id, ended_at: endedAt, usage_bill: 0, usage_billed: 0, billed: "25.0000" };
  });
  expect(rows).toHaveLength(expected.length);
  expect(rows).toEqual(expect.arrayContaining(expected));
});
