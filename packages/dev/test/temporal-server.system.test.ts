/**
 * The embedded Temporal dev server keeps its file, knows the search attributes, and follows a
 * killed start.
 */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { searchAttributes } from "../../../src/worker/temporal/search-attributes.ts";
import { freePort } from "../../../test/support/ports.ts";
import { commandOf } from "../src/processes/process.ts";
import { linesInto } from "../src/progress-line.ts";
import { findTemporalCli } from "../src/temporal/temporal-cli.ts";
import { type EmbeddedTemporal, startTemporal } from "../src/temporal/temporal-server.ts";

let folder = "";
let running: EmbeddedTemporal[] = [];
let lines: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "temporal-test-"));
  running = [];
  lines = [];
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const temporal of running) await temporal.stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(names: readonly string[], port?: number): Promise<EmbeddedTemporal> {
  const temporal = await startTemporal({
    dataFile: join(folder, "temporal.db"),
    port: port ?? (await freePort()),
    uiPort: await freePort(),
    namespace: "billing",
    searchAttributes: names,
    log: (line) => lines.push(line),
  });
  running.push(temporal);
  return temporal;
}

async function withClient<T>(
  temporal: EmbeddedTemporal,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const connection = await Connection.connect({ address: temporal.address });
  try {
    return await work(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

async function startWorkflow(temporal: EmbeddedTemporal): Promise<void> {
  const options = {
    taskQueue: "none",
    workflowId: "kept",
    searchAttributes: { OrganisationId: ["org_1"] },
  };
  await withClient(temporal, (client) => client.workflow.start("any", options));
}

async function expectKept(temporal: EmbeddedTemporal): Promise<void> {
  await withClient(temporal, async (client) => {
    expect((await client.workflow.getHandle("kept").describe()).status.name).toBe("RUNNING");
    const { customAttributes } = await client.connection.operatorService.listSearchAttributes({
      namespace: "billing",
    });
    expect(Object.keys(customAttributes).sort()).toEqual([...searchAttributes].sort());
    await expect
      .poll(async () => (await client.workflow.count("OrganisationId = 'org_1'")).count)
      .toBe(1);
  });
}

test("a start has the workflows of the previous one and adds search attributes", async () => {
  const first = await start(searchAttributes.slice(0, 2));
  await startWorkflow(first);
  await first.stop();
  await expectKept(await start(searchAttributes));
});

test("a server that a killed start left is stopped, and its workflows survive", async () => {
  const left = await start(searchAttributes);
  await startWorkflow(left);
  await expectKept(await start(searchAttributes));
  expect(lines).toEqual([
    `Temporal still runs from an earlier start (process ${left.pid}): stopping it`,
  ]);
  await left.exited;
});

test("the Web UI answers", async () => {
  const temporal = await start(searchAttributes);
  const ui = temporal.uiUrl ?? "";
  await expect.poll(async () => (await fetch(ui)).status).toBe(200);
});

/** The status for a request with these headers, among them any Host or Origin. */
function statusFor(url: string, headers: Record<string, string>, body?: string): Promise<number> {
  return new Promise((done, fail) => {
    const method = body === undefined ? "GET" : "POST";
    const asked = request(
      url,
      { method, headers: { "Content-Type": "text/plain", ...headers } },
      (answer) => {
        answer.resume();
        done(answer.statusCode ?? 0);
      },
    );
    asked.once("error", fail).end(body);
  });
}

test("the Web UI refuses every Host and Origin but this machine's own", async () => {
  const temporal = await start(searchAttributes);
  const url = new URL("/api/v1/namespaces", temporal.uiUrl).href;
  await expect.poll(async () => statusFor(url, {})).toBe(200);
  for (const host of ["localhost", "127.0.0.1:1", "[::1]:8239"])
    expect(await statusFor(url, { Host: host })).toBe(200);
  for (const host of [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:8239",
    "evil.example@localhost",
  ]) {
    expect(await statusFor(url, { Host: host })).toBe(403);
  }
  expect(await statusFor(url, { Origin: "http://evil.example" })).toBe(403);
  expect(await statusFor(url, { Origin: "null" })).toBe(403);
});

test("the HTTP API refuses a web page's simple request that pauses a schedule", async () => {
  const temporal = await start(searchAttributes);
  const scheduleId = "billing-run";
  await withClient(temporal, (client) =>
    client.schedule.create({
      scheduleId,
      spec: { intervals: [{ every: "1 hour" }] },
      action: { type: "startWorkflow", workflowType: "any", taskQueue: "none" },
    }),
  );
  const port = / --http-port (\d+) /.exec(await commandOf(temporal.pid))?.[1] ?? "";
  const patch = `http://127.0.0.1:${port}/api/v1/namespaces/billing/schedules/${scheduleId}/patch`;
  const hosts = ["evil.example", `127.0.0.1:${port}`, "localhost"];
  for (const host of hosts) {
    const headers = { Host: host, Origin: "http://evil.example" };
    expect(await statusFor(patch, headers, '{"patch":{"pause":"evil was here"}}')).toBe(403);
  }
  await withClient(temporal, async ({ schedule }) => {
    expect((await schedule.getHandle(scheduleId).describe()).state.paused).toBe(false);
  });
});

test("a taken port is an error that names the setting", async () => {
  const other = createServer();
  const port = await freePort();
  await new Promise<void>((done) => other.listen(port, "127.0.0.1", done));
  await expect(start([], port)).rejects.toThrow(
    `The port ${port}, wanted for Temporal, is taken. Set TEMPORAL_PORT to a free one.`,
  );
  await new Promise((done) => other.close(done));
});

test("a server whose last service got no port is ended and started again", async () => {
  const cli = await findTemporalCli(linesInto((line) => lines.push(line)));
  const starts = join(folder, "starts");
  // The first start answers on its port, as a server does whose other services have started.
  const script = `#!${process.execPath}
    const { appendFileSync, readFileSync } = require("node:fs");
    const args = process.argv.slice(2);
    appendFileSync(${JSON.stringify(starts)}, "start\\n");
    if (readFileSync(${JSON.stringify(starts)}, "utf8") !== "start\\n")
      process.execve(${JSON.stringify(cli)}, [${JSON.stringify(cli)}, ...args]);
    const port = Number(args[args.indexOf("--port") + 1]);
    require("node:net").createServer().listen(port, "127.0.0.1", () => {
      console.log("Failed to start gRPC listener: bind: address already in use");
      console.log("Temporal Server: 127.0.0.1:" + port);
    });`;
  await writeFile(join(folder, "temporal"), script);
  await chmod(join(folder, "temporal"), 0o700);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH}`);
  const temporal = await start(searchAttributes);
  expect(await commandOf(temporal.pid)).toContain(cli);
  await startWorkflow(temporal);
  await expectKept(temporal);
  expect(await readFile(starts, "utf8")).toBe("start\nstart\n");
});
