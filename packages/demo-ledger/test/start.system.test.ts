/** A demo ledger that cannot listen ends with one line that names the setting, and no stack. */
import { spawn } from "node:child_process";
import { type AddressInfo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../../../test/support/database.ts";

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

async function run(env: Record<string, string>): Promise<[number | null, string]> {
  const path = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const child = spawn(process.execPath, [path], {
    env: { ...process.env, DATABASE_URL: database.url, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr.on("data", (chunk) => {
    output += String(chunk);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return [code, output];
}

test("a port that is taken names DEMO_LEDGER_PORT", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  expect(await run({ DEMO_LEDGER_PORT: String(port) })).toEqual([
    1,
    `Port ${port} is taken: set DEMO_LEDGER_PORT to another one.\n`,
  ]);
  await new Promise((resolve) => taken.close(resolve));
});

test("a host that is none of this machine's names DEMO_LEDGER_HOST", async () => {
  const output = "DEMO_LEDGER_HOST=192.0.2.1 is no address of this machine.\n";
  expect(await run({ DEMO_LEDGER_PORT: "0", DEMO_LEDGER_HOST: "192.0.2.1" })).toEqual([1, output]);
});
