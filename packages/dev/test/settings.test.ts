/** Ports, the version of Node, and processes: what the start says before it starts anything. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assertNodeVersion } from "../../../src/main/node-version.ts";
import { apiAddressOf } from "../src/processes/api-address.ts";
import { anyFreePort, assertPortsFree, readPort } from "../src/processes/ports.ts";
import { commandOf, endProcess, isAlive } from "../src/processes/process.ts";
import { secretKeyOf } from "../src/secret-key.ts";

test("a port is read from its setting, or the fallback is taken", () => {
  expect(readPort({}, "API_PORT", 8080)).toBe(8080);
  expect(readPort({ API_PORT: "" }, "API_PORT", 8080)).toBe(8080);
  expect(readPort({ API_PORT: "9000" }, "API_PORT", 8080)).toBe(9000);
});

test.each([
  "abc",
  "0",
  "-1",
  "65536",
  "80.5",
  "0x10",
])("%s is no port, and the error names the setting", (text) => {
  expect(() => readPort({ API_PORT: text }, "API_PORT", 8080)).toThrow(
    `API_PORT=${text} is no port`,
  );
});

test("two parts with one port are an error that names both settings", async () => {
  const wanted = [
    { part: "the API", port: 9000, setting: "API_PORT" },
    { part: "Temporal", port: 9000, setting: "TEMPORAL_PORT" },
  ];
  await expect(assertPortsFree(wanted)).rejects.toThrow(
    "the API and Temporal both want port 9000. Change API_PORT or TEMPORAL_PORT.",
  );
});

test("a port that was returned as free is not assigned again", async () => {
  const ports = new Set<number>();
  // Of 28,000 ports assigned at random, 600 would have a repetition 998 times of 1000.
  for (let index = 0; index < 600; index += 1) ports.add(await anyFreePort());
  expect(ports.size).toBe(600);
});

test("Node before 22.18 is refused with what to do", () => {
  expect(() => assertNodeVersion("v20.20.2")).toThrow(
    "Node v20.20.2 is too old: 22.18 or newer is needed.",
  );
  expect(() => assertNodeVersion("v22.17.9")).toThrow("too old");
  for (const version of ["v22.18.0", "v24.0.0", "v26.1.0"])
    expect(() => assertNodeVersion(version)).not.toThrow();
});

test("a process that ignores the polite signal is ended after its limit", async () => {
  const script =
    'process.on("SIGTERM", () => undefined); process.stdout.write("up"); ' +
    "setInterval(() => undefined, 1000);";
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "ignore"] });
  const pid = child.pid ?? 0;
  await new Promise((done) => child.stdout.once("data", done));
  expect(await isAlive(pid)).toBe(true);
  expect(await commandOf(pid)).toContain("SIGTERM");
  await endProcess(pid, [{ signal: "SIGTERM", limitMs: 50 }]);
  expect(await isAlive(pid)).toBe(false);
});

test("the encryption key is created once, closed to others, unless SECRET_KEY is set", async () => {
  const folder = await mkdtemp(join(tmpdir(), "secret-key-test-"));
  const [first, ...others] = await Promise.all(
    Array.from({ length: 4 }, () => secretKeyOf({}, folder)),
  );
  expect(Buffer.from(first ?? "", "base64")).toHaveLength(32);
  expect(new Set(others)).toEqual(new Set([first]));
  expect((await stat(join(folder, "secret-key"))).mode & 0o777).toBe(0o600);
  expect(await secretKeyOf({ SECRET_KEY: "own" }, folder)).toBe("own");
  await rm(folder, { recursive: true });
});

test("the base URL follows the API's host and TLS settings", () => {
  expect(apiAddressOf({}, 8080)).toBe("http://127.0.0.1:8080");
  expect(apiAddressOf({ API_HOST: "0.0.0.0" }, 8080)).toBe("http://127.0.0.1:8080");
  expect(apiAddressOf({ API_HOST: "10.0.0.5", TLS_CERT_FILE: "cert.pem" }, 443)).toBe(
    "https://10.0.0.5:443",
  );
});
