/**
 * The steps of deploy/Dockerfile, run in a clean folder. There is no Docker in the tests: what they
 * lay runs as a user that is not root and may write nothing there.
 */
import { spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { allow } from "../support/slowness.ts";
import { testTemporal } from "../support/temporal.ts";
import { cleanEnv, copySources, megabytes, run as runToEnd } from "./installed-package.ts";
import { startProgram, untilOutput } from "./running-program.ts";

/** The user of the Dockerfile, if this user may become it. */
const user = process.getuid?.() === 0 ? { uid: 10_001, gid: 10_001 } : {};

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "billing-image-"));
const image = join(folder, "image");
const entrypoint = join(image, "entrypoint.sh");
let settings: NodeJS.ProcessEnv;

beforeAll(async () => {
  const sources = join(folder, "sources");
  copySources(sources);
  // The first step installs the packages, and the code is generated from the copied sources. Both
  // are as they are here, and take minutes.
  symlinkSync(join(root, "node_modules"), join(sources, "node_modules"));
  for (const path of ["src/gen", ".proto-deps"])
    cpSync(join(root, path), join(sources, path), { recursive: true, preserveTimestamps: true });
  const path = `${dirname(process.execPath)}:${cleanEnv().PATH}`;
  await runToEnd(join(sources, "deploy/build-image.sh"), ["lay", image], {
    env: cleanEnv({ PATH: path }),
  });
  chmodSync(folder, 0o755);
  const { address, namespace } = await testTemporal();
  settings = cleanEnv({
    PATH: path,
    // The user has none. Temporal's library searches it for its own settings.
    HOME: "/",
    DATABASE_URL: withDatabase(
      inject("postgresUrl"),
      `${inject("databasePrefix")}${randomUUID().replaceAll("-", "")}`,
    ),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    SECRET_KEY: randomBytes(32).toString("base64"),
    API_PORT: "0",
    ADMIN_PORT: "0",
  });
}, allow(60_000));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command of the image to its end. */
function run(...words: readonly string[]) {
  const ended = spawnSync(entrypoint, words, { ...user, cwd: image, env: settings });
  return { status: ended.status, out: String(ended.stdout), err: String(ended.stderr) };
}

test("the image holds the build, its packages and the entry point, in at most 150 MB", () => {
  const size = megabytes(image);
  console.log(`the image adds ${size.toFixed(0)} MB to Node's own`);
  expect(size).toBeLessThan(150);
  expect(existsSync(join(image, "src"))).toBe(false);
  expect(existsSync(join(image, "node_modules/esbuild"))).toBe(false);
});

test("the first word of the command chooses the program", async () => {
  expect(run("billing", "--help")).toMatchObject({ status: 0 });
  expect(run("bash")).toEqual({
    status: 64,
    out: "",
    err: "There is no program bash: see deploy/entrypoint.sh\n",
  });
  const migrated = run("migrate");
  expect([migrated.status, migrated.err]).toEqual([0, ""]);
});

test.each([["api"], ["worker"]])("SIGTERM reaches the program %s, which drains", async (name) => {
  const program = await startProgram(entrypoint, {
    ...user,
    command: [entrypoint, name],
    cwd: image,
    env: settings,
  });
  await untilOutput(program, '"started"');
  expect(await program.stop()).toBe("0");
  expect(program.output()).toContain('"stopped"');
});
