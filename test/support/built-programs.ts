/**
 * The built programs that tests start, as they are shipped. A build is kept in a folder named after
 * its contents, so that Node's compile cache serves the next run too.
 */
import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { builtNames } from "../../src/assets.ts";
import { layBuild } from "../../tools/build/lay-build.ts";
import { builtParts } from "./process-here.ts";

const root = join(import.meta.dirname, "../..");

/** Below `node_modules`, where the packages are found that a build loads. */
const builds = join(root, "node_modules/.cache/built");

/** No run lasts as long. Builds that were not used since are removed. */
const oldMs = 6 * 3_600_000;

/** Builds the programs, unless the same build is there, and returns their folder. */
export async function buildPrograms(): Promise<string> {
  const draft = join(builds, `draft-${randomUUID()}`);
  mkdirSync(draft, { recursive: true });
  try {
    await layBuild(root, draft, { [builtParts]: "test/support/service-parts.ts" });
    // Else Node takes the code for CommonJS: it reads no package.json above node_modules.
    writeFileSync(join(draft, "package.json"), '{ "type": "module" }\n');
    const folder = join(builds, hashOf(draft));
    if (!existsSync(folder)) moveTo(draft, folder);
    linkConsole(folder);
    utimesSync(folder, new Date(), new Date());
    removeOld();
    return folder;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Another run may move the same build there first. Either is right. */
function moveTo(draft: string, folder: string): void {
  try {
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

/** The tests of the console build it when they run, and others need none. */
function linkConsole(folder: string): void {
  const link = join(folder, builtNames.console);
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined)
    symlinkSync(join(root, "dist/console"), link);
}

function hashOf(folder: string): string {
  const hash = createHash("sha256");
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    const file = join(folder, path);
    if (statSync(file).isFile()) hash.update(`${path}\0`).update(readFileSync(file)).update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

function removeOld(): void {
  for (const name of readdirSync(builds)) {
    const folder = join(builds, name);
    const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > oldMs) rmSync(folder, { recursive: true, force: true });
  }
}
