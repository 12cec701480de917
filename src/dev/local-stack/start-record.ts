/**
 * The record of who runs over a data folder: one start at a time, and children that a killed one left behind are ended by the next.
 * The databases have pid files of their own; this one is for the programs of this repository.
 */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { privateFolder } from "./private-folder.ts";
import { commandOf, endProcess } from "./process.ts";

/** A process with its command line, by which it is told from another that got its number later. */
export interface RecordedProcess {
  readonly name: string;
  readonly pid: number;
  readonly command: string;
}

interface StartRecord {
  readonly owner: RecordedProcess;
  readonly children: readonly RecordedProcess[];
}

/** The record that this process holds. `add` names a child, which would be left behind if this process were killed. */
export interface HeldRecord {
  add(name: string, pid: number): Promise<void>;
}

/** A child that outlived its owner has nobody to finish its work for. */
const leftLimitMs = 5_000;

/**
 * Takes the folder for this process and ends what a killed predecessor left.
 * Throws an Error with the number of the other process when one still runs over the folder.
 */
export async function holdStartRecord(dataFolder: string, log: (line: string) => void): Promise<HeldRecord> {
  await privateFolder(dataFolder);
  const file = join(dataFolder, "start.json");
  const left = await readRecord(file);
  if (left !== undefined && left.owner.pid !== process.pid && (await isStill(left.owner))) {
    throw new Error(
      `Already running over ${dataFolder} (process ${left.owner.pid}). Stop it first, or set DATA_FOLDER to another folder.`,
    );
  }
  for (const child of left?.children ?? []) {
    if (!(await isStill(child))) continue;
    log(`${child.name} still runs from an earlier start (process ${child.pid}): stopping it`);
    await endProcess(child.pid, [{ signal: "SIGTERM", limitMs: leftLimitMs }]);
  }
  const owner = { name: "start", pid: process.pid, command: await commandOf(process.pid) };
  const children: RecordedProcess[] = [];
  const write = (): Promise<void> =>
    writeFile(file, `${JSON.stringify({ owner, children } satisfies StartRecord, null, 2)}\n`, { mode: 0o600 });
  await write();
  // An existing file keeps its mode when it is written.
  await chmod(file, 0o600);
  return {
    async add(name, pid) {
      children.push({ name, pid, command: await commandOf(pid) });
      await write();
    },
  };
}

async function readRecord(file: string): Promise<StartRecord | undefined> {
  const text = await readFile(file, "utf8").catch(() => "");
  try {
    return JSON.parse(text) as StartRecord;
  } catch {
    // None, or one that was being written when its process was killed: before it had children of note.
    return undefined;
  }
}

async function isStill({ pid, command }: RecordedProcess): Promise<boolean> {
  return command !== "" && (await commandOf(pid)) === command;
}
