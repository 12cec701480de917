/**
 * Prometheus' own checker: the one on PATH, else the one of Debian's package, which is unpacked
 * into the cache without being installed.
 */
import { execFile } from "node:child_process";
import { access, copyFile, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findOnPath } from "../../src/dev/local-stack/processes/programs.ts";

const run = promisify(execFile);

/** Runs promtool. Rejects with its output if it finds a fault. */
export type Promtool = (args: readonly string[], folder: string) => Promise<string>;

/** Returns promtool, or null and prints why where it cannot be had. */
export async function findPromtool(): Promise<Promtool | null> {
  try {
    const file = (await findOnPath("promtool", process.env)) ?? (await unpacked());
    return async (args, cwd) => {
      try {
        return (await run(file, [...args], { cwd })).stdout;
      } catch (error) {
        const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
        throw new Error(`${stdout}\n${stderr}`, { cause: error });
      }
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    console.log(`promtool did not run, because it cannot be had: ${why}`);
    return null;
  }
}

async function unpacked(): Promise<string> {
  const folder = join(homedir(), ".cache", "subscription-billing");
  const file = join(folder, "promtool");
  if (await isThere(file)) return file;
  const temporary = await mkdtemp(join(tmpdir(), "promtool-"));
  try {
    await run("apt-get", ["download", "prometheus"], { cwd: temporary });
    const [archive = ""] = (await readdir(temporary)).filter((name) => name.endsWith(".deb"));
    await run("dpkg", ["-x", archive, "unpacked"], { cwd: temporary });
    await mkdir(folder, { recursive: true });
    // Two files of tests may do this at once, and neither may run half a program.
    const whole = `${file}.${process.pid}`;
    await copyFile(join(temporary, "unpacked/usr/bin/promtool"), whole);
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
