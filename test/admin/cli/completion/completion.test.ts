/** The completion scripts, run by the shells themselves. */
import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { run } from "../calls-fixture.ts";

const { out: bashScript } = await run("completion bash");
const { out: zshScript } = await run("completion zsh");
const hasZsh = spawnSync("zsh", ["--version"]).status === 0;

/** What bash offers for a line whose last word is being typed. */
function offered(...words: string[]): string[] {
  const script = `${bashScript}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _billing; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const answer = execFileSync("bash", ["-c", script, "bash", "billing", ...words], {
    encoding: "utf8",
  });
  return answer.split("\n").filter((word) => word !== "");
}

describe("the script for bash", () => {
  test("is one", () => {
    expect(() => execFileSync("bash", ["-n"], { input: bashScript })).not.toThrow();
  });

  test("offers nouns, their verbs, words at places, options and their words", () => {
    expect(offered("")).toEqual(
      expect.arrayContaining(["organisations", "api-keys", "audit", "completion"]),
    );
    expect(offered("pl")).toEqual(["plans"]);
    expect(offered("plans", "")).toEqual(["create", "list", "get", "update", "set-status"]);
    expect(offered("plans", "create", "--pr")).toEqual(["--price"]);
    expect(offered("plans", "create", "--name", "x", "--type", "")).toContain("stairstep");
    expect(offered("plans", "set-status", "team", "")).toEqual([
      "draft",
      "active",
      "inactive",
      "legacy",
    ]);
    expect(offered("completion", "")).toEqual(["bash", "zsh"]);
    expect(offered("documents", "list", "--state", "")).toEqual(["failed", "waiting", "drift"]);
  });

  test("leaves files to the shell and evaluates nothing of the line", () => {
    expect(offered("plans", "create", "--file", "")).toEqual([]);
    expect(offered("plans", "create", "$(echo broken >&2; exit 1)", "--pr")).toEqual(["--price"]);
  });

  test("makes the program known as billing, wherever it is called", () => {
    const answer = spawnSync("bash", ["-c", `${bashScript}\nbilling plans get --help`], {
      cwd: "/",
      encoding: "utf8",
    });
    expect(answer.stdout).toContain("Show a plan with its tiers and meters.");
  });
});

describe("the script for zsh", () => {
  test("names every verb with what it does, and is one where there is a zsh to ask", () => {
    expect(zshScript).toContain("'set-status:Move a plan: draft to active");
    expect(zshScript).toContain("compdef _billing billing");
    if (hasZsh)
      expect(spawnSync("zsh", ["-n"], { input: zshScript, encoding: "utf8" })).toMatchObject({
        status: 0,
        stderr: "",
      });
  });
});
