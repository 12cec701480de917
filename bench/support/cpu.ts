/**
 * Measures the processor time of everything that a measurement started. Other work on the machine
 * does not change it.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second, whatever the kernel's own clock. */
const ticksPerSecond = 100;

interface OneProcess {
  readonly parent: number;
  readonly ticks: number;
}

/** All processes of this machine, with the time of their ended children. */
function readProcesses(): ReadonlyMap<number, OneProcess> {
  const processes = new Map<number, OneProcess>();
  for (const name of listProcesses()) {
    // The program's name may contain any character, so the fields are counted from its end.
    const fields = fileOf(name, "stat")
      .replace(/^.*\) /s, "")
      .split(" ");
    const [user, system, ofEnded, systemOfEnded] = fields.slice(11, 15).map(Number);
    const ticks = (user ?? 0) + (system ?? 0) + (ofEnded ?? 0) + (systemOfEnded ?? 0);
    processes.set(Number(name), { parent: Number(fields[1]), ticks });
  }
  return processes;
}

/** Whether a process is this one or a descendant, and no descendant of `except`. */
function isOurs(
  processes: ReadonlyMap<number, OneProcess>,
  pid: number,
  except: number | null,
): boolean {
  if (pid === process.pid) return true;
  const parent = processes.get(pid)?.parent;
  return pid !== except && parent !== undefined && isOurs(processes, parent, except);
}

/**
 * Seconds of processor time that this process and all its descendants have used so far, ended ones
 * included. The process `except` is left out: the load generator, or null for none. Returns 0
 * without /proc.
 */
export function cpuSecondsUsed(except: number | null): number {
  const processes = readProcesses();
  let ticks = 0;
  for (const [pid, one] of processes) if (isOurs(processes, pid, except)) ticks += one.ticks;
  return ticks / ticksPerSecond;
}

function listProcesses(): readonly string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** The text is empty if the process has ended meanwhile. */
function fileOf(pid: string, name: "stat"): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
