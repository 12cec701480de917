/**
 * The alerts and dashboards are right: Prometheus' own checker accepts them, each alert fires on
 * its symptom, each has its section in the manual, and each metric exists in a running process.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { dashboardText } from "../../tools/grafana/dashboard-json.ts";
import { dashboards } from "../../tools/grafana/dashboards.ts";
import { billingScheduleId } from "../../workflows/contract.ts";
import { freePort } from "../support/ports.ts";
import { startPrometheus } from "../support/prometheus.ts";
import { findPromtool, type Promtool } from "../support/promtool.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { deployed } from "./deployed-names.ts";

const root = join(import.meta.dirname, "../..");
const prometheus = join(root, "deploy/prometheus");
const grafana = join(root, "deploy/grafana/dashboards");

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: { readonly summary?: string; readonly runbook_url?: string };
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

async function rules(): Promise<readonly Rule[]> {
  const text = await readFile(join(prometheus, "rules.yml"), "utf8");
  const { groups } = parse(text) as { readonly groups: readonly { rules: readonly Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

async function panels(): Promise<readonly Panel[]> {
  const files = await Promise.all(
    (await readdir(grafana)).map((name) => readFile(join(grafana, name), "utf8")),
  );
  return files.flatMap((text) => (JSON.parse(text) as { panels: readonly Panel[] }).panels);
}

let promtool: Promtool | null;
let system: TestSystem;
let workerPort = 0;

beforeAll(async () => {
  promtool = await findPromtool();
  workerPort = await freePort();
  system = await startSystem({ env: { WORKER_PORT: String(workerPort) }, areSeparate: true });
});
afterAll(() => system?.stop());

test("promtool accepts the rules, and each alert fires on its symptom", async () => {
  if (promtool === null) return;
  await promtool(["check", "config", "prometheus.yml"], prometheus);
  await promtool(["test", "rules", "rules.test.yml"], prometheus);
});

test("each alert is tested, has a severity, and its section in the manual", async () => {
  const tests = await readFile(join(prometheus, "rules.test.yml"), "utf8");
  const alerts = (await rules()).filter(({ alert }) => alert !== undefined);
  expect(alerts.length).toBeGreaterThan(15);
  for (const { alert, labels, annotations } of alerts) {
    expect(tests, alert).toContain(`alertname: ${alert}\n        exp_alerts:`);
    expect(["page", "ticket"], alert).toContain(labels?.severity);
    // test/docs.test.ts finds the section.
    expect(annotations?.runbook_url, alert).toMatch(/^docs\/operations\/\w+\.md#[\w-]+$/);
  }
});

test("the dashboards are those that npm run dashboards writes, with distinct panels", async () => {
  const names = dashboards.map(({ uid }) => `${uid}.json`);
  expect((await readdir(grafana)).sort()).toEqual([...names].sort());
  const manual = await readFile(join(root, "docs/operations/watch.md"), "utf8");
  for (const dashboard of dashboards) {
    const text = await readFile(join(grafana, `${dashboard.uid}.json`), "utf8");
    expect(text).toBe(dashboardText(dashboard));
    expect(manual).toContain(`| ${dashboard.question} | \`${dashboard.uid}\` |`);
    const ids = (JSON.parse(text) as { panels: readonly Panel[] }).panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  }
});

test("promtool accepts every query of the dashboards", async () => {
  if (promtool === null) return;
  const folder = await mkdtemp(join(tmpdir(), "dashboards-"));
  const queries = (await panels()).flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const file = {
    groups: [
      { name: "q", rules: queries.map((expr, at) => ({ record: `query:number${at}`, expr })) },
    ],
  };
  await writeFile(join(folder, "queries.json"), JSON.stringify(file));
  await promtool(["check", "rules", "queries.json"], folder);
  await rm(folder, { recursive: true });
});

test("each metric of rules, dashboards and autoscaling exists in a running process", async () => {
  const { address, namespace } = system.temporal;
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  await client.schedule.getHandle(billingScheduleId).trigger();
  const metrics = async () => {
    const addresses = [system.adminUrl, `http://127.0.0.1:${workerPort}`];
    const texts = addresses.map(async (base) => (await fetch(`${base}/metrics`)).text());
    return (await Promise.all(texts)).join("\n");
  };
  const text = await until("an activity was measured", async () => {
    const now = await metrics();
    return now.includes("temporal_activity_schedule_to_start_latency_seconds") ? now : undefined;
  });
  await client.connection.close();
  const families = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const recorded = new Set((await rules()).map(({ record }) => record));
  const exprs = [
    ...(await rules()).map(({ expr }) => expr),
    ...(await panels()).flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    parse(deployed("helm/values.yaml")).worker.autoscaling.backlog.metric as string,
  ];
  const used = exprs.flatMap(
    (expr) => expr.match(/\b(?:billing|temporal|nodejs|process)[\w:]*/g) ?? [],
  );
  expect(used.length).toBeGreaterThan(40);
  const unknown = used
    // A label's value begins with the word too.
    .filter((name) => /[_:]/.test(name) && !recorded.has(name))
    .filter(
      (name) => !families.has(name) && !families.has(name.replace(/_(?:bucket|count|sum)$/, "")),
    );
  expect([...new Set(unknown)]).toEqual([]);
});

/** Series that a service has only while something waits, is refused or is delivered. */
const unusual =
  /billing_ledger_jobs_waiting|billing_documents_failed|billing_webhook_attempts_total/;

test("Prometheus evaluates rules and dashboards with what running processes show", async () => {
  const server = await startPrometheus({
    jobs: { "billing-api": system.adminUrl, "billing-worker": `http://127.0.0.1:${workerPort}` },
    rulesFile: join(prometheus, "rules.yml"),
  });
  if (server === null) return;
  try {
    const { apiKey: key } = await system.organisation();
    const body = { customer_code: "ACME", plan_code: "team", units: 3 };
    const created = await system.ask("POST", "/v1/subscriptions", {
      key,
      idempotencyKey: "seen",
      body,
    });
    expect(created.status, created.text).toBe(201);
    const event = { event_id: "seen", subscription: created.json.id, meter_code: "api-calls" };
    const events = [
      { ...event, quantity: 3, timestamp: new Date(Date.now() - 1000).toISOString() },
    ];
    const reported = await system.ask("POST", "/v1/usage_events", { key, body: { events } });
    // There is no such meter. A rejected event is counted too.
    expect(reported.status, reported.text).toBe(207);
    expect((await system.ask("GET", "/v1/invoices?limit=0", { key })).status).toBe(422);
    const exprs = (await panels()).flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const expected = exprs.filter((expr) => !unusual.test(expr));
    expect(expected.length).toBeGreaterThan(30);
    let empty: readonly string[] = expected;
    await until(
      () => `these queries have a result: ${empty.join("\n")}`,
      async () => {
        const results = await Promise.all(exprs.map((expr) => server.query(expr)));
        empty = exprs.filter((expr, at) => expected.includes(expr) && results[at]?.length === 0);
        return empty.length === 0;
      },
    );
    const evaluated = await until("each rule was evaluated", async () => {
      const found = await server.rules();
      return found.length > 0 && found.every(({ health }) => health !== "unknown") && found;
    });
    expect(evaluated.filter(({ health }) => health !== "ok")).toEqual([]);
    expect(evaluated).toHaveLength((await rules()).length);
    // Workflows always write spans, also for a worker without traces.
    expect(system.worker.output()).not.toContain("external sink");
  } finally {
    await server.stop();
  }
});
