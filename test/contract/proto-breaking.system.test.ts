/**
 * The breaking check, run in repositories that it has for itself: it fails if a client would break,
 * and only then.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const contract = "proto/billing/v1/subscriptions.proto";
const adminContract = "proto/billing/admin/v1/audit.proto";
const intendedBreaks = "proto/billing/admin/v1/intended-breaks.txt";

/** A repository whose only commit, on main, is the contract as it is here. */
let original = "";
const folders: string[] = [];

beforeAll(async () => {
  original = newFolder();
  for (const path of ["proto", "tools", "buf.yaml", ".proto-deps"]) {
    cpSync(join(root, path), join(original, path), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(original, "node_modules"));
  writeFileSync(join(original, ".gitignore"), "node_modules\n.proto-deps\n");
  await git(original, "init", "--quiet", "--initial-branch=main");
  await commit(original);
});

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "proto-breaking-test-"));
  folders.push(folder);
  return folder;
}

/** A copy of the original repository. */
function repository(): string {
  const folder = newFolder();
  cpSync(original, folder, { recursive: true });
  return folder;
}

/** Changes a file of the contract in the working tree. Fails if there is nothing to change. */
function edit(
  folder: string,
  before: string | RegExp,
  after: string,
  file: string = contract,
): void {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  const changed = text.replace(before, after);
  expect(changed).not.toBe(text);
  writeFileSync(path, changed);
}

interface Ended {
  readonly status: number;
  readonly output: string;
}

/** Runs a program in the folder. The `GIT_*` variables of an outer git would lead it elsewhere. */
function run(folder: string, program: string, args: readonly string[]): Promise<Ended> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")),
  );
  return new Promise((resolve) => {
    execFile(program, args, { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` });
    });
  });
}

async function git(folder: string, ...args: string[]): Promise<void> {
  const { status, output } = await run(folder, "git", args);
  expect(status, output).toBe(0);
}

async function commit(folder: string): Promise<void> {
  const author = [
    "-c",
    "user.name=test",
    "-c",
    "user.email=test@example.com",
    "-c",
    "commit.gpgsign=false",
  ];
  await git(folder, "add", ".");
  await git(folder, ...author, "commit", "--quiet", "--message", "Change the contract");
}

function check(folder: string): Promise<Ended> {
  return run(folder, process.execPath, [join(folder, "tools/proto-breaking.ts")]);
}

/** Records the findings of a check as intended breaks. */
function record(folder: string, output: string): void {
  const messages = [...output.matchAll(/^proto\/\S+: (.*)$/gm)].map(([, message]) => message);
  expect(messages).not.toEqual([]);
  writeFileSync(join(folder, intendedBreaks), `${messages.join("\n")}\n`);
}

/** The field `label` of the message `Subscription`, with its option. */
const label = /\n {2}string label = 18 [^;]*;/;

test.concurrent("a removed field fails and is reported by number and name", async () => {
  const folder = repository();
  edit(folder, label, "");
  const { status, output } = await check(folder);
  expect(status, output).toBe(1);
  expect(output).toContain(contract);
  expect(output).toMatch(
    /Previously present field "18" with name "label" on message "Subscription" was deleted/,
  );
  expect(output).toContain("clients break");
});

test.concurrent("a changed type in main's last commit fails", async () => {
  const folder = repository();
  edit(folder, "\n  bool cancel_at_period_end = 16;", "\n  string cancel_at_period_end = 16;");
  await commit(folder);
  const { status, output } = await check(folder);
  expect(status, output).toBe(1);
  expect(output).toMatch(
    /Field "16" with name "cancel_at_period_end" .*changed type from "bool" to "string"/,
  );
});

test.concurrent("a break in any commit fails, compared with the fork point", async () => {
  const folder = repository();
  await git(folder, "checkout", "--quiet", "-b", "change");
  edit(folder, label, "");
  await commit(folder);
  edit(
    folder,
    "\n  bool cancel_at_period_end = 16;",
    "\n  // Words alone.\n  bool cancel_at_period_end = 16;",
  );
  await commit(folder);
  const { status, output } = await check(folder);
  expect(status, output).toBe(1);
  expect(output).toContain('with name "label"');
});

test.concurrent("a break of the admin contract fails unless it is recorded", async () => {
  const folder = repository();
  edit(folder, "string operator_name = 4;", "string by = 4;", adminContract);
  const unrecorded = await check(folder);
  expect(unrecorded.status, unrecorded.output).toBe(1);
  expect(unrecorded.output).toContain("clients break");
  record(folder, unrecorded.output);
  const { status, output } = await check(folder);
  expect(status, output).toBe(0);
  expect(output).toMatch(/intended: .*changed name from "operator_name" to "by"/);
});

test.concurrent("a break of the public contract fails although it is recorded", async () => {
  const folder = repository();
  edit(folder, label, "");
  record(folder, (await check(folder)).output);
  const { status, output } = await check(folder);
  expect(status, output).toBe(1);
  expect(output).toContain("clients break");
});

test.concurrent("a new field and changed comments break no client", async () => {
  const folder = repository();
  edit(folder, "// A label of your choice.", "// A label.");
  edit(
    folder,
    label,
    (readFileSync(join(folder, contract), "utf8").match(label)?.[0] ?? "").concat(
      "\n  bool added = 90;",
    ),
  );
  const { status, output } = await check(folder);
  expect(status, output).toBe(0);
  expect(output).toContain("no client breaks");
});

test.concurrent("a language's first option breaks no client, a changed one does", async () => {
  const folder = repository();
  const option = (name: string) => new RegExp(`\\noption ${name} = .*;`);
  const names = ["csharp_namespace", "go_package", "java_multiple_files", "java_package"];
  const whole = readFileSync(join(folder, contract), "utf8");
  for (const name of names) edit(folder, option(name), "");
  await commit(folder);
  writeFileSync(join(folder, contract), whole);
  const first = await check(folder);
  expect(first.status, first.output).toBe(0);
  for (const name of names) expect(first.output).toMatch(new RegExp(`intended: .*"${name}"`));
  await commit(folder);
  edit(folder, option("go_package"), '\noption go_package = "elsewhere/v1;v1";');
  const { status, output } = await check(folder);
  expect(status, output).toBe(1);
  expect(output).toContain("clients break");
});

test.concurrent("without an earlier version the check says that it compares nothing", async () => {
  const { status, output } = await check(repository());
  expect(status, output).toBe(0);
  expect(output).toContain("nothing was checked");
});
