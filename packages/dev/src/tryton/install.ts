/**
 * Tryton in a virtual environment of the user's cache: pinned packages of the Python package index.
 * It is a program under its own licence (GPL-3), called over HTTP. Nothing of it is part of
 * this repository.
 */
import { rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { findOnPath, isProgram } from "../processes/programs.ts";
import { runQuietly } from "../processes/run-quietly.ts";

/** The release, and the packages with its modules. */
const packages = [
  "trytond==8.2.1",
  "trytond-account==8.2.1",
  "trytond-account-invoice==8.2.0",
  "trytond-company==8.2.0",
  "trytond-currency==8.2.0",
  "trytond-party==8.2.0",
  "trytond-product==8.2.0",
  "trytond-account-product==8.2.0",
  "psycopg[binary,pool]==3.3.9",
] as const;

/** 90 MB over a slow line. */
const installLimitMs = 10 * 60_000;

/** The oldest Python that runs this release. */
const oldestPython = "3.10";

/**
 * Returns the virtual environment, which is installed once. Throws an Error with the reason if
 * Python or its packages cannot be had.
 */
export async function installTryton(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<string> {
  const cache = env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache");
  // Another release has another one.
  const place = join(cache, "subscription-billing", "tryton-8.2.1", "python");
  if (await isProgram(join(place, "bin", "trytond"))) return place;
  const python = await findOnPath("python3", env);
  if (python === undefined)
    throw new Error(`There is no Tryton: it needs Python ${oldestPython} or newer on PATH.`);
  await mkdir(dirname(place), { recursive: true });
  log("installing Tryton from the Python package index, once: about a minute");
  const run = { env, cwd: dirname(place), limitMs: installLimitMs };
  // A virtual environment cannot be moved, so that an unfinished one is removed.
  const removePlace = (): void => rmSync(place, { recursive: true, force: true });
  process.once("exit", removePlace);
  try {
    await runQuietly(python, ["-m", "venv", place], { ...run, what: "python3 -m venv" });
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
    await runQuietly(join(place, "bin", "python3"), pip, { ...run, what: "pip install" });
  } catch (error) {
    removePlace();
    throw new Error(`There is no Tryton: ${error instanceof Error ? error.message : error}`);
  } finally {
    process.off("exit", removePlace);
  }
  return place;
}
