/** An API process serves metrics and health on a port without the admin API. */
import { expect } from "vitest";
import { perFile, started } from "../../support/file-fixture.ts";
import { systemTest } from "../../support/fixtures.ts";
import { freePort } from "../../support/ports.ts";
import type { SystemSettings } from "../../support/system.ts";

const test = systemTest
  .extend("port", perFile, started(freePort))
  .extend("settings", perFile, async ({ port }): Promise<SystemSettings> => {
    return { without: ["worker"], env: { METRICS_PORT: String(port) } };
  });

test("the metrics port has metrics and health, and no method of operators", async ({
  system,
  port,
}) => {
  const get = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return { status: answer.status, text: await answer.text() };
  };
  const { text } = await get("/metrics");
  expect(text).toContain("billing_request_duration_seconds");
  expect(text).toContain("billing_database_connections");
  expect(await get("/healthz")).toEqual({ status: 200, text: '{"status":"ok"}' });
  expect((await get("/readyz")).status).toBe(200);
  const authorization = `Bearer ${await system.operator("owner")}`;
  const asked = {
    method: "POST",
    headers: { "Content-Type": "application/json", authorization },
    body: "{}",
  };
  const method = "/billing.admin.v1.OperatorService/GetCurrentOperator";
  expect((await fetch(`${system.adminUrl}${method}`, asked)).status).toBe(200);
  expect((await get(method, asked)).status).toBe(404);
  expect((await get("/ledger/xero/callback?state=x")).status).toBe(404);
});

test("a taken metrics port stops the start with an error that names the setting", async ({
  system,
  port,
}) => {
  await system.api.stop();
  const { createServer } = await import("node:net");
  const server = createServer();
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  await expect(system.api.start()).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is taken by another process: set METRICS_PORT to a free one`,
  );
  await new Promise((done) => server.close(done));
});
