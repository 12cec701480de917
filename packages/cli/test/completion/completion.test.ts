/** The completion scripts, run by the shells. */
import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { run } from "../calls-fixture.ts";

const { out: bashScript } = await run("completion bash");
const { out: zshScript } = await run("completion zsh");
const hasZsh = spawnSync("zsh", ["--version"]).status === 0;

/** The completions of bash for the last word of a line. */
function completionsOf(...words: string[]): string[] {
  const script = `${bashScript}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _billing; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const answer = execFileSync("bash", ["-c", script, "bash", "billing", ...words], {
    encoding: "utf8",
  });
  return answer.split("\n").filter((word) => word !== "");
}

describe("the script for bash", () => {
  test("has valid syntax", () => {
    expect(() => execFileSync("bash", ["-n"], { input: bashScript })).not.toThrow();
  });

  test("completes nouns, verbs, arguments, options and their values", () => {
    expect(completionsOf("")).toEqual(
      expect.arrayContaining(["organisations", "api-keys", "audit", "completion"]),
    );
    expect(completionsOf("pl")).toEqual(["plans"]);
    expect(completionsOf("plans", "")).toEqual(["create", "list", "get", "update", "set-status"]);
    expect(completionsOf("plans", "create", "--pr")).toEqual(["--price"]);
    expect(completionsOf("plans", "create", "--name", "x", "--type", "")).toContain("stairstep");
    expect(completionsOf("plans", "set-status", "team", "")).toEqual([
      "draft",
      "active",
      "inactive",
      "legacy",
    ]);
    expect(completionsOf("completion", "")).toEqual(["bash", "zsh"]);
    expect(completionsOf("documents", "list", "--state", "")).toEqual([
      "failed",
      "waiting",
      "drift",
    ]);
  });

  test("leaves files to the shell, and evaluates no part of the line", () => {
    expect(completionsOf("plans", "create", "--file", "")).toEqual([]);
    expect(completionsOf("plans", "create", "$(echo broken >&2; exit 1)", "--pr")).toEqual([
      "--price",
    ]);
  });

  test("defines the program as billing, in any folder", () => {
    const answer = spawnSync("bash", ["-c", `${bashScript}\nbilling plans get --help`], {
      cwd: "/",
      encoding: "utf8",
    });
    expect(answer.stdout).toContain("Show a plan with its tiers and meters.");
  });
});

describe("the script for zsh", () => {
  test("describes every verb, and has valid syntax if zsh is installed", () => {
    expect(zshScript).toContain("'set-status:Move a plan: draft to active");
    expect(zshScript).toContain("compdef _billing billing");
    if (hasZsh)
      expect(spawnSync("zsh", ["-n"], { input: zshScript, encoding: "utf8" })).toMatchObject({
        status: 0,
        stderr: "",
      });
  });
});
