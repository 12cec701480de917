/** Profiles: who can read them, what wins over them, and where their token goes. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { cliTest, refuse, run } from "../calls-fixture.ts";

const test = cliTest.extend("folder", async ({ task: _task }, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), "profiles-"));
  onCleanup(() => rmSync(folder, { recursive: true }));
  return folder;
});

const operator = { GetCurrentOperator: () => ({ operator: { name: "Ada", role: 3 } }) };
const fileIn = (folder: string) => join(folder, "subscription-billing", "profiles.json");

test("a login keeps address, token and organisation for its owner alone", async ({
  server,
  folder,
}) => {
  server.answer(operator);
  const env = { XDG_CONFIG_HOME: folder };
  const url = server.env.BILLING_ADMIN_URL ?? "";
  const login = `login --url ${url} --organisation 0199a0b2-0000-7000-8000-000000000002`;
  const ended = await run(login, { env, files: { "-": "op_of_the_profile\n" } });
  expect(ended).toMatchObject({ exitCode: 0, err: "" });
  expect(ended.out).toContain(`Signed in to ${url} as Ada, owner.`);
  expect(ended.out).not.toContain("op_of_the_profile");
  expect(statSync(fileIn(folder)).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "subscription-billing")).mode & 0o777).toBe(0o700);
  await run("plans list", { env });
  const sent = server.received.at(-1);
  expect(sent?.headers.get("authorization")).toBe("Bearer op_of_the_profile");
  expect(sent?.request).toMatchObject({ organisation: "0199a0b2-0000-7000-8000-000000000002" });
  await run("plans list", { env: { ...env, ...server.env } });
  expect(server.received.at(-1)?.headers.get("authorization")).toBe("Bearer op_test");
  expect((await run("logout", { env })).out).toContain("The profile default is removed.");
  expect(await run("plans list", { env })).toMatchObject({ exitCode: 2 });
});

test("profiles are named, and a prompt does not show the token", async ({ server, folder }) => {
  server.answer(operator);
  const env = { XDG_CONFIG_HOME: folder };
  const url = server.env.BILLING_ADMIN_URL ?? "";
  const { questions } = await run(`login --profile test --url ${url}`, { env, answers: ["op_t"] });
  expect(questions).toEqual([`The operator's token for ${url} (not shown): `]);
  for (const [words, more] of [
    ["whoami --profile test", {}],
    ["whoami", { BILLING_PROFILE: "test" }],
  ] as const)
    expect((await run(words, { env: { ...env, ...more } })).out).toMatch(/^You are Ada, owner/);
  const unknown = await run("whoami --profile other", { env });
  expect([unknown.exitCode, unknown.err]).toEqual([
    2,
    "There is no profile other: billing login --profile other\n",
  ]);
});

test("the token of a profile is sent to its address only", async ({ server, folder }) => {
  server.answer(operator);
  const env = { XDG_CONFIG_HOME: folder };
  await run(`login --url ${server.env.BILLING_ADMIN_URL}`, { env, files: { "-": "op_p" } });
  server.answer(operator);
  const elsewhere = await run("whoami --url http://127.0.0.1:1", { env });
  expect([elsewhere.exitCode, elsewhere.err]).toEqual([
    2,
    expect.stringContaining("billing login"),
  ]);
  expect(server.received).toEqual([]);
});

test("a token that the service refuses is not kept", async ({ server, folder }) => {
  server.answer({ GetCurrentOperator: () => refuse("unauthenticated", "No such token.") });
  const env = { XDG_CONFIG_HOME: folder };
  const words = `login --url ${server.env.BILLING_ADMIN_URL}`;
  expect(await run(words, { env, files: { "-": "op_no" } })).toMatchObject({ exitCode: 1 });
  expect(() => readFileSync(fileIn(folder))).toThrow();
});

test("profiles that others can read are refused", async ({ server, folder }) => {
  server.answer(operator);
  const env = { XDG_CONFIG_HOME: folder };
  await run(`login --url ${server.env.BILLING_ADMIN_URL}`, { env, files: { "-": "op_p" } });
  chmodSync(fileIn(folder), 0o644);
  expect(await run("whoami", { env })).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining("chmod 600"),
  });
});
