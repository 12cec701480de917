/**
 * Finds the `temporal` program, whose dev server is the default: on PATH, in the user's cache,
 * downloaded by the SDK, or built with Go. A downloaded or built program is moved into the cache by
 * one rename, so that two concurrent starts cannot spoil it.
 */
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rename } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { findOnPath, isProgram } from "../processes/programs.ts";
import type { Counting } from "../progress-line.ts";
import {
  buildCli,
  builtCliVersion,
  downloadCli,
  oldestGo,
  type ProvideCli,
} from "./provide-temporal-cli.ts";

/** Where to search, and how to get a missing program. Tests set their own. */
interface CliSearch {
  readonly env?: NodeJS.ProcessEnv;
  readonly download?: ProvideCli;
  readonly build?: ProvideCli;
}

/**
 * Returns the absolute path of a `temporal` program. `lines` shows the wait while one is downloaded
 * or built (up to some minutes, once). Throws an Error with advice if every way fails.
 */
export async function findTemporalCli(
  lines: Counting,
  { env = process.env, download = downloadCli, build = buildCli }: CliSearch = {},
): Promise<string> {
  const onPath = await findOnPath("temporal", env);
  if (onPath !== undefined) return onPath;
  const cache = join(
    env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"),
    "subscription-billing",
  );
  const built = join(cache, `temporal-${builtCliVersion}`, "temporal");
  const downloaded = join(cache, `temporal-sdk-${sdkVersion()}`, "temporal");
  for (const cached of [built, downloaded]) if (await isProgram(cached)) return cached;
  const problems: string[] = [];
  for (const [provide, place] of [[download, downloaded] as const, [build, built] as const]) {
    try {
      await provideInto(place, provide, lines, env);
      return place;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `There is no Temporal server: ${problems.join("; ")}. ` +
      'Put the program "temporal" (Temporal CLI) on PATH, ' +
      `or install Go ${oldestGo} or newer, ` +
      "or set TEMPORAL_ADDRESS to a server of your own.",
  );
}

function sdkVersion(): string {
  const require = createRequire(import.meta.url);
  return (require("@temporalio/worker/package.json") as { version: string }).version;
}

async function provideInto(
  place: string,
  provide: ProvideCli,
  lines: Counting,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  await mkdir(dirname(place), { recursive: true });
  // Next to its final path, so that the rename stays within one file system.
  const folder = await mkdtemp(join(dirname(place), "unfinished-"));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", removeFolder);
  try {
    await rename(await provide(folder, lines, env), place);
  } finally {
    process.off("exit", removeFolder);
    removeFolder();
  }
}
