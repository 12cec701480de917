/**
 * The first data of an empty database: two organisations that work at once, created together or not
 * at all, and described by calls that work.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { expect } from "vitest";
import { perFile } from "../../../test/support/file-fixture.ts";
import { systemTest } from "../../../test/support/fixtures.ts";
import type { TestSystem } from "../../../test/support/system.ts";
import { describeFirstData } from "../src/demo/describe-first-data.ts";
import { createFirstData, type FirstData } from "../src/demo/first-data.ts";
import { commandsIn, keysIn, readCurl } from "./first-start.ts";

const root = join(import.meta.dirname, "../../..");
const secretKey = randomBytes(32).toString("base64");
const temporalUiUrl = "http://127.0.0.1:8239";

const test = systemTest.extend("settings", perFile, { env: { SECRET_KEY: secretKey } });

function make(system: TestSystem, demoLedgerUrl = system.demoUrl): Promise<FirstData | null> {
  return createFirstData({ databaseUrl: system.databaseUrl, demoLedgerUrl, secretKey });
}

async function run(curl: string): Promise<{ status: number; json: Record<string, unknown> }> {
  const { url, method, headers, body } = readCurl(curl);
  const answer = await fetch(url, { method, headers, ...(body === null ? {} : { body }) });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

/** The demo ledger, except that it refuses to create a second tenant. */
async function ledgerWithOneTenant(system: TestSystem): Promise<{ url: string; server: Server }> {
  let tenants = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === "/demo/tenants" && ++tenants > 1)
      return response.writeHead(503).end("not now");
    const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
    const answer = await fetch(`${system.demoUrl}${request.url}`, {
      method: request.method ?? "GET",
      headers: headers as Record<string, string>,
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const type = answer.headers.get("content-type") ?? "text/plain";
    return response.writeHead(answer.status, { "Content-Type": type }).end(await answer.text());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

async function organisations(
  system: TestSystem,
): Promise<readonly { name: string; livemode: boolean }[]> {
  return (await system.pool.query("SELECT name, livemode FROM organisations ORDER BY seq")).rows;
}

test("a ledger that fails after the first tenant leaves no organisation", async ({ system }) => {
  const { url, server } = await ledgerWithOneTenant(system);
  await expect(make(system, url)).rejects.toThrow("The demo ledger made no tenant: 503 not now");
  server.closeAllConnections();
  server.close();
  expect(await organisations(system)).toEqual([]);
});

test("the first data is a live organisation and a sandbox, with working keys", async ({
  system,
}) => {
  const data = await make(system);
  if (data === null) throw new Error("the database was empty");
  expect((await organisations(system)).map(({ livemode }) => livemode)).toEqual([true, false]);
  for (const [key, livemode] of [[data.liveKey, true] as const, [data.testKey, false] as const]) {
    const { status, json } = await system.ask("GET", "/v1/organisation", { key });
    expect({ status, livemode: json.livemode }).toEqual({ status: 200, livemode });
    const customers = await system.ask("GET", "/v1/customers?code=ACME", { key });
    expect(customers.json.data).toHaveLength(1);
  }
  const { rows: metered } = await system.pool.query(
    `SELECT o.livemode, o.usage_allowed, p.code AS plan, m.code AS meter, pm.type, array_agg(t.up_to
      ORDER BY t.position) AS bounds
     FROM plan_meters pm JOIN meters m ON m.id = pm.meter_id JOIN plans p ON p.id = pm.plan_id
       JOIN organisations o ON o.id = p.organisation_id
       JOIN plan_meter_tiers t ON t.plan_id = pm.plan_id AND t.meter_id = pm.meter_id
     GROUP BY o.seq, o.livemode, o.usage_allowed, p.code, m.code, pm.type ORDER BY o.seq`,
  );
  const meter = { plan: "team", meter: "api-calls", type: "tiered", bounds: [1000, null] };
  expect(metered).toEqual(
    [true, false].map((livemode) => ({ livemode, usage_allowed: true, ...meter })),
  );

  const text = describeFirstData(data, {
    baseUrl: system.baseUrl,
    adminUrl: system.adminUrl,
    temporalUiUrl,
  });
  expect(keysIn(text)).toEqual([data.liveKey, data.testKey]);
  const [create = "", list = "", report = "", grpc = "", ...others] = commandsIn(text);
  expect(others).toEqual([]);

  const created = await run(create);
  expect(created.status, JSON.stringify(created.json)).toBe(201);
  const invoice = created.json.invoice as { id: string };
  // On a slow machine the answer may come before the ledger's.
  await expect
    .poll(async () => {
      const { json } = await system.ask("GET", `/v1/invoices/${invoice.id}`, { key: data.liveKey });
      return (json.ledger as { sync_status: string }).sync_status;
    })
    .toBe("synced");
  // Pasted once more, it is the same subscription.
  expect((await run(create)).json.id).toBe(created.json.id);
  const listed = await run(list);
  expect((listed.json.data as { id: string }[]).map(({ id }) => id)).toEqual([invoice.id]);

  // The shell puts the instant there.
  const reported = await run(report.replace("'$(date -u +%FT%TZ)'", new Date().toISOString()));
  expect(reported.json, JSON.stringify(reported)).toMatchObject({
    object: "usage_event_batch",
    created: 1,
    rejected: 0,
  });

  const output = await shell(grpc);
  const message = JSON.parse(output) as {
    subscription: { customerCode?: string; customer_code?: string };
  };
  expect(message.subscription.customerCode ?? message.subscription.customer_code).toBe("ACME");
  const { rows } = await system.pool.query("SELECT count(*)::int AS count FROM subscriptions");
  expect(rows).toEqual([{ count: 2 }]);
});

test("a database that has an organisation gets no first data", async ({ system }) => {
  const before = await organisations(system);
  expect(before.length).toBeGreaterThan(0);
  expect(await make(system)).toBeNull();
  expect(await organisations(system)).toEqual(before);
});

test("over TLS the printed addresses are https, and gRPC negotiates HTTP/2", () => {
  const data = {
    liveKey: "key_live_a",
    testKey: "key_test_b",
    operatorToken: null,
    subscriptionId: "",
  };
  const [plain, tls] = ["http", "https"].map((scheme) =>
    describeFirstData(data, {
      baseUrl: `${scheme}://billing.example:8443`,
      adminUrl: "http://127.0.0.1:8081",
      temporalUiUrl,
    }),
  );
  expect(commandsIn(plain ?? "")[3]).toContain("--http2-prior-knowledge");
  expect(tls).not.toContain("--http2-prior-knowledge");
  const commands = commandsIn(tls ?? "");
  expect(commands).toHaveLength(4);
  for (const command of commands) expect(command).toContain("https://billing.example:8443/");
});

/** Runs a command as a shell does, with the programs of this repository; its output. */
function shell(command: string): Promise<string> {
  const path = `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH ?? ""}`;
  return new Promise((resolve, reject) => {
    execFile(
      "sh",
      ["-c", command],
      { cwd: root, env: { ...process.env, PATH: path } },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${error.message}\n${stdout}${stderr}`));
      },
    );
  });
}
