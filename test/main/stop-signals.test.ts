/** A signal ends a process with 0, also while it still loads or waits for its database. */
import { spawn } from "node:child_process";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
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

/** Runs a program of the sources. `ended` resolves with its signal or code. */
function start(script: string, options: readonly string[] = []) {
  const { port } = silent.address() as AddressInfo;
  const databaseUrl = `postgresql://nobody@127.0.0.1:${port}/nothing?sslmode=disable`;
  const path = fileURLToPath(new URL(`../../src/${script}`, import.meta.url));
  const child = spawn(process.execPath, [...options, path], {
    env: { ...process.env, DATABASE_URL: databaseUrl, ...defaults },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += String(chunk);
    });
  const ended = new Promise((resolve) =>
    child.once("close", (code, signal) => resolve(signal ?? code)),
  );
  return { child, ended, output: () => output };
}

test.each([
  ["server.ts", "src/main/run.ts"],
  ["worker.ts", "src/main/run.ts"],
  ["server.ts", "src/main/api.ts"],
  ["worker.ts", "src/main/worker.ts"],
  ["dev/demo-ledger/main.ts", "src/dev/demo-ledger/server.ts"],
])("%s that gets a signal while it loads %s ends with 0", async (script, file) => {
  expect(await start(script, ["--import", signalAt(file)]).ended).toBe(0);
});

test("a worker waits for its database, says so in one line, and ends with 0", async () => {
  const { child, ended, output } = start("worker.ts");
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
