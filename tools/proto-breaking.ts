/**
 * Compares the contract with its last version (`npm run proto:breaking`) and fails where a client of that version would
 * break. The last version is main's; on main itself the commit before, or HEAD where the folder has uncommitted changes.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram, tryProgram } from "./run-program.ts";
import { thirdPartyFolder } from "./third-party-protos.ts";

const root = join(import.meta.dirname, "..");

const base = lastVersion();
if (base === null) {
  console.log("proto:breaking: there is no earlier version of the contract here to compare with; nothing was checked");
} else {
  process.exitCode = compareWith(base) ? 0 : 1;
}

/** The commit to compare with, `null` where there is none that has the contract. */
function lastVersion(): string | null {
  const head = commit("HEAD");
  if (head === null) return null;
  const dirty = git("status", "--porcelain", "--", "proto") !== "";
  const main = commit("refs/remotes/origin/main") ?? commit("refs/heads/main");
  const shared = main === null ? null : git("merge-base", head, main);
  const found = shared !== null && shared !== head ? shared : dirty ? head : commit("HEAD^");
  return found !== null && git("cat-file", "-t", `${found}:proto`) === "tree" ? found : null;
}

/** Whether buf finds nothing that breaks a client of `base`; prints what it finds. */
function compareWith(base: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), "proto-breaking-"));
  try {
    const archive = join(folder, "proto.tar");
    writeFileSync(archive, runProgram(root, "git", ["archive", "--format=tar", base, "proto"]));
    const before = join(folder, "before");
    mkdirSync(before);
    runProgram(root, "tar", ["-xf", archive, "-C", before]);
    // Both sides read the same imports and settings: only our own protos are compared.
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

/** What git prints, `null` where it fails: no repository, no such commit. */
function git(...args: string[]): string | null {
  const { status, stdout } = tryProgram(root, "git", args);
  return status === 0 ? stdout.toString("utf8").trim() : null;
}
