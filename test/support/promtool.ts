/**
 * Prometheus' own programs: those on PATH, else those of Debian's package, which is unpacked into
 * the cache without being installed.
 */
import { execFile } from "node:child_process";
import { access, copyFile, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findOnPath } from "../../packages/dev/src/processes/programs.ts";

const run = promisify(execFile);

/** Runs promtool. Rejects with its output if it finds a fault. */
export type Promtool = (args: readonly string[], folder: string) => Promise<string>;

/** The programs: the server and its checker. */
export type PrometheusProgram = "prometheus" | "promtool";

/** Returns promtool, or null and prints why where it cannot be had. */
export async function findPromtool(): Promise<Promtool | null> {
  const file = await findPrometheusProgram("promtool");
  if (file === null) return null;
  return async (args, cwd) => {
    try {
      return (await run(file, [...args], { cwd })).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`${stdout}\n${stderr}`, { cause: error });
    }
  };
}

/** Returns the path of a program, or null and prints why where it cannot be had. */
export async function findPrometheusProgram(name: PrometheusProgram): Promise<string | null> {
  try {
    return (await findOnPath(name, process.env)) ?? (await unpacked(name));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    console.log(`${name} did not run, because it cannot be had: ${why}`);
    return null;
  }
}

async function unpacked(name: PrometheusProgram): Promise<string> {
  const folder = join(homedir(), ".cache", "subscription-billing");
  const file = join(folder, name);
  if (await isThere(file)) return file;
  const temporary = await mkdtemp(join(tmpdir(), "promtool-"));
  try {
    await run("apt-get", ["download", "prometheus"], { cwd: temporary });
    const [archive = ""] = (await readdir(temporary)).filter((name) => name.endsWith(".deb"));
    await run("dpkg", ["-x", archive, "unpacked"], { cwd: temporary });
    await mkdir(folder, { recursive: true });
    // Two files of tests may do this at once, and neither may run half a program.
    const whole = `${file}.${process.pid}`;
    await copyFile(join(temporary, "unpacked/usr/bin", name), whole);
    await rename(whole, file);
    return file;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
