/**
 * The two ways to get a missing `temporal` program: the SDK's download, and a build with Go at a
 * pinned version.
 */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findOnPath } from "../processes/programs.ts";
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

/** The release that is built: Server 1.31.2, UI 2.50.1. */
export const builtCliVersion = "1.8.2";

const cliext = "github.com/temporalio/cli/cliext";

/** The release's `replace` is repeated, because Go applies only those of the main module. */
const goMod = `module temporal-cli-build

go 1.25

require github.com/temporalio/cli v${builtCliVersion}

replace ${cliext} => ${cliext} v0.0.0-20260731000218-c579925f193f
`;

/** The oldest Go that builds this release. */
export const oldestGo = [1, 25] as const;

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

/** Builds from the Go module proxy, in a temporary module. */
export const buildCli: ProvideCli = async (folder, lines, env) => {
  const go = await findOnPath("go", env);
  if (go === undefined) throw new Error("Go is not installed, so it cannot be built");
  const version = await runQuietly(go, ["env", "GOVERSION"], {
    what: "go env",
    env,
    cwd: folder,
    limitMs: reachLimitMs,
  });
  const [, major = "0", minor = "0"] = /go(\d+)\.(\d+)/.exec(version) ?? [];
  if (
    Number(major) < oldestGo[0] ||
    (Number(major) === oldestGo[0] && Number(minor) < oldestGo[1])
  ) {
    throw new Error(`Go ${major}.${minor} is too old to build it`);
  }
  await writeFile(join(folder, "go.mod"), goMod);
  const output = join(folder, "temporal");
  const flags = ["-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", output];
  const run = runQuietly(go, ["build", ...flags, "github.com/temporalio/cli/cmd/temporal"], {
    what: "the build with Go",
    // A workspace of the caller must not take part.
    env: { ...env, GOWORK: "off" },
    cwd: folder,
    limitMs: buildLimitMs,
  });
  await shown(
    lines,
    `building the Temporal dev server ${builtCliVersion} with Go, once: some minutes`,
    run,
  );
  return output;
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
