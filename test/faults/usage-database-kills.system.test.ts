/**
 * PostgreSQL killed with all its processes while usage is reported: every verdict holds. The test
 * has a separate server, durable as shipped: what is not in its log before the answer is lost with
 * its memory. USAGE-3.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startPostgres } from "../../packages/dev/src/postgres/postgres.ts";
import { migrate } from "../../src/store/database/migrations/migrate.ts";
import { addMeter } from "../scenario/usage-builder.ts";
import { type BillingFixture, billingFixture } from "../store/billing/billing-fixture.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { freePort } from "../support/ports.ts";
import { type Answered, until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";
import { expectSumsOfEvents } from "../support/usage-sums.ts";
import { type ApiProcess, type Post, post, startApiProcess } from "./processes.ts";

/** How many batches are answered before each kill, and after the last one. */
const answersBefore = 60;

/**
 * Each event is in two batches that follow one another, and that two clients send at the same time.
 */
const batchSize = 40;
const step = batchSize / 2;
const clientCount = 12;
const againMs = 100;

let folder = "";
let port = 0;
let postgres: EmbeddedPostgres;
let builder: BillingFixture;
let apis: readonly ApiProcess[] = [];
let keys: readonly string[] = [];
let subscriptions: readonly string[] = [];

const start = () =>
  startPostgres({
    dataFolder: join(folder, "data"),
    port,
    database: "billing",
    log: () => undefined,
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "usage-kills-"));
  port = await freePort();
  postgres = await start();
  await migrate(postgres.url);
  builder = await billingFixture({ url: postgres.url, drop: async () => undefined });
  const id = await builder.sandbox("2026-04-20", { usage_allowed: true });
  await addMeter(builder.pool, id);
  subscriptions = await Promise.all(
    Array.from({ length: 5 }, () => builder.subscribe(id, { startDate: "2026-04-01" })),
  );
  const added = await Promise.all(
    Array.from({ length: 4 }, () =>
      addApiKey(builder.pool, id, ["usage:write"], { livemode: false }),
    ),
  );
  keys = added.map(({ value }) => value);
  const parts = { databaseUrl: postgres.url, temporal: await testTemporal() };
  apis = await Promise.all([startApiProcess(parts), startApiProcess(parts)]);
});

afterAll(async () => {
  await Promise.all(apis.map((api) => api.stop()));
  await builder?.drop();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

/**
 * SIGKILL for the server and whatever it has started, at once: none of them can write anything any
 * more.
 */
function killAll({ pid }: EmbeddedPostgres): void {
  // A process that it started after the read would block the next server.
  process.kill(pid, "SIGSTOP");
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
    .trim()
    .split("\n");
  const children = rows
    .map((row) => row.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid);
  expect(children.length, "the server has processes").toBeGreaterThan(5);
  for (const one of [pid, ...children.map(([child]) => child ?? pid)]) {
    try {
      process.kill(one, "SIGKILL");
    } catch (error) {
      // One that had just ended by itself.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/**
 * Where batches are held while the server is killed. The last way holds none, so that the kill may
 * meet them at any line.
 */
const held = {
  "before they write": {
    hold: ["BEGIN", "LOCK TABLE usage_events IN SHARE MODE"],
    waitsFor: "wait_event_type = 'Lock' AND query LIKE 'INSERT INTO usage_events%'",
    release: [],
  },
  "between commit and answer": {
    // A commit waits for a standby that there is not.
    hold: ["ALTER SYSTEM SET synchronous_standby_names = 'none'", "SELECT pg_reload_conf()"],
    waitsFor: "wait_event = 'SyncRep' AND query = 'COMMIT'",
    release: ["ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"],
  },
  "at any line": { hold: [], waitsFor: "query LIKE 'INSERT INTO usage_events%'", release: [] },
} as const;

type Way = (typeof held)[keyof typeof held];

/** A connection that has run these statements, and lives until it is ended or the server dies. */
async function connected(statements: readonly string[]): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgres.url });
  client.on("error", () => undefined);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  return client;
}

/** Kills the server while a batch is held, and starts it again. */
async function killWhileHeld({ hold, waitsFor, release }: Way): Promise<void> {
  await connected(hold);
  await until("a batch is held", async () => {
    const { rows } = await builder.pool.query(`SELECT 1 FROM pg_stat_activity WHERE ${waitsFor}`);
    return rows.length > 0;
  });
  killAll(postgres);
  await postgres.exited;
  postgres = await start();
  await (await connected(release)).end();
}

/** The event with this number as it is sent, and as its row reads. */
function eventOf(index: number) {
  const subscription = subscriptions[index % subscriptions.length] ?? "";
  const quantity = `${1 + (index % 900)}.${String(index % 10_000).padStart(4, "0")}`;
  const instant = new Date(Date.UTC(2026, 3, 2) + index * 1009).toISOString();
  const timestamp = instant.replace("Z", `${String(index % 1000).padStart(3, "0")}Z`);
  const sent = {
    event_id: `event-${index}`,
    subscription,
    meter_code: "api-calls",
    quantity,
    timestamp,
  };
  return { sent, row: `event-${index} ${subscription} ${quantity} ${timestamp}` };
}

/**
 * The batch with this number. If it has a key, a repeat may be answered from the stored response.
 */
function batchOf(index: number, isKeyed: boolean): Post {
  const events = Array.from(
    { length: batchSize },
    (_, offset) => eventOf(index * step + offset).sent,
  );
  const own = isKeyed ? { idempotencyKey: `batch-${index}` } : {};
  return {
    path: "/v1/usage_events",
    key: keys[index % keys.length] ?? "",
    body: { events },
    ...own,
  };
}

/**
 * Clients that report one batch after the other until they are stopped, each again until it is
 * answered. Every second one sends keys: what holds a key's write never holds all clients.
 */
function startLoad() {
  const answers: Answered[] = [];
  const load = { sent: 0, isOver: false };
  const report = async (index: number, isKeyed: boolean): Promise<Answered> => {
    for (let attempt = index; ; attempt += 1) {
      const { baseUrl = "" } = apis[attempt % apis.length] ?? {};
      const answer = await post(baseUrl, batchOf(index, isKeyed));
      if (answer !== null && ![409, 500, 502].includes(answer.status)) return answer;
      if (answer?.status === 409) expect(answer.json.error.code).toBe("request_in_progress");
      await wait(againMs);
    }
  };
  const client = async (isKeyed: boolean): Promise<void> => {
    while (!load.isOver) answers.push(await report(load.sent++, isKeyed));
  };
  const clients = Array.from({ length: clientCount }, (_, index) => client(index % 2 === 1));
  return { load, answers, done: Promise.all(clients) };
}

test("a reported verdict on usage holds after the database was killed", async () => {
  for (const setting of ["fsync", "synchronous_commit", "full_page_writes"]) {
    const { rows } = await builder.pool.query(`SELECT current_setting($1) AS value`, [setting]);
    expect([setting, rows[0].value]).toEqual([setting, "on"]);
  }
  const { load, answers, done } = startLoad();
  for (const way of Object.values(held)) {
    const enough = answers.length + answersBefore;
    await until("batches are answered", async () => answers.length >= enough);
    await killWhileHeld(way);
  }
  const last = answers.length + answersBefore;
  await until("batches are answered again", async () => answers.length >= last);
  load.isOver = true;
  await done;

  expect(
    answers.map(({ status, text }) => (status === 200 ? "" : text)).filter((text) => text !== ""),
  ).toEqual([]);
  const results = answers.flatMap(
    ({ json }) => json.results as { event_id: string; status: string }[],
  );
  expect(results).toHaveLength(load.sent * batchSize);
  const created = results
    .filter(({ status }) => status === "created")
    .map(({ event_id }) => event_id);
  expect(results.filter(({ status }) => status !== "created" && status !== "duplicate")).toEqual(
    [],
  );
  // Two verdicts `created`: the first event was lost and stored once more.
  expect(created.filter((id, index) => created.indexOf(id) !== index)).toEqual([]);
  const expected = Array.from(
    { length: load.sent * step + step },
    (_, index) => eventOf(index).row,
  );
  const { rows } = await builder.pool.query<{ row: string }>(
    `SELECT concat_ws(' ', e.event_id, e.subscription_id, e.quantity,
        to_char(e.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) AS row
      FROM usage_events e JOIN meters m ON m.id = e.meter_id AND m.code = 'api-calls'`,
  );
  await expectSumsOfEvents(builder);
  const stored = new Set(rows.map(({ row }) => row));
  const wanted = new Set(expected);
  expect(rows).toHaveLength(expected.length);
  expect(expected.filter((row) => !stored.has(row))).toEqual([]);
  expect([...stored].filter((row) => !wanted.has(row))).toEqual([]);
});
