/**
 * Finds the `temporal` program, whose dev server is the default: on PATH, in the user's cache, downloaded by the SDK, or built with Go.
 * What is downloaded or built is put into the cache by one rename, so that two starts at once cannot spoil it.
 */
import { spawn } from "node:child_process";
import { access, constants, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The release that is built; its `replace` is repeated below, as Go heeds only the main module's. */
const cliVersion = "1.8.2";
const goMod = `module temporal-cli-build

go 1.25

require github.com/temporalio/cli v${cliVersion}

replace github.com/temporalio/cli/cliext => github.com/temporalio/cli/cliext v0.0.0-20260731000218-c579925f193f
`;

/** The oldest Go that builds this release. */
const oldestGo = [1, 25] as const;

/** A closed network answers or blocks within this time; nothing of the file after it means "cannot be reached". */
const reachLimitMs = 15_000;

/** 40 MB over a slow line. */
const downloadLimitMs = 5 * 60_000;

/** Four minutes on two cores, from an empty Go cache; the rest is for slower machines. */
const buildLimitMs = 30 * 60_000;

/** Often enough to be seen as alive. */
const progressMs = 5_000;

/** Where to look and build; tests give their own. */
export interface CliSearch {
  readonly env?: NodeJS.ProcessEnv;
}

type Progress = (line: string) => void;

/**
 * The absolute path of a `temporal` program. `progress` gets a line now and then while one is downloaded or built (up to some minutes, once).
 * Throws an Error that says what to do when every way fails.
 */
export async function findTemporalCli(progress: Progress, { env = process.env }: CliSearch = {}): Promise<string> {
  const onPath = await findOnPath("temporal", env);
  if (onPath !== undefined) return onPath;
  const cache = join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "subscription-billing");
  const built = join(cache, `temporal-${cliVersion}`, "temporal");
  const downloaded = join(cache, `temporal-sdk-${sdkVersion()}`, "temporal");
  for (const kept of [built, downloaded]) if (await isProgram(kept)) return kept;
  await mkdir(cache, { recursive: true });
  const problems: string[] = [];
  for (const [way, place] of [[download, downloaded] as const, [build, built] as const]) {
    const folder = await mkdtemp(join(cache, "making-"));
    try {
      const made = await way(folder, progress, env);
      await mkdir(dirname(place), { recursive: true });
      await rename(made, place);
      return place;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new Error(
    `There is no Temporal server: ${problems.join("; ")}. Put the program "temporal" (Temporal CLI) on PATH, ` +
      `or install Go ${oldestGo.join(".")} or newer, or set TEMPORAL_ADDRESS to a server of your own.`,
  );
}

function sdkVersion(): string {
  const require = createRequire(import.meta.url);
  return (require("@temporalio/worker/package.json") as { version: string }).version;
}

async function findOnPath(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (env.PATH ?? "").split(delimiter).filter((part) => part !== "")) {
    const path = join(folder, name);
    if (await isProgram(path)) return path;
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function download(folder: string, progress: Progress, env: NodeJS.ProcessEnv): Promise<string> {
  const program = fileURLToPath(new URL("download-temporal-cli.ts", import.meta.url));
  const began = performance.now();
  let reached = false;
  await run(process.execPath, [program, folder], {
    what: "the SDK's download",
    env,
    cwd: folder,
    limitMs: downloadLimitMs,
    // The SDK makes its file as soon as it has reached the service.
    giveUp: async () => {
      reached ||= (await readdir(folder)).length > 0;
      return !reached && performance.now() - began > reachLimitMs ? "its service cannot be reached" : undefined;
    },
    progress: (seconds) => progress(`downloading the Temporal dev server (${seconds} s)`),
  });
  const file = (await readdir(folder)).find((name) => !name.endsWith(".downloading"));
  if (file === undefined) throw new Error("the SDK's download left no program");
  return join(folder, file);
}

async function build(folder: string, progress: Progress, env: NodeJS.ProcessEnv): Promise<string> {
  const go = await findOnPath("go", env);
  if (go === undefined) throw new Error("Go is not installed, so it cannot be built");
  const text = await run(go, ["env", "GOVERSION"], { what: "go env", env, cwd: folder, limitMs: reachLimitMs });
  const [, major = "0", minor = "0"] = /go(\d+)\.(\d+)/.exec(text) ?? [];
  if (Number(major) < oldestGo[0] || (Number(major) === oldestGo[0] && Number(minor) < oldestGo[1])) {
    throw new Error(`Go ${major}.${minor} is too old to build it`);
  }
  await writeFile(join(folder, "go.mod"), goMod);
  progress(`building the Temporal dev server ${cliVersion} with Go: once, some minutes`);
  const output = join(folder, "temporal");
  const flags = ["-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", output];
  await run(go, ["build", ...flags, "github.com/temporalio/cli/cmd/temporal"], {
    what: "the build with Go",
    // A workspace or vendoring of the caller's must not take part.
    env: { ...env, GOWORK: "off" },
    cwd: folder,
    limitMs: buildLimitMs,
    progress: (seconds) => progress(`building the Temporal dev server (${seconds} s)`),
  });
  return output;
}

interface Run {
  readonly what: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly limitMs: number;
  readonly giveUp?: () => Promise<string | undefined>;
  readonly progress?: (seconds: number) => void;
}

/** What the program printed; throws an Error when it fails, takes too long or is given up. */
async function run(
  file: string,
  args: readonly string[],
  { what, env, cwd, limitMs, giveUp, progress }: Run,
): Promise<string> {
  const child = spawn(file, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (part) => {
    output += part;
  });
  child.stderr.on("data", (part) => {
    errors += part;
  });
  const began = performance.now();
  let reason: string | undefined;
  let told = 0;
  const timer = setInterval(async () => {
    const elapsed = performance.now() - began;
    reason = elapsed > limitMs ? `it took longer than ${limitMs / 1000} s` : await giveUp?.();
    if (reason !== undefined) child.kill("SIGKILL");
    else if (elapsed - told >= progressMs) {
      told = elapsed;
      progress?.(Math.round(elapsed / 1000));
    }
  }, 500);
  try {
    const code = await new Promise<number | null>((done, fail) => child.once("error", fail).once("close", done));
    if (code === 0) return output;
    throw new Error(`${what} failed: ${reason ?? lastLine(errors)}`);
  } finally {
    clearInterval(timer);
  }
}

function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.find((line) => /error/i.test(line))?.trim() ?? lines.at(-1)?.trim() ?? "without a word";
}
