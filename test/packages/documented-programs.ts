/** Runs the programs of the documentation's pages as a reader would: in a folder of their own. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { isInstalled } from "../../tools/client-generators/places.ts";
import { cleanEnv, run } from "../build/installed-package.ts";

const root = join(import.meta.dirname, "../..");

/**
 * Returns the block of a page whose first line is a comment with this name of a file. Throws if
 * there is none.
 */
export function blockOf(page: string, name: string): string {
  const text = readFileSync(join(root, page), "utf8");
  const blocks = [...text.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const found = blocks.find((block) => /^(?:\/\/|#) (.+)$/m.exec(block)?.[1] === name);
  if (found === undefined) throw new Error(`${page} has no block ${name}`);
  return found;
}

/**
 * Returns the TypeScript programs of a page by the names of their files. A block without a name
 * continues the one before.
 */
export function typeScriptOf(page: string): Readonly<Record<string, string>> {
  const programs: Record<string, string> = {};
  let name = "";
  const text = readFileSync(join(root, page), "utf8");
  for (const [, block = ""] of text.matchAll(/^```ts\n(.*?)^```$/gms)) {
    name = /^\/\/ (\S+\.ts)$/m.exec(block)?.[1] ?? name;
    programs[name] = `${programs[name] ?? ""}${block}`;
  }
  return programs;
}

/** Packs the client and installs the file in an empty project, with compiler and Node's types. */
export async function projectWithClient(): Promise<RemovableWorkshop & { packedBytes: number }> {
  const project = createWorkshop();
  const packed = await pack("client");
  const packedBytes = statSync(packed).size;
  project.write("package.json", '{ "private": true, "type": "module" }');
  const compilerOptions = { strict: true, noEmit: true, module: "nodenext", types: ["node"] };
  project.write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const tools = ["typescript", "@types/node"].map((name) => `${name}@${versionOf(name)}`);
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", packed];
  await project.run("npm", [...install, ...tools]);
  await removePacked(packed);
  return { ...project, packedBytes };
}

function versionOf(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return devDependencies[name];
}

/** An empty folder in which a test runs programs. */
export interface Workshop {
  readonly folder: string;
  /** Writes a file. Its folders need not exist. */
  write(path: string, text: string): void;
  /** Runs a program to its end and returns what it wrote. Throws if it fails. */
  run(program: string, args: readonly string[], settings?: RunSettings): Promise<string>;
}

/** A folder that several tests use. */
export interface RemovableWorkshop extends Workshop {
  remove(): void;
}

interface RunSettings {
  /** Below the folder. */
  readonly below?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Returns a new folder, which is removed after the test. */
export function workshop(): Workshop {
  const created = createWorkshop();
  onTestFinished(() => created.remove());
  return created;
}

/** Returns a new folder. */
export function createWorkshop(): RemovableWorkshop {
  const folder = mkdtempSync(join(tmpdir(), "billing-clients-"));
  return {
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
    write: (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
    run: (program, args, { below = ".", env = {} } = {}) =>
      run(program, args, { cwd: join(folder, below), env: cleanEnv(env) }).catch((error) => {
        // Compilers write what is wrong to standard output.
        throw new Error(`${error.message}${error.stdout}`);
      }),
  };
}

/** Packs a workspace and returns the path of the file. Remove its folder afterwards. */
export async function pack(name: "client" | "contract"): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "billing-packed-"));
  const args = ["pack", "--workspace", `packages/${name}`, "--pack-destination", folder];
  await run("npm", args, { cwd: root, env: cleanEnv() });
  return join(folder, `subscription-billing-${name}-1.0.0.tgz`);
}

/** Removes a packed file with its folder. */
export async function removePacked(path: string): Promise<void> {
  rmSync(dirname(path), { recursive: true, force: true });
}

/** Whether all of these files exist. Prints that a check was not made if one does not. */
export function areThere(what: string, ...files: readonly string[]): boolean {
  const missing = files.filter((file) => !isInstalled(file));
  if (missing.length > 0)
    console.log(`${what} was NOT checked: ${missing.join(", ")} is not there (npm run clients)`);
  return missing.length === 0;
}

/** The messages of package tools that reach no registry. */
const unreachable =
  /no such host|dial tcp|i\/o timeout|Could not transfer|Unknown host|Connection refused|ENOTFOUND/;

/** Runs what needs a registry. Returns false, and prints why, if none can be reached. */
export async function withRegistry(what: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    const [line] = unreachable.exec(String(error)) ?? [];
    if (line === undefined) throw error;
    console.log(`${what} was NOT checked: a registry cannot be reached (${line})`);
    return false;
  }
}
