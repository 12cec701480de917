/** Commands that cannot be undone ask for confirmation. */
import { describe, expect } from "vitest";
import { run, cliTest as test } from "./calls-fixture.ts";

const id = "0199a0b2-4444-7000-8000-000000000001";

test.beforeEach(({ server }) => server.answer({}));

const irreversible = [
  `api-keys revoke ${id}`,
  `operator-tokens revoke ${id}`,
  `plans set-status ${id} inactive`,
  `charges set-status ${id} inactive`,
  `organisations setup-mode ${id} on`,
  "usage void evt-7 --reason twice",
];

describe.each(irreversible)("%s", (words) => {
  test("is refused without a terminal, unless --yes is set", async ({ server }) => {
    const refused = await run(words, { env: server.env });
    expect(refused).toMatchObject({ exitCode: 2, err: expect.stringContaining("--yes") });
    expect(server.received).toEqual([]);
    expect((await run(`${words} --yes`, { env: server.env })).exitCode).toBe(0);
    expect(server.received).toHaveLength(1);
  });

  test("runs only after a yes", async ({ server }) => {
    for (const answer of ["", "n", "yesterday"]) {
      const declined = await run(words, { env: server.env, answers: [answer] });
      expect(declined).toMatchObject({ exitCode: 1, err: "not_confirmed: Nothing was changed.\n" });
    }
    expect(server.received).toEqual([]);
    const agreed = await run(words, { env: server.env, answers: ["y"] });
    expect(agreed.exitCode).toBe(0);
    expect(agreed.questions).toHaveLength(1);
  });
});

test("a command that can be undone asks for no confirmation", async ({ server }) => {
  for (const words of [
    `plans set-status ${id} legacy`,
    `organisations setup-mode ${id} off`,
    `customers deactivate ${id}`,
  ]) {
    expect((await run(words, { env: server.env })).exitCode).toBe(0);
  }
});
