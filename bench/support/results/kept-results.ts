/**
 * The kept results in `bench/results/`: one file a run, named by its instant and commit. The newest
 * is what a run is compared with.
 */
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Row } from "./rows.ts";

/** One run of all measurements. */
export interface Result {
  /** Abbreviated, with `-dirty` if files were changed since. */
  readonly commit: string;
  readonly date: string;
  readonly node: string;
  readonly machine: string;
  readonly rows: readonly Row[];
}

const folder = join(import.meta.dirname, "../../results");

const run = promisify(execFile);

/** Describes this run: commit, instant, Node and machine. */
export async function describeRun(rows: readonly Row[]): Promise<Result> {
  const args = ["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"];
  const { stdout } = await run("git", args, { cwd: folder.replace(/\/results$/, "") });
  return {
    commit: stdout.trim(),
    date: new Date().toISOString(),
    node: process.version,
    machine: machineOf(),
    rows,
  };
}

function machineOf(): string {
  const [first] = cpus();
  const gigabytes = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} cores of ${first?.model.trim() ?? "unknown"}, ${gigabytes} GB of memory`;
}

/** Returns the newest kept result, or null if none is kept. */
export async function lastKept(): Promise<Result | null> {
  const name = await lastName();
  return name === null ? null : read(name);
}

async function lastName(): Promise<string | null> {
  const names = await readdir(folder).catch(() => []);
  const newest = names.filter((name) => name.endsWith(".json")).toSorted();
  return newest.at(-1) ?? null;
}

async function read(name: string): Promise<Result> {
  return JSON.parse(await readFile(join(folder, name), "utf8")) as Result;
}

/**
 * Keeps a result. Returns the name of its file. Rows that the newest file has of the same commit
 * stay, unless they were measured again.
 */
export async function keep(result: Result): Promise<string> {
  await mkdir(folder, { recursive: true });
  const newest = await lastName();
  const before = newest === null ? null : await read(newest);
  const isSame = newest !== null && before?.commit === result.commit;
  const names = new Set(result.rows.map(({ name }) => name));
  const stays = isSame ? (before?.rows ?? []).filter(({ name }) => !names.has(name)) : [];
  const kept: Result = { ...result, rows: [...stays, ...result.rows] };
  const instant = result.date.slice(0, 19).replaceAll(/[-:]/g, "");
  const name = isSame ? newest : `${instant}-${result.commit}.json`;
  await writeFile(join(folder, name), `${JSON.stringify(kept, null, 2)}\n`);
  return name;
}
