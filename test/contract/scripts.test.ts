/** Generated code is not committed, so every script that needs it generates it first. */
import { readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { steps } from "../../tools/gen-steps.ts";
import { tryProgram } from "../../tools/run-program.ts";

const root = join(import.meta.dirname, "../..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** `tools/run.js` generates before it imports the program. */
const generatesFirst =
  /^(npm run --silent gen && |node tools\/gen\.ts && |exec node tools\/run\.js )/;

/**
 * What reads generated code or the third-party protos without a program of ours that imports them.
 */
const readers = /(^|&& )(tsc|vitest|buf lint)\b|proto-breaking/;

/**
 * A module that is imported for more than its types, at the start or on the way, or a file that is
 * read.
 */
const imported = new RegExp(
  String.raw`^(?!import type)(?:import|export|} from)[^;]*?"(\.[^"]+)";` +
    String.raw`|(?:import|new URL)\("(\.[^"]+)"(?:, import\.meta\.url)?\)`,
  "gm",
);

/**
 * Every one of our files that `path` imports, directly or not, as it is written: generated files
 * are recognised by their path.
 */
function importsOf(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  if (!statSync(join(root, path), { throwIfNoEntry: false })?.isFile()) return seen;
  for (const [, atStart, onTheWay] of readFileSync(join(root, path), "utf8").matchAll(imported)) {
    importsOf(relative(root, join(root, dirname(path), atStart ?? onTheWay ?? "")), seen);
  }
  return seen;
}

function needsGenerated(command: string): boolean {
  const program = /\bnode (?:tools\/run\.js )?(\S+\.ts)/.exec(command)?.[1];
  if (program !== undefined && [...importsOf(program)].some((path) => path.startsWith("src/gen/")))
    return true;
  return readers.test(command);
}

test("every script that needs generated code generates it first", () => {
  const needing = Object.entries(scripts).filter(
    ([name, command]) => name !== "gen" && needsGenerated(command),
  );
  expect(needing.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      "start",
      "api",
      "worker",
      "types",
      "proto:lint",
      "proto:breaking",
      "test:unit",
      "test",
      "test:tools",
    ]),
  );
  expect(needing.filter(([, command]) => !generatesFirst.test(command))).toEqual([]);
});

test("a script that runs a server becomes it, so that a signal to npm ends the server", () => {
  for (const name of ["start", "api", "worker", "demo-ledger"])
    expect(scripts[name]).toMatch(/^exec node tools\/run\.js \S+$/);
});

test("scripts called by `npm run verify` each generate their own code", () => {
  const callsOf = (command = "") =>
    [...command.matchAll(/npm run --silent (\S+)/g)].map(([, name = ""]) => name);
  expect(callsOf(scripts.verify)).toEqual(["check", "test:unit"]);
  const called = [...callsOf(scripts.check), "test:unit"];
  expect(called).toEqual(["types", "lint", "proto:lint", "proto:breaking", "test:unit"]);
  expect(called.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test("code generation does nothing if no input changed, also after a new installation", () => {
  const stamps = () =>
    readdirSync(join(root, "src/gen/.stamps")).map(
      (name) => statSync(join(root, "src/gen/.stamps", name)).mtimeMs,
    );
  const generate = () => tryProgram(root, "node", ["tools/gen.ts"]);
  // Does nothing either after `npm run gen`, which every script of the tests runs first.
  generate();
  const before = stamps();
  // An installation writes the same content again.
  const installed = join(root, "node_modules/prisma/package.json");
  utimesSync(installed, new Date(), new Date());
  const { status, stdout, stderr } = generate();
  expect({ status, stdout: stdout.toString(), stderr }).toEqual({
    status: 0,
    stdout: "",
    stderr: "",
  });
  expect(stamps()).toEqual(before);
});

test("every source file behind the OpenAPI document is an input of its step", () => {
  const { inputs = [] } = steps.find(({ name }) => name === "OpenAPI document") ?? {};
  const made = [...importsOf("tools/openapi/write.ts")].filter(
    (path) => !path.startsWith("src/gen/"),
  );
  expect(made).toContain("src/domain/events/event.ts");
  const isInput = (path: string) =>
    inputs.some((input) => path === input || path.startsWith(`${input}/`));
  expect(made.filter((path) => !isInput(path))).toEqual([]);
});

test("npm on Node 20 prints no EBADENGINE warnings", () => {
  expect(readFileSync(join(root, ".npmrc"), "utf8")).toMatch(/^loglevel=error$/m);
});

test("a program finds its arguments behind its own path if tools/run.js runs it", () => {
  const program = join(root, "test/contract/print-arguments.ts");
  const { stdout, stderr } = tryProgram(root, "node", ["tools/run.js", program, "--to", "all"]);
  expect({ stdout: JSON.parse(stdout.toString()), stderr }).toEqual({
    stdout: [program, "--to", "all"],
    stderr: "",
  });
});
