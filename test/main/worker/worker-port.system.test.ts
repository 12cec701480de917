/**
 * A worker's port: it lives, it is ready only if database, migrations, Temporal and task queues
 * are, and it shows its metrics with those of Temporal's core.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../support/ports.ts";
import { startSystem, type TestSystem, until } from "../../support/system.ts";

let system: TestSystem;
let port = 0;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem({
    without: ["api"],
    env: { WORKER_PORT: String(port) },
    areSeparate: true,
  });
});
afterAll(() => system?.stop());

async function get(path: string): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: answer.status, text: await answer.text() };
}

const readyz = async () => {
  const { status, text } = await get("/readyz");
  return { status, report: JSON.parse(text) };
};

const untilReady = () => until("it is ready", async () => (await readyz()).status === 200);

test("a worker that polls its task queues is ready, and warned of nothing before", async () => {
  await untilReady();
  expect(system.worker.output()).not.toContain('"level":"warn"');
  expect((await readyz()).report).toEqual({
    status: "ready",
    checks: { database: "ok", temporal: "ok", task_queues: "ok" },
  });
  expect(await get("/healthz")).toEqual({ status: 200, text: '{"status":"ok"}' });
  expect((await get("/v1/organisation")).status).toBe(404);
});

test("its metrics include the pool, the backlog and Temporal's core", async () => {
  const text = await until("the core has polled and the schedules are checked", async () => {
    const metrics = (await get("/metrics")).text;
    const isWhole = ["temporal_num_pollers", "billing_schedule_trouble{"].every((name) =>
      metrics.includes(name),
    );
    return isWhole && metrics;
  });
  for (const name of [
    "process_resident_memory_bytes",
    'billing_database_connections{state="idle"}',
    'billing_database_acquire_seconds_count{outcome="ok"}',
    "billing_subscriptions_due ",
    "temporal_request_latency_seconds_bucket",
  ])
    expect(text).toContain(name);
  // Each family is described once, so that Prometheus takes the joined text.
  const families = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  expect(families.filter((name, at) => families.indexOf(name) !== at)).toEqual([]);
});

test("a worker without a migration says which, and starts once it is there", async () => {
  await untilReady();
  const { rows } = await system.pool.query(
    `UPDATE _prisma_migrations SET rolled_back_at = now()
      WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)
      RETURNING migration_name AS name`,
  );
  await until("it is not ready", async () => (await readyz()).status === 503);
  const { report } = await readyz();
  expect(report).toMatchObject({
    status: "not_ready",
    checks: { database: "failed", temporal: "ok", task_queues: "ok" },
  });
  expect(report.reasons.database).toContain(`needs migration ${rows[0].name}`);
  expect((await get("/healthz")).status).toBe(200);

  await system.worker.stop();
  const starting = system.worker.start({ WORKER_PORT: "" });
  await until("a worker without a port says so too", async () =>
    system.worker.output().includes(`needs migration ${rows[0].name}`),
  );
  await system.pool.query("UPDATE _prisma_migrations SET rolled_back_at = NULL");
  await starting;
  await system.worker.stop();
  await system.worker.start();
  await untilReady();
});

test("a worker that cannot reach Temporal lives, is not ready and says why", async () => {
  await system.worker.stop();
  const nowhere = `127.0.0.1:${await freePort()}`;
  const started = system.worker.start({ TEMPORAL_ADDRESS: nowhere }).catch(() => undefined);
  await until("its port is open", async () => {
    const answer = await get("/healthz").catch(() => null);
    return answer?.status === 200;
  });
  // The first check may give up on the database, because the process is still loading its code.
  const answer = await until("the database is reached", async () => {
    const now = await readyz();
    return now.report.checks.database === "ok" ? now : undefined;
  });
  expect(answer.status).toBe(503);
  expect(answer.report).toMatchObject({
    status: "not_ready",
    checks: { database: "ok", temporal: "failed", task_queues: "failed" },
    reasons: { task_queues: "No task queue is polled yet" },
  });
  await system.worker.kill();
  await started;
});

test("a taken port stops the start with an error that names the setting", async () => {
  const taken = await freePort();
  const { createServer } = await import("node:net");
  const server = createServer().listen(taken, "127.0.0.1");
  await expect(system.worker.start({ WORKER_PORT: String(taken) })).rejects.toThrow(
    `Port ${taken} on 127.0.0.1 is taken by another process: set WORKER_PORT to a free one`,
  );
  server.close();
});
