/** The code samples of the OpenAPI document are commands and programs that work as they stand. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tryProgram } from "../../tools/run-program.ts";
import { at, document, type Json } from "../contract/answer-check.ts";
import { allow } from "../support/slowness.ts";

const root = join(import.meta.dirname, "../..");

interface Sample {
  readonly name: string;
  readonly lang: string;
  readonly source: string;
  readonly operation: Json;
}

const samples: readonly Sample[] = Object.values(at(document, "paths") ?? {})
  .flatMap((item) => Object.values(item as Json) as Json[])
  .flatMap((operation) =>
    (operation["x-codeSamples"] as { lang: string; source: string }[]).map((sample) => ({
      ...sample,
      name: String(operation.operationId),
      operation,
    })),
  );
const of = (lang: string) => samples.filter((sample) => sample.lang === lang);

// Below the repository, so that the package is found as a platform finds it.
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(root, "node_modules/.code-samples-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("every operation has a sample in each language", () => {
  const names = (lang: string) => of(lang).map(({ name }) => name);
  expect(names("Shell").length).toBeGreaterThan(15);
  for (const lang of ["TypeScript", "Python", "Go"]) expect(names(lang)).toEqual(names("Shell"));
});

test("every sample with the client compiles, and one with a wrong member would not", () => {
  const check = (sources: Readonly<Record<string, string>>) => {
    for (const [name, source] of Object.entries(sources))
      writeFileSync(join(folder, `${name}.ts`), source);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: "../../tsconfig.json",
        compilerOptions: {
          paths: { "@subscription-billing/client": ["../../packages/client/src/index.ts"] },
        },
        include: ["*.ts"],
      }),
    );
    const { status, stdout } = tryProgram(root, "tsc", ["--project", folder]);
    return { status, output: stdout.toString("utf8") };
  };
  const sources = Object.fromEntries(of("TypeScript").map(({ name, source }) => [name, source]));
  expect(check(sources)).toEqual({ status: 0, output: "" });
  const { createSubscription = "" } = sources;
  const wrong = check({ createSubscription: createSubscription.replace("plan_code", "plan") });
  expect(wrong.output).toContain("createSubscription.ts");
  expect(wrong.status).not.toBe(0);
});

test.each(
  of("Shell").map((sample) => [sample.name, sample] as const),
)("the curl sample of %s sends the key, and the example of the body", (_name, {
  source,
  operation,
}) => {
  // The shell reads the sample, and a function prints the words that curl would get.
  const script = `curl() { for word; do printf '%s\\0' "$word"; done; }\n${source}`;
  const { status, stdout } = spawnSync("bash", ["-c", script], {
    encoding: "utf8",
    env: { ...process.env, BILLING_URL: "https://billing.example", BILLING_API_KEY: "sk" },
  });
  expect(status).toBe(0);
  const words = stdout.split("\0").slice(0, -1);
  expect(words[0]).toMatch(/^https:\/\/billing\.example\/v1\/[\w/-]+$/);
  expect(words).toContain("Authorization: Bearer sk");
  const body = at(operation, "requestBody", "content", "application/json");
  const sent = words[words.indexOf("-d") + 1];
  if (body === undefined) return expect(words).not.toContain("-d");
  expect(JSON.parse(sent ?? "")).toEqual(body.example);
});

const env = { ...process.env, BILLING_URL: "https://billing.example", BILLING_API_KEY: "sk" };
const has = (program: string) => spawnSync(program, ["version"]).error === undefined;

/** Runs each program of its input with a package that notes what would be sent. */
const pythonRunner = `
import io, json, sys, types
from contextlib import redirect_stdout

sent = []
answer = types.SimpleNamespace(raise_for_status=lambda: None, json=lambda: None)

def sender(url, headers, json=None, timeout=None):
    sent.append({"url": url, "headers": headers, "json": json})
    return answer

sys.modules["requests"] = types.SimpleNamespace(get=sender, post=sender)
for source in json.load(sys.stdin):
    with redirect_stdout(io.StringIO()):
        exec(source, {})
print(json.dumps(sent))
`;

test.runIf(has("python3"))("every sample in Python sends the key, and the example", () => {
  const all = of("Python");
  const input = JSON.stringify(all.map(({ source }) => source));
  const settings = { encoding: "utf8", env, input } as const;
  const { stdout, stderr } = spawnSync("python3", ["-c", pythonRunner], settings);
  expect(stderr).toBe("");
  const sent: Json[] = JSON.parse(stdout);
  expect(sent).toHaveLength(all.length);
  for (const [index, { url, headers, json }] of sent.entries()) {
    const { name, operation = {} } = all[index] ?? {};
    expect(url).toMatch(/^https:\/\/billing\.example\/v1\/[\w/-]+$/);
    expect(headers).toMatchObject({ Authorization: "Bearer sk" });
    const body = at(operation, "requestBody", "content", "application/json");
    expect([name, json]).toEqual([name, body?.example ?? null]);
  }
});

// Without its cache the compiler first builds the standard library.
test.runIf(has("go"))(
  "every sample in Go compiles and is formatted",
  () => {
    for (const { name, source } of of("Go")) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "main.go"), `${source}\n`);
    }
    writeFileSync(join(folder, "go.mod"), "module samples\n\ngo 1.21\n");
    const { status, stderr } = spawnSync("go", ["vet", "./..."], { cwd: folder, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    expect(spawnSync("gofmt", ["-l", folder], { encoding: "utf8" }).stdout).toBe("");
  },
  allow(120_000),
);
