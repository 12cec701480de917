/**
 * The image as deploy/Dockerfile builds it, in containers as the compose file runs them: no root,
 * no writable files but `/tmp`, no capabilities. A machine without an engine says so.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { freePort } from "../support/ports.ts";
import { allow } from "../support/slowness.ts";
import { testTemporal } from "../support/temporal.ts";
import { until } from "../support/until.ts";
import { type ContainerEngine, startEngine } from "./container-engine.ts";

const image = `subscription-billing:${randomUUID()}`;
const folder = mkdtempSync(join(tmpdir(), "billing-container-"));
const containers: string[] = [];
let engine: ContainerEngine | null = null;
let settings: readonly string[];
const ports = { api: 0, worker: 0 };

beforeAll(async () => {
  const started = await startEngine(folder);
  if (typeof started === "string") {
    console.log(`The image was NOT built: ${started}`);
    return;
  }
  engine = started;
  engine.docker(...["build", "--network", "host", "-f", "deploy/Dockerfile", "-t", image, "."]);
  const { address, namespace } = await testTemporal();
  ports.api = await freePort();
  ports.worker = await freePort();
  const database = `${inject("databasePrefix")}${randomUUID().replaceAll("-", "")}`;
  const values = {
    DATABASE_URL: withDatabase(inject("postgresUrl"), database),
    SECRET_KEY: randomBytes(32).toString("base64"),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    LEDGER_ADDRESSES: "development",
    API_PORT: ports.api,
    ADMIN_PORT: await freePort(),
    WORKER_PORT: ports.worker,
  };
  settings = Object.entries(values).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
}, allow(180_000));

afterAll(async () => {
  for (const name of containers) engine?.docker("rm", "--force", name);
  await engine?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const limits = [
  ...["--network", "host", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"],
  ...["--security-opt", "no-new-privileges"],
];

test("the image migrates and sets up, and its processes serve and drain", async ({ skip }) => {
  const { docker } = engine ?? skip("there is no container engine");
  const run = (...words: readonly string[]) =>
    docker("run", "--rm", ...limits, ...settings, image, ...words);
  run("migrate");
  run("schedules");
  expect(run("operator", "create-first", "Ada")).toMatch(/^\S{20,}$/m);
  const [{ Config: config }] = JSON.parse(docker("image", "inspect", image));
  expect(config.User).toBe("10001:10001");
  for (const name of ["api", "worker"] as const) {
    const container = `${name}-${randomUUID()}`;
    containers.push(container);
    docker("run", "--detach", "--name", container, ...limits, ...settings, image, name);
    await until(`${name} is ready`, async () => {
      const answer = await fetch(`http://127.0.0.1:${ports[name]}/readyz`).catch(() => null);
      return answer?.ok === true;
    });
    docker("stop", "--time", "60", container);
    expect(docker("inspect", "--format", "{{.State.ExitCode}}", container).trim()).toBe("0");
    expect(docker("logs", container)).toContain('"stopped"');
  }
});
