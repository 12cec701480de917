/** Sends commands to all measured processes of a system and their threads. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { folderSetting, type ProbeCommand, type ProbeReading } from "./inside.ts";

/** The measured processes. A process that has ended is left out. */
export interface Probes {
  /** Sends one command to every thread. Returns their reports, sorted by program. */
  send(command: ProbeCommand): Promise<readonly ProbeReading[]>;
  /** Writes the profiles into the folder, one file for each thread. */
  stopProfiles(folder: string): Promise<readonly ProbeReading[]>;
}

/**
 * Returns the environment that loads the probe into a Node process and all its threads. The probe
 * is plain JavaScript, so that a built program does not load Node's compiler for it.
 */
export async function probedEnvironment(folder: string): Promise<Readonly<Record<string, string>>> {
  const source = await readFile(join(import.meta.dirname, "inside.ts"), "utf8");
  const file = join(folder, "inside.mjs");
  const { code } = await transform(source, { loader: "ts", format: "esm" });
  await writeFile(file, code);
  const script = pathToFileURL(file).href;
  const before = process.env.BENCH_NODE_OPTIONS ?? "";
  return { [folderSetting]: folder, NODE_OPTIONS: `${before} --expose-gc --import ${script}` };
}

/** Returns the probes of the processes that were started with this folder. */
export function probesIn(folder: string): Probes {
  const sendEach = async (commandOf: (name: string) => ProbeCommand) => {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".sock"));
    const readings = await Promise.all(
      names.map((name) => send(join(folder, name), commandOf(name.slice(0, -".sock".length)))),
    );
    return readings
      .filter((reading) => reading !== null)
      .toSorted((a, b) => a.program.localeCompare(b.program) || a.threadId - b.threadId);
  };
  return {
    send: (command) => sendEach(() => command),
    stopProfiles: (into) =>
      sendEach((name) => ({ do: "stop profile", file: join(into, `${name}.cpuprofile`) })),
  };
}

/** Returns null if nothing listens: the process or thread has ended. */
function send(socketFile: string, command: ProbeCommand): Promise<ProbeReading | null> {
  const { promise, resolve } = Promise.withResolvers<ProbeReading | null>();
  let text = "";
  const socket = connect(socketFile, () => socket.write(JSON.stringify(command)));
  socket.on("data", (part) => {
    text += part;
  });
  socket.once("error", () => resolve(null));
  socket.once("close", () => resolve(text === "" ? null : (JSON.parse(text) as ProbeReading)));
  return promise;
}
