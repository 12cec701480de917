/**
 * Generates all code (`npm run gen`). Each step of gen-steps.ts runs only if its inputs changed
 * since its last run. A stamp file under `src/gen/.stamps` records that run. Concurrent runs are
 * safe.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { countingOn } from "../packages/dev/src/progress-line.ts";
import { withLock } from "./gen-lock.ts";
import { type Step, steps } from "./gen-steps.ts";

const root = join(import.meta.dirname, "..");
const stamps = join(root, "src/gen/.stamps");

/** Standard output belongs to the program that runs after this one. */
const lines = countingOn(process.stderr);

const say = (line: string) => lines.log(`gen: ${line}`);
if (steps.some(isDue)) await withLock(join(root, "src/gen/.lock"), say, generateAll);

async function generateAll(): Promise<void> {
  mkdirSync(stamps, { recursive: true });
  for (const step of steps) {
    const missing = (step.needs ?? []).filter((path) => !existsSync(join(root, path)));
    if (missing.length > 0) {
      lines.log(`gen: ${step.name} left out, there is no ${missing.join(", ")}`);
      continue;
    }
    // Checked again under the lock, because another run may have finished the step in the meantime.
    if (!isDue(step)) continue;
    const wait = lines.begin(`gen: ${step.name}`);
    const hash = inputHash(step);
    rmSync(stampPath(step), { force: true });
    try {
      await step.run(root);
    } catch (error) {
      wait.drop();
      throw error;
    }
    writeFileSync(stampPath(step), hash);
    wait.end();
  }
}

function isDue(step: Step): boolean {
  if ((step.needs ?? []).some((path) => !existsSync(join(root, path)))) return false;
  if (step.outputs.some((path) => !existsSync(join(root, path)))) return true;
  return !existsSync(stampPath(step)) || readFileSync(stampPath(step), "utf8") !== inputHash(step);
}

function stampPath(step: Step): string {
  return join(stamps, step.name.replaceAll(" ", "-"));
}

/**
 * Returns a hash over the paths and contents of the step's inputs, and over the steps themselves.
 */
function inputHash(step: Step): string {
  const hash = createHash("sha256");
  for (const path of ["tools/gen-steps.ts", ...step.inputs]) addToHash(hash, path);
  return hash.digest("hex");
}

function addToHash(hash: ReturnType<typeof createHash>, path: string): void {
  const full = join(root, path);
  if (!existsSync(full)) return;
  if (statSync(full).isDirectory()) {
    for (const name of readdirSync(full).sort()) addToHash(hash, `${path}/${name}`);
  } else {
    hash.update(`${path}\0`).update(readFileSync(full)).update("\0");
  }
}
