/** The package as `npm pack` writes it, installed in an empty folder that knows no sources. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { layBuild } from "../../tools/build/lay-build.ts";

const root = join(import.meta.dirname, "../..");

/** Installing takes seconds, with a full cache of npm or over the network. */
const npmLimitMs = 300_000;

/** The files of a package in order, and the folder in which it was installed. */
export interface InstalledPackage {
  readonly files: readonly string[];
  readonly folder: string;
}

/** Copies the files that git tracks, and those that it would, into an empty folder. */
export function copySources(
  folder: string,
  isWanted: (path: string) => boolean = () => true,
): void {
  const listed = execFileSync("git", ["ls-files", "-z", "-c", "-o", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const path of listed.split("\0").filter((one) => one !== "" && isWanted(one))) {
    if (statSync(join(root, path), { throwIfNoEntry: false }) === undefined) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
}

/** Builds and packs a copy of the sources, and installs the tarball. All of it below `folder`. */
export async function installPackage(folder: string): Promise<InstalledPackage> {
  const sources = join(folder, "sources");
  copySources(sources);
  await layBuild(root, join(sources, "dist"));
  const [packed] = JSON.parse(await npm(sources, "pack", "--json", "--ignore-scripts"));
  const installed = join(folder, "installed");
  mkdirSync(installed);
  writeFileSync(join(installed, "package.json"), '{ "private": true }\n');
  await npm(
    installed,
    ...["install", "--prefer-offline", "--no-audit", "--no-fund"],
    join(sources, packed.filename),
  );
  const files = (packed.files as { path: string }[]).map(({ path }) => path).sort();
  return { files, folder: installed };
}

/** Runs npm in a folder and returns what it wrote. */
async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  return run("npm", args, { cwd, env: cleanEnv(), timeout: npmLimitMs });
}

/** Runs a program that takes long, and returns what it wrote to standard output. */
export async function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env: NodeJS.ProcessEnv; readonly timeout?: number },
): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { ...options, encoding: "utf8" });
  return stdout;
}

/**
 * Returns an environment in which programs see nothing of the repository: no programs of its
 * `node_modules`, and no settings of npm, which a run by `npm test` has.
 */
export function cleanEnv(settings: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|NODE_|VITEST|TEST|INIT_CWD|PATH$)/i.test(name),
  );
  const path = (process.env.PATH ?? "").split(delimiter).filter((part) => !part.startsWith(root));
  return { ...Object.fromEntries(own), PATH: path.join(delimiter), ...settings };
}

/** Returns the size of all files below a folder, in megabytes (10^6 bytes). */
export function megabytes(folder: string): number {
  const bytes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return bytes / 1e6;
}
