/**
 * The two ways to get a missing `temporal` program: the SDK's download, and a build with Go at a
 * pinned version. Each is a program in a separate process.
 */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runQuietly } from "../processes/run-quietly.ts";
import type { Counting } from "../progress-line.ts";

/**
 * Creates a program in the empty `folder` and returns its path. `lines` shows the wait. Throws an
 * Error with the reason if it cannot.
 */
export type ProvideCli = (
  folder: string,
  lines: Counting,
  env: NodeJS.ProcessEnv,
) => Promise<string>;

/** The program that builds a release with Go, and the Go module that pins the release. */
const buildProgram = new URL("../../../../tools/temporal-cli/build.ts", import.meta.url);
const goMod = readFileSync(new URL("go.mod", buildProgram), "utf8");

/** The release that is built. */
export const builtCliVersion = pinned(/^require github\.com\/temporalio\/cli v(\S+)$/m);

/** The oldest Go that builds this release. */
export const oldestGo = pinned(/^go (\S+)$/m);

function pinned(pattern: RegExp): string {
  const [, version] = pattern.exec(goMod) ?? [];
  if (version === undefined) throw new Error(`tools/temporal-cli/go.mod has no ${pattern}`);
  return version;
}

/**
 * A closed network answers or blocks within this time. Without any part of the file after it, the
 * address counts as unreachable.
 */
const reachLimitMs = 15_000;

/** 40 MB over a slow line. */
const downloadLimitMs = 5 * 60_000;

/** Four minutes on two cores from an empty Go cache. The rest is for slower machines. */
const buildLimitMs = 30 * 60_000;

/** Downloads by the SDK: its address, its version and its check. */
export const downloadCli: ProvideCli = async (folder, lines, env) => {
  const program = fileURLToPath(new URL("download-temporal-cli.ts", import.meta.url));
  const began = performance.now();
  let reached = false;
  const run = runQuietly(process.execPath, [program, folder], {
    what: "the SDK's download",
    env,
    cwd: folder,
    limitMs: downloadLimitMs,
    // The SDK creates its file as soon as it has reached the service.
    giveUp: async () => {
      reached ||= (await readdir(folder)).length > 0;
      return !reached && performance.now() - began > reachLimitMs
        ? "its service cannot be reached"
        : undefined;
    },
  });
  await shown(lines, "downloading the Temporal dev server", run);
  const file = (await readdir(folder)).find((name) => !name.endsWith(".downloading"));
  if (file === undefined) throw new Error("the SDK's download left no program");
  return join(folder, file);
};

/** Builds with Go from the Go module proxy, by the program in `tools/temporal-cli`. */
export const buildCli: ProvideCli = async (folder, lines, env) => {
  const program = fileURLToPath(buildProgram);
  const run = { what: "the build with Go", env, cwd: folder, limitMs: buildLimitMs };
  // Checks first, so that no line announces a build that cannot begin.
  await runQuietly(process.execPath, [program], run);
  await shown(
    lines,
    `building the Temporal dev server ${builtCliVersion} with Go, once: some minutes`,
    runQuietly(process.execPath, [program, folder], run),
  );
  return join(folder, "temporal");
};

async function shown(lines: Counting, what: string, run: Promise<unknown>): Promise<void> {
  const wait = lines.begin(what);
  try {
    await run;
    wait.end();
  } catch (error) {
    wait.drop();
    throw error;
  }
}
