/**
 * A signal ends a process with 0, also while it still loads, waits for its database, or cannot
 * write its log.
 */
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../support/ports.ts";
import { until } from "../support/until.ts";

/** A database that never answers. */
let silent: Server;
const sockets = new Set<Socket>();
beforeAll(async () => {
  silent = createServer((socket) => sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});

const defaults = {
  SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
  API_PORT: "0",
  ADMIN_PORT: "0",
};

/** Sends the process a signal when it is about to load the first file of this name. */
function signalAt(file: string): string {
  const code = `import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) {
      if (url.endsWith("/${file}")) process.kill(process.pid, "SIGTERM");
      return next(url, context);
    } });`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** Runs a program by its path. `ended` resolves with its signal or code. */
function start(
  script: string,
  options: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  log: "pipe" | number = "pipe",
) {
  const { port } = silent.address() as AddressInfo;
  const databaseUrl = `postgresql://nobody@127.0.0.1:${port}/nothing?sslmode=disable`;
  const path = fileURLToPath(new URL(`../../${script}`, import.meta.url));
  const child = spawn(process.execPath, [...options, path], {
    env: { ...process.env, DATABASE_URL: databaseUrl, ...defaults, ...env },
    stdio: ["ignore", log, log],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      output += String(chunk);
    });
  const ended = new Promise((resolve) =>
    child.once("close", (code, signal) => resolve(signal ?? code)),
  );
  return { child, ended, output: () => output };
}

test.each([
  ["src/server.ts", "src/main/run.ts"],
  ["src/worker.ts", "src/main/run.ts"],
  ["src/server.ts", "src/main/api.ts"],
  ["src/worker.ts", "src/main/worker.ts"],
  ["packages/demo-ledger/src/main.ts", "packages/demo-ledger/src/server.ts"],
])("%s that gets a signal while it loads %s ends with 0", async (script, file) => {
  expect(await start(script, ["--import", signalAt(file)]).ended).toBe(0);
});

test("a worker waits for its database, says so in one line, and ends with 0", async () => {
  const { child, ended, output } = start("src/worker.ts");
  await until("it waits", async () => output().includes("waiting for the database"));
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  const lines = output().trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: "warn",
      reasons: { database: "The database cannot be reached" },
      msg: "waiting for the database",
    },
  ]);
});

// Each write to this device fails as on a full disk. Only Linux has it.
test.runIf(existsSync("/dev/full"))(
  "an API whose log is on a full disk answers, and ends with 0",
  async () => {
    const port = await freePort();
    const full = openSync("/dev/full", "w");
    const { child, ended } = start("src/server.ts", [], { API_PORT: String(port) }, full);
    closeSync(full);
    const probe = () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok);
    await until("it answers", () => probe().catch(() => false));
    expect((await fetch(`http://127.0.0.1:${port}/v1/organisation`)).status).toBe(401);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  },
);
