/**
 * The steps of deploy/Dockerfile, run in a clean folder. There is no Docker in the tests: what they
 * lay runs as a user that is not root and may write nothing there.
 */
import { spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { deployed } from "../deploy/deployed-names.ts";
import { freePort } from "../support/ports.ts";
import { allow } from "../support/slowness.ts";
import { testTemporal } from "../support/temporal.ts";
import { until } from "../support/until.ts";
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
  copySources(sources, isInContext);
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
  const databaseUrl = withDatabase(
    inject("postgresUrl"),
    `${inject("databasePrefix")}${randomUUID().replaceAll("-", "")}`,
  );
  const secretFile = (name: string, value: string): string => {
    const file = join(folder, name);
    writeFileSync(file, `${value}\n`);
    return file;
  };
  settings = cleanEnv({
    PATH: path,
    // The user has none. Temporal's library searches it for its own settings.
    HOME: "/",
    DATABASE_URL_FILE: secretFile("database-url", databaseUrl),
    SECRET_KEY_FILE: secretFile("secret-key", randomBytes(32).toString("base64")),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    API_PORT: String(await freePort()),
    ADMIN_PORT: "0",
    WORKER_PORT: String(await freePort()),
  });
}, allow(60_000));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Whether the image's build sees a file of the repository, by `.dockerignore`. */
function isInContext(path: string): boolean {
  const lines = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  const kept = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  return kept.some((one) => path === one || path.startsWith(`${one}/`));
}

/** The probe of a process in the compose file, without its address. */
function probeOf(name: string): readonly string[] {
  const { services } = parse(deployed("compose.yaml"), { merge: true });
  return services[`${name}-1`].healthcheck.test.slice(1, -1);
}

/** Runs a command of the image to its end. */
function run(...words: readonly string[]) {
  const ended = spawnSync(entrypoint, words, { ...user, cwd: image, env: settings });
  return { status: ended.status, out: String(ended.stdout), err: String(ended.stderr) };
}

test("the image holds the build, its packages and the entry point, in at most 150 MB", () => {
  const size = megabytes(image);
  console.log(`the image adds ${size.toFixed(0)} MB to Node's own`);
  expect(size).toBeLessThan(150);
  expect(existsSync(join(image, "dist/console/index.html"))).toBe(true);
  expect(existsSync(join(image, "src"))).toBe(false);
  expect(existsSync(join(image, "node_modules/esbuild"))).toBe(false);
});

/** The package of a file, if it is of one. */
function packageOf(path: string): readonly string[] {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.slice(1, 2) ?? [];
}

/** The files of which the code in the image is, by its source maps. */
function bundledFiles(): readonly string[] {
  const maps = readdirSync(join(image, "dist")).filter((name) => name.endsWith(".js.map"));
  const sources = maps.flatMap((name): string[] => {
    return JSON.parse(readFileSync(join(image, "dist", name), "utf8")).sources;
  });
  // Some packages contain others. What those maps name is no file here.
  return sources.filter((path) => existsSync(join(root, "dist", path)));
}

test("the bill of materials names the packages in the image, and no others", async () => {
  const bill = readFileSync(join(image, "dist/sbom.cdx.json"), "utf8");
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(bill)).toBeNull();
  const { components } = JSON.parse(bill) as Bill;
  const named = components.map(({ group, name }) => (group ? `${group}/${name}` : name));
  const installed = readdirSync(join(image, "node_modules"), { recursive: true, encoding: "utf8" })
    .map((path) => `node_modules/${path}`)
    .filter((path) => packageOf(path).some((name) => path.endsWith(`/${name}/package.json`)));
  const licences = readFileSync(join(image, "dist/console/licences.txt"), "utf8");
  const inConsole = [...licences.matchAll(/^(\S+) \d\S* \(/gm)].flatMap(([, name]) => name ?? []);
  const present = [...bundledFiles(), ...installed].flatMap(packageOf).concat(inConsole);
  expect(present).toEqual(expect.arrayContaining(["undici", "react", "@temporalio/core-bridge"]));
  expect(new Set(named)).toEqual(new Set(present));
  expect(components.filter(({ licenses = [] }) => licenses.length === 0)).toEqual([]);
});

interface Bill {
  readonly components: readonly {
    readonly group?: string;
    readonly name: string;
    readonly licenses?: readonly unknown[];
  }[];
}

test("the first word of the command chooses the program", async () => {
  expect(run("billing", "--help")).toMatchObject({ status: 0 });
  expect(run("bash")).toEqual({
    status: 64,
    out: "",
    err: "There is no program bash: see deploy/entrypoint.sh\n",
  });
  for (const word of ["migrate", "schedules", "config"])
    expect([word, run(word)]).toMatchObject([word, { status: 0, err: "" }]);
  expect(run("config").out).toMatch(/SECRET_KEY +\(secret\) of SECRET_KEY_FILE=/);
});

test.each([
  ["api", "API_PORT"],
  ["worker", "WORKER_PORT"],
])("the program %s is healthy by its probe, and SIGTERM drains it", async (name, port) => {
  const program = await startProgram(entrypoint, {
    ...user,
    command: [entrypoint, name],
    cwd: image,
    env: settings,
  });
  await untilOutput(program, '"started"');
  const [command = "", ...words] = probeOf(name);
  const at = `http://127.0.0.1:${settings[port]}/readyz`;
  const probe = () => spawnSync(command, [...words, at], { ...user, env: settings }).status;
  await until("its probe succeeds", async () => probe() === 0);
  expect(await program.stop()).toBe("0");
  expect(probe()).not.toBe(0);
  expect(program.output()).toContain('"stopped"');
});
