/** The exit codes of the command line, as docs/command-line.md lists them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { exitCodes } from "../src/failures.ts";
import { buildProgram } from "../src/program.ts";
import { refuse, run, cliTest as test } from "./calls-fixture.ts";

const id = "0199a0b2-2222-7000-8000-000000000001";

test.beforeEach(({ server }) => server.answer({}));

describe("the exit code", () => {
  test("of each outcome is in the documentation and in the help", () => {
    const manual = readFileSync(join(import.meta.dirname, "../../../docs/command-line.md"), "utf8");
    const table = manual.slice(manual.indexOf("| exit code |")).split("\n\n")[0] ?? "";
    const listed = [...table.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(listed).toEqual(Object.values(exitCodes));
    const help = buildProgram({ ...process, env: {} } as never, () => undefined).description();
    const named = [...help.matchAll(/(?:codes:|,)\s+(\d) /g)].map(([, code]) => Number(code));
    expect(named).toEqual(listed);
  });

  test("0 means done", async ({ server }) => {
    expect(await run("plans list", { env: server.env })).toMatchObject({ exitCode: 0, err: "" });
    expect(await run("plans list --help")).toMatchObject({ exitCode: 0, err: "" });
  });

  test("1 means a refusal, which is on the error output", async ({ server }) => {
    server.answer({
      CreatePlan: () => refuse("invalid_parameter", "price must be a decimal", "price"),
    });
    const ended = await run("plans create --code a --name b --type flat-fee", { env: server.env });
    const err = "invalid_parameter: price must be a decimal (param price, request request-1)\n";
    expect(ended).toMatchObject({ exitCode: 1, out: "", err });
    const json = await run("plans create --code a --name b --type flat-fee --json", {
      env: server.env,
    });
    expect(json.out).toBe("");
    const error = {
      code: "invalid_parameter",
      message: "price must be a decimal",
      param: "price",
      request_id: "request-1",
    };
    expect(JSON.parse(json.err)).toEqual({ error });
  });

  test("3 means that no answer arrived, and says how to repeat a write", async ({ server }) => {
    const env = { ...server.env, BILLING_ADMIN_URL: "http://127.0.0.1:1" };
    const read = await run("plans list", { env });
    expect(read).toMatchObject({
      exitCode: 3,
      err: expect.stringContaining("http://127.0.0.1:1 cannot be reached"),
    });
    expect(read.err).not.toContain("--idempotency-key");
    const write = await run(`customers activate ${id} --idempotency-key mine`, { env });
    expect(write).toMatchObject({
      exitCode: 3,
      err: expect.stringContaining("--idempotency-key mine"),
    });
    const elsewhere = await run("plans list", {
      env: { ...env, BILLING_ADMIN_URL: `${server.env.BILLING_ADMIN_URL}/x` },
    });
    expect(elsewhere).toMatchObject({
      exitCode: 3,
      err: expect.stringContaining("does not answer as"),
    });
  });

  test("1 also means that a successful answer reports a failure", async ({ server }) => {
    server.answer({
      CheckLedgerConnection: () => ({ ok: false, problem: "The secret is wrong." }),
    });
    expect(await run("ledger check", { env: server.env })).toMatchObject({
      exitCode: 1,
      out: expect.stringContaining("The secret is wrong."),
    });
  });

  test("1 also means that a person declined the confirmation", async ({ server }) => {
    const declined = await run(`api-keys revoke ${id}`, { env: server.env, answers: ["n"] });
    expect(declined).toMatchObject({ exitCode: 1, out: "" });
    expect(server.received).toEqual([]);
  });

  test("2 means wrong usage, and nothing is sent", async ({ server }) => {
    for (const words of ["plans get", "plans list --colour red", "plan list"]) {
      expect(await run(words, { env: server.env })).toMatchObject({ exitCode: 2, out: "" });
    }
    expect(server.received).toEqual([]);
  });
});
