/**
 * Compares the contract with its last version (`npm run proto:breaking`) and fails if a client of
 * that version would break. The last version is main's. On main it is the previous commit, or HEAD
 * if the folder has uncommitted changes.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram, tryProgram } from "./run-program.ts";
import { thirdPartyFolder } from "./third-party-protos.ts";

const root = join(import.meta.dirname, "..");

const base = lastVersion();
if (base === null) {
  console.log(
    "proto:breaking: there is no earlier version of the contract here to compare with; nothing was checked",
  );
} else {
  process.exitCode = compareWith(base) ? 0 : 1;
}

/** Returns the commit to compare with, or `null` if none has the contract. */
function lastVersion(): string | null {
  const head = commit("HEAD");
  if (head === null) return null;
  const dirty = git("status", "--porcelain", "--", "proto") !== "";
  const main = commit("refs/remotes/origin/main") ?? commit("refs/heads/main");
  const shared = main === null ? null : git("merge-base", head, main);
  const found = shared !== null && shared !== head ? shared : dirty ? head : commit("HEAD^");
  return found !== null && git("cat-file", "-t", `${found}:proto`) === "tree" ? found : null;
}

/** Returns true if buf finds no change that breaks a client of `base`. Prints buf's findings. */
function compareWith(base: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), "proto-breaking-"));
  try {
    const archive = join(folder, "proto.tar");
    writeFileSync(archive, runProgram(root, "git", ["archive", "--format=tar", base, "proto"]));
    const before = join(folder, "before");
    mkdirSync(before);
    runProgram(root, "tar", ["-xf", archive, "-C", before]);
    // Both sides use the same imports and settings, so only our own protos are compared.
    cpSync(join(root, thirdPartyFolder), join(before, thirdPartyFolder), { recursive: true });
    cpSync(join(root, "buf.yaml"), join(before, "buf.yaml"));
    const { status, stdout, stderr } = tryProgram(root, "buf", ["breaking", "--against", before]);
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    console.log(
      `proto:breaking: ${status === 0 ? "no client breaks" : "clients break"}, compared with ${base.slice(0, 12)}`,
    );
    return status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function commit(name: string): string | null {
  return git("rev-parse", "--verify", "--quiet", `${name}^{commit}`);
}

/** Returns git's output, or `null` if git fails: no repository, no such commit. */
function git(...args: string[]): string | null {
  const { status, stdout } = tryProgram(root, "git", args);
  return status === 0 ? stdout.toString("utf8").trim() : null;
}
