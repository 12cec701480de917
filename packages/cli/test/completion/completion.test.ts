/** Completion: the scripts of four shells, and what the program answers to them. */
import { execFileSync, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { run, cliTest as test } from "../calls-fixture.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** What the program answers to a script, by the words of the line. */
async function answerTo(env: Record<string, string>, ...words: string[]): Promise<string[]> {
  const child = spawn(process.execPath, [main, "complete", "--", ...words], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = (await text(child.stdout)).split("\n");
  return lines.filter((line) => /^[^:]/.test(line)).map((line) => line.split("\t")[0] ?? "");
}

test.for([
  "bash",
  "zsh",
  "fish",
  "powershell",
])("the script of %s calls the program", async (shell) => {
  const { out, exitCode } = await run(`completion ${shell}`);
  expect(exitCode).toBe(0);
  expect(out).toMatch(/billing.* complete/);
});

test("another shell is refused with the four", async () => {
  expect(await run("completion tcsh")).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining("zsh, bash, fish, powershell"),
  });
});

test("the script of bash passes the line on, and evaluates no part of it", async () => {
  const { out } = await run("completion bash");
  // The package bash-completion has this function. The program answers with its words.
  const script = `_get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}"); cur="\${words[-1]}"; }
billing() { printf '%s\\n' "$@" >&2; printf -- '--price\\t\\n:4\\n'; }
${out}
COMP_WORDS=(billing plans create '$(echo broken)' --pr)
__billing_complete 2>&1
printf '<%s>\\n' "\${COMPREPLY[@]}"`;
  const lines = execFileSync("bash", ["-c", `exec 2>&1; ${script}`], { encoding: "utf8" });
  expect(lines).toContain("<--price>");
  expect(lines).not.toMatch(/^broken$/m);
});

test("nouns, verbs, flags and words to choose from are completed", async ({ server }) => {
  const { env } = server;
  const [nouns, verbs, flags, types, states] = await Promise.all([
    answerTo(env, "pl"),
    answerTo(env, "plans", ""),
    answerTo(env, "plans", "create", "--pri"),
    answerTo(env, "plans", "create", "--type", "st"),
    answerTo(env, "plans", "set-status", "team", ""),
  ]);
  expect(nouns).toEqual(["plans"]);
  expect(verbs).toEqual(["create", "list", "get", "update", "set-status", "help"]);
  expect(flags).toEqual(["--price"]);
  expect(types).toEqual(["stairstep"]);
  expect(states).toEqual(["draft", "active", "inactive", "legacy"]);
});

test("codes, numbers and ids of the service are completed", async ({ server }) => {
  server.answer({
    ListPlans: () => ({ data: [{ code: "team" }, { code: "cloud" }] }),
    ListCustomers: () => ({ data: [{ code: "ACME" }, { code: "$(reboot)" }, { code: "A B" }] }),
    ListInvoices: () => ({ data: [{ number: "INV-0007" }] }),
    ListSubscriptions: () => ({ data: [{ id: "0199a0b2-6666-7000-8000-000000000001" }] }),
  });
  const { env } = server;
  expect(await answerTo(env, "plans", "get", "te")).toEqual(["team"]);
  expect(await answerTo(env, "invoices", "get", "")).toEqual(["INV-0007"]);
  expect(await answerTo(env, "subscriptions", "units", "0")).toEqual([
    "0199a0b2-6666-7000-8000-000000000001",
  ]);
  // A shell would expand other values when it inserts them.
  expect(await answerTo(env, "invoices", "list", "--customer", "")).toEqual(["ACME"]);
});

test("a service that cannot be asked leaves the line as it is", async () => {
  const env = { BILLING_ADMIN_URL: "http://127.0.0.1:1", BILLING_OPERATOR_TOKEN: "op_x" };
  expect(await answerTo(env, "plans", "get", "te")).toEqual([]);
  expect(await answerTo({}, "plans", "get", "te")).toEqual([]);
});
