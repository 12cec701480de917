/**
 * The record of a start over a data folder. Only one start runs at a time, and the next one ends
 * children that a killed one left behind. The databases have their own pid files; this record is
 * for the programs of this repository.
 */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { privateFolder } from "./private-folder.ts";
import { commandOf, endProcess } from "./processes/process.ts";

/**
 * A process with its command line, which distinguishes it from a later process with the same
 * number.
 */
interface RecordedProcess {
  readonly name: string;
  readonly pid: number;
  readonly command: string;
}

interface StartRecord {
  readonly owner: RecordedProcess;
  readonly children: readonly RecordedProcess[];
}

/**
 * The record that this process holds. `add` names a child, which would be left behind if this
 * process were killed.
 */
export interface LockedRecord {
  add(name: string, pid: number): Promise<void>;
}

/** A child that outlived its owner has no work worth finishing. */
const leftLimitMs = 5_000;

/**
 * Takes the folder for this process and ends the children of a killed predecessor. Throws an Error
 * with the other process's number if one still runs over the folder.
 */
export async function lockStartRecord(
  dataFolder: string,
  log: (line: string) => void,
): Promise<LockedRecord> {
  await privateFolder(dataFolder);
  const file = join(dataFolder, "start.json");
  const left = await readRecord(file);
  if (left !== undefined && left.owner.pid !== process.pid && (await isStill(left.owner))) {
    throw new Error(
      `Already running over ${dataFolder} (process ${left.owner.pid}). ` +
        "Stop it first, or set DATA_FOLDER to another folder.",
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
    writeFile(file, `${JSON.stringify({ owner, children } satisfies StartRecord, null, 2)}\n`, {
      mode: 0o600,
    });
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
    // No record, or one whose process was killed while writing it: it had no important children
    // yet.
    return undefined;
  }
}

async function isStill({ pid, command }: RecordedProcess): Promise<boolean> {
  return command !== "" && (await commandOf(pid)) === command;
}
