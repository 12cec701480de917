/** The programs of `examples`, installed as their pages say, against a started service. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import { defaultTaskQueue } from "../../workflows/contract.ts";
import { aloneAdminTest } from "../admin/services/fixtures.ts";
import { cleanEnv } from "../build/installed-package.ts";
import type { Json } from "../scenario/units-builder.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { publishAll } from "../support/published-events.ts";
import type { RequestOptions, SystemSettings } from "../support/system.ts";
import { until } from "../support/until.ts";
import { projectWithClient, workshop } from "./documented-programs.ts";

const examples = join(import.meta.dirname, "../../examples");

const test = aloneAdminTest
  .extend(
    "settings",
    perFile,
    started((): SystemSettings => ({ env: { WEBHOOK_ADDRESSES: "development" } })),
  )
  .extend(
    "project",
    perFile,
    started(projectWithClient, (project) => project.remove()),
  )
  .extend("shop", async ({ system }) => {
    const live = { livemode: true, timezone: "Pacific/Auckland", currency: "NZD" };
    const made = await system.organisation({ ...live, metered: true });
    return { ...made, env: { BILLING_URL: system.baseUrl, BILLING_API_KEY: made.apiKey } };
  });

interface Server {
  readonly url: string;
  /** What it has printed. */
  readonly lines: readonly string[];
}

/** Starts a program that prints on which port it listens. It ends with the test. */
async function serverOf(program: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Server> {
  const settings = { cwd, env: cleanEnv({ ...env, PORT: "0" }) };
  const server: ChildProcess = spawn(process.execPath, [program], settings);
  onTestFinished(() => void server.kill());
  const lines: string[] = [];
  if (server.stdout === null) throw new Error("the program has no output");
  createInterface(server.stdout).on("line", (line) => lines.push(line));
  server.stderr?.pipe(process.stderr);
  const port = await until(
    "it listens",
    async () => /^listening on (\d+)$/.exec(lines[0] ?? "")?.[1],
  );
  return { url: `http://127.0.0.1:${port}`, lines };
}

/** A subscription of 12 units. */
function order(key: string): RequestOptions {
  const body = { customer_code: "ACME", plan_code: "team", units: 12 };
  return { key, body, idempotencyKey: "order-1" };
}

test("the examples in TypeScript compile under strict settings", async ({ project }) => {
  for (const program of ["seats/seats.ts", "webhook-receiver/receiver.ts"])
    cpSync(join(examples, program), join(project.folder, program));
  const compilerOptions = { strict: true, noEmit: true, module: "nodenext", types: ["node"] };
  project.write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["*/*.ts"] }));
  await project.run(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "."]);
});

test("the platform that sells seats sells, quotes, changes and ends", async ({ project, shop }) => {
  cpSync(join(examples, "seats"), join(project.folder, "seats"), { recursive: true });
  const { url } = await serverOf("seats.ts", join(project.folder, "seats"), shop.env);
  const ask = async (method: string, path: string, order?: object): Promise<[number, Json]> => {
    const body = order === undefined ? null : JSON.stringify(order);
    const response = await fetch(`${url}/teams/ACME${path}`, { method, body });
    return [response.status, (await response.json()) as Json];
  };
  expect(await ask("GET", "")).toEqual([404, { message: "ACME has no subscription" }]);
  const first = await ask("POST", "", { id: "1001", seats: 5 });
  expect(first).toMatchObject([
    200,
    { seats: 5, status: "active", ends: false, invoice: expect.stringMatching(/\d+$/) },
  ]);
  expect(await ask("POST", "", { id: "1001", seats: 5 })).toEqual(first);
  const [, quoted] = await ask("GET", "/quote?seats=8");
  expect([...quoted.new_invoices, ...quoted.changed_invoices]).toHaveLength(1);
  expect(quoted.renewal).toMatch(/^\d+\.\d{4}$/);
  expect(await ask("PUT", "", { id: "1002", seats: 8 })).toMatchObject([200, { seats: 8 }]);
  expect(await ask("PUT", "", { id: "1003", seats: 8 })).toMatchObject([
    409,
    { code: "units_unchanged" },
  ]);
  const [, shown] = await ask("GET", "");
  expect(shown).toMatchObject({ seats: 8, status: "active" });
  expect(shown.open[0]).toMatchObject({ amount_due: expect.stringMatching(/^\d+\.\d{4}$/) });
  expect(await ask("DELETE", "")).toMatchObject([200, { status: "active", ends: true }]);
});

test("the platform that meters usage reports its log once, and prints what it comes to", async ({
  system,
  shop,
}) => {
  const folder = workshop();
  const version = await folder.run("python3", ["--version"]).catch(() => null);
  if (version === null) return console.log("metering was NOT run: python3 is not there");
  const { json } = await system.ask("POST", "/v1/subscriptions", order(shop.apiKey));
  const at = new Date().toISOString();
  const use = (id: string, meter = "api-calls", quantity = 2.5) =>
    JSON.stringify({ id, subscription: json.id, meter, quantity, at });
  // More than one batch.
  const log = Array.from({ length: 101 }, (_, index) => use(`call-${index}`)).join("\n");
  folder.write("calls.jsonl", log);
  folder.write("wrong.jsonl", `${log}\n\n${use("disk-1", "disk")}`);
  const meter = `python3 ${join(examples, "metering/meter.py")}`;
  const run = (script: string) => folder.run("bash", ["-c", script], { env: shop.env });
  const first = await run(`${meter} < calls.jsonl`);
  expect(first.split("\n").slice(0, 3)).toEqual([
    "101 created, 0 duplicate, 0 rejected",
    expect.stringMatching(/^\S+ to \S+: 252\.5000 api-calls come to \d+\.\d{4} NZD$/),
    expect.stringMatching(new RegExp(`^${json.id}: \\d+\\.\\d{4} without tax$`)),
  ]);
  const again = await run(`${meter} < wrong.jsonl 2>&1 || echo "ended with $?"`);
  expect(again).toContain("rejected disk-1: meter_not_found");
  expect(again).toContain("0 created, 101 duplicate, 1 rejected");
  expect(again).toContain("ended with 1");
});

test("the receiver handles an event of the service once, and refuses a forged one", async ({
  admin,
  client,
  project,
  shop,
  system,
}) => {
  const organisation = shop.organisationId;
  cpSync(join(examples, "webhook-receiver"), join(project.folder, "receiver"), { recursive: true });
  const { endpoint, secret } = await admin.done("WebhookService/CreateWebhookEndpoint", {
    organisation,
    url: "http://127.0.0.1:9/",
    kinds: ["subscription.created"],
  });
  const env = { WEBHOOK_SECRET: secret };
  const { url, lines } = await serverOf("receiver.ts", join(project.folder, "receiver"), env);
  const own = { organisation, id: endpoint.id };
  await admin.done("WebhookService/UpdateWebhookEndpoint", { ...own, url: `${url}/` });
  await system.ask("POST", "/v1/subscriptions", order(shop.apiKey));
  await publishAll(system.pool, organisation);
  const work = createStartWork(client, defaultTaskQueue, () => false);
  await until("it is started", () =>
    work.startDeliveries({ organisationId: organisation, endpointId: endpoint.id }),
  );
  await until("it is handled", async () => lines.length > 1);
  expect(lines[1]).toMatch(/^subscription\.created [0-9a-f-]{36}: ACME has 12 seats, active$/);

  const { data } = await admin.done("WebhookService/ListWebhookDeliveries", { organisation });
  await until("the delivery can be sent again", async () => {
    const resend = { organisation, id: data[0].id };
    return (await admin.ask("WebhookService/ResendWebhookDelivery", resend)).status === 200;
  });
  await until("it is taken again", async () => lines.length > 2);
  expect(lines[2]).toBe(lines[1]?.replace(/: .*/, ": handled before"));

  const forged = { method: "POST", body: "{}", headers: { "Billing-Signature": "t=1,v1=ff" } };
  expect((await fetch(url, forged)).status).toBe(400);
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(400);
  await until("both are refused", async () => lines.length > 4);
  expect(lines.slice(3)).toEqual(["refused: header_invalid", "refused: header_invalid"]);
});
