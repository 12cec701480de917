/** Builds the console before a start from the sources, unless the last build is newer. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "../../../../tools/gen-lock.ts";
import { awaitProgram } from "../../../../tools/run-program.ts";

const root = join(import.meta.dirname, "../../../..");

/** What is in the page. A folder's files have a time each. */
const sources = [
  "packages/console",
  "packages/verify/src",
  "src/domain",
  "src/admin/dear-reads.ts",
  "proto",
];

/** Returns once `dist/console` has what the sources say. */
export async function ensureConsole(log: (line: string) => void): Promise<void> {
  const say = (words: string) => log(`${"Console".padEnd(12)} ${words}`);
  await withLock(join(root, "src/gen/.console-lock"), say, async () => {
    const index = join(root, "dist/console/index.html");
    const builtMs = existsSync(index) ? statSync(index).mtimeMs : 0;
    if (sources.every((path) => newestMs(join(root, path)) < builtMs)) return;
    const began = performance.now();
    await awaitProgram(root, "node", ["tools/build-console.ts"]);
    say(`built (${((performance.now() - began) / 1_000).toFixed(1)} s)`);
  });
}

function newestMs(path: string): number {
  const source = statSync(path);
  if (source.isFile()) return source.mtimeMs;
  const times = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("/console/test"))
    .map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs);
  return Math.max(...times);
}
