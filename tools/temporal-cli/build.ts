/**
 * Program: builds the Temporal CLI that `go.mod` pins, from the Go module proxy, as `temporal` in
 * the empty folder of the argument. Without an argument it only checks that Go can build it. The
 * embedded start runs it if it finds no program and the SDK's download fails.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** `go env` answers within milliseconds. */
const versionLimitMs = 15_000;

const [folder] = process.argv.slice(2);
const goMod = join(import.meta.dirname, "go.mod");
const problem = goProblem(/^go (\d+)\.(\d+)$/m.exec(readFileSync(goMod, "utf8")) ?? []);
if (problem !== null) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
} else if (folder !== undefined) build(folder);

/** Returns why this machine's Go cannot build the release, or null if it can. */
function goProblem([, oldestMajor = "0", oldestMinor = "0"]: readonly string[]): string | null {
  const { error, stdout } = spawnSync("go", ["env", "GOVERSION"], {
    cwd: folder,
    encoding: "utf8",
    timeout: versionLimitMs,
  });
  if (error !== undefined) {
    const isMissing = "code" in error && error.code === "ENOENT";
    return isMissing ? "Go is not installed" : `Go does not run: ${error.message}`;
  }
  const [, major = "0", minor = "0"] = /go(\d+)\.(\d+)/.exec(stdout) ?? [];
  const isOld =
    Number(major) < Number(oldestMajor) ||
    (major === oldestMajor && Number(minor) < Number(oldestMinor));
  return isOld ? `Go ${major}.${minor} is too old` : null;
}

/** Replaces this process by the build, so that the signal that ends this one ends the build. */
function build(into: string): void {
  // A copy, because Go completes the file. A workspace of the caller must not take part.
  copyFileSync(goMod, join(into, "go.mod"));
  process.chdir(into);
  const flags = ["-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", "temporal"];
  const command = ["env", "go", "build", ...flags, "github.com/temporalio/cli/cmd/temporal"];
  if (process.execve === undefined) throw new Error("this Node cannot replace its process");
  process.execve("/usr/bin/env", command, { ...process.env, GOWORK: "off" });
}
