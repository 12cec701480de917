/**
 * Compares the contract with its last version (`npm run proto:breaking`) and fails if a client of
 * that version would break. The last version is main's. On main it is the previous commit, or HEAD
 * if the folder has uncommitted changes. An intended break of the admin contract is recorded in
 * `intended-breaks.txt` in the folder of its protos. A break of the public contract always fails.
 * The first value of a language's option (`go_package`) breaks nobody.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram, tryProgram } from "./run-program.ts";
import { thirdPartyFolder } from "./third-party-protos.ts";

const root = join(import.meta.dirname, "..");

/** The contract that may change before the first release, and its recorded breaks. */
const adminContract = "billing/admin/v1/";
const intendedBreaks = `proto/${adminContract}intended-breaks.txt`;

/**
 * Files without `go_package` and `java_multiple_files` have no package of Go and one outer class of
 * Java, which no client can be built on. Their first value breaks nobody, any later one does.
 */
const firstOption = new RegExp(
  '^File option "(?:(?:csharp_namespace|go_package|java_package)" changed from "" to ' +
    '|java_multiple_files" changed from "false" to )',
);

const base = lastVersion();
if (base === null) {
  console.log(
    "proto:breaking: there is no earlier version of the contract here; nothing was checked",
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

/** Returns true if no unrecorded change breaks a client of `base`. Prints buf's findings. */
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
    const args = ["breaking", "--against", before, "--error-format", "json"];
    const { status, stdout, stderr } = tryProgram(root, "buf", args);
    process.stderr.write(stderr);
    const findings = readFindings(stdout.toString("utf8"));
    const isFailed = status !== 0 && findings.length === 0;
    const breaks = findings.filter((finding) => !isIntended(finding));
    for (const finding of findings) {
      const isBreak = breaks.includes(finding);
      console.log(`${isBreak ? "" : "intended: "}${finding.place}: ${finding.message}`);
    }
    const result = isFailed || breaks.length > 0 ? "clients break" : "no client breaks";
    console.log(`proto:breaking: ${result}, compared with ${base.slice(0, 12)}`);
    return !isFailed && breaks.length === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A break that buf found. */
interface Finding {
  /** File, line and column, or a dash for a file that is gone. */
  readonly place: string;
  readonly message: string;
  readonly isAdmin: boolean;
}

function readFindings(output: string): readonly Finding[] {
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const found = JSON.parse(line) as Record<string, string | number | undefined>;
      const { path, start_line: at, start_column: column } = found;
      const message = String(found.message);
      return {
        place: path === undefined ? "-" : `${path}:${at}:${column}`,
        message,
        // The finding about a deleted file has no path and names the file.
        isAdmin:
          path === undefined
            ? message.includes(`"${adminContract}`)
            : String(path).startsWith(`proto/${adminContract}`),
      };
    });
}

function isIntended({ isAdmin, message }: Finding): boolean {
  if (firstOption.test(message)) return true;
  const path = join(root, intendedBreaks);
  return isAdmin && existsSync(path) && readFileSync(path, "utf8").split("\n").includes(message);
}

function commit(name: string): string | null {
  return git("rev-parse", "--verify", "--quiet", `${name}^{commit}`);
}

/** Returns git's output, or `null` if git fails: no repository, no such commit. */
function git(...args: string[]): string | null {
  const { status, stdout } = tryProgram(root, "git", args);
  return status === 0 ? stdout.toString("utf8").trim() : null;
}
