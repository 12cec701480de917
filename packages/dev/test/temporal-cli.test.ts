/**
 * The order in which a `temporal` program is searched and provided. Two concurrent starts leave a
 * whole one.
 */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { linesInto } from "../src/progress-line.ts";
import { buildCli, type ProvideCli } from "../src/temporal/provide-temporal-cli.ts";
import { findTemporalCli } from "../src/temporal/temporal-cli.ts";

let folder = "";
let env: NodeJS.ProcessEnv = {};
let lines: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "temporal-cli-test-"));
  env = { PATH: join(folder, "bin"), XDG_CACHE_HOME: join(folder, "cache") };
  lines = [];
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function writeProgram(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

const fails =
  (why: string): ProvideCli =>
  async () => {
    throw new Error(why);
  };
const makes =
  (text: string): ProvideCli =>
  (into) =>
    writeProgram(join(into, "made"), text);

const find = (download: ProvideCli, build: ProvideCli): Promise<string> =>
  findTemporalCli(
    linesInto((line) => lines.push(line)),
    { env, download, build },
  );

test("a program on PATH goes before one in the cache, and that before a new one", async () => {
  const never = fails("not to be asked");
  const cached = await writeProgram(
    join(folder, "cache/subscription-billing/temporal-1.8.2/temporal"),
    "kept",
  );
  expect(await find(never, never)).toBe(cached);
  const onPath = await writeProgram(join(folder, "bin/temporal"), "own");
  expect(await find(never, never)).toBe(onPath);
});

test("the SDK's download goes before a build and is cached", async () => {
  const made = await find(makes("downloaded"), fails("not to be asked"));
  expect(await readFile(made, "utf8")).toBe("downloaded");
  expect(await find(fails("not to be asked"), fails("not to be asked"))).toBe(made);
});

test("concurrent builds return the whole program and leave nothing else in the cache", async () => {
  const build = makes("built");
  const [one, two] = await Promise.all([
    find(fails("closed"), build),
    find(fails("closed"), build),
  ]);
  expect(one).toBe(two);
  expect(await readFile(one, "utf8")).toBe("built");
  expect(await readdir(dirname(one))).toEqual(["temporal"]);
});

test("when nothing works, the error gives each reason and says what to do", async () => {
  await expect(find(fails("no network"), buildCli)).rejects.toThrow(
    "There is no Temporal server: no network; " +
      "the build with Go failed: Go is not installed. " +
      'Put the program "temporal" (Temporal CLI) on PATH, or install Go 1.25 or newer, ' +
      "or set TEMPORAL_ADDRESS to a server of your own.",
  );
});

test("a Go that is too old is an error, and a new one builds the pinned version", async () => {
  await writeProgram(join(folder, "bin/go"), "#!/bin/sh\necho go1.24.9\n");
  await expect(find(fails("closed"), buildCli)).rejects.toThrow(
    "the build with Go failed: Go 1.24 is too old",
  );
  const script =
    '#!/bin/sh\n[ "$1" = env ] && echo go1.26.0 && exit\n' +
    "/bin/cp go.mod temporal\n/bin/chmod 755 temporal\n";
  await writeProgram(join(folder, "bin/go"), script);
  const built = await find(fails("closed"), buildCli);
  expect(await readFile(built, "utf8")).toContain("require github.com/temporalio/cli v1.8.2");
  const what = "building the Temporal dev server 1.8.2 with Go, once: some minutes";
  expect(lines).toEqual([`${what} …`, expect.stringMatching(`^${what} \\([\\d.]+ s\\)$`)]);
});
