/** The formats of the output for other programs: JSON, YAML and CSV. */
import { describe, expect } from "vitest";
import { parse } from "yaml";
import { version } from "../../../../src/version.ts";
import { organisation, refuse, run, cliTest as test } from "../calls-fixture.ts";

const id = "0199a0b2-2222-7000-8000-000000000001";

const plans = [
  { id, code: "team", name: 'Team, "large"', price: "12.5000", currency: "NZD" },
  { id: organisation, code: "=1+1", name: "Line\nbreak \u202eesrever", price: "0.1000" },
];

test.beforeEach(({ server }) => server.answer({ ListPlans: () => ({ data: plans }) }));

describe("-o", () => {
  test("json is the same as --json, also for errors", async ({ server }) => {
    const { env } = server;
    const { out } = await run("plans list --json", { env });
    for (const words of ["-o json", "-ojson", "--output json", "--output=json"])
      expect((await run(`plans list ${words}`, { env })).out).toBe(out);
    server.answer({ ListPlans: () => refuse("invalid_parameter", "Not today.", "limit") });
    for (const words of ["--json", "-o json", "--output=json"]) {
      const refused = await run(`plans list ${words}`, { env });
      expect(JSON.parse(refused.err).error).toMatchObject({
        code: "invalid_parameter",
        message: "Not today.",
        param: "limit",
      });
    }
  });

  test("yaml has the members of the JSON, and nothing that controls a terminal", async ({
    server,
  }) => {
    const { env } = server;
    const json = JSON.parse((await run("plans list --json", { env })).out);
    const { out } = await run("plans list -o yaml", { env });
    expect(parse(out)).toEqual(json);
    expect(out).not.toMatch(/\u202e/);
    expect(out).toContain("\\u202e");
    // Older parsers would read these texts as a truth value and a date.
    const [first] = plans;
    server.answer({
      ListPlans: () => ({ data: [{ ...first, code: "yes", name: "2026-03-01" }] }),
    });
    const quoted = await run("plans list -o yaml", { env });
    expect(parse(quoted.out, { version: "1.1" }).data[0]).toMatchObject({
      code: "yes",
      name: "2026-03-01",
    });
    server.answer({ ListPlans: () => ({ data: plans }) });
    const one = await run(`plans get ${id} --output yaml`, { env });
    expect(parse(one.out)).toEqual(JSON.parse((await run(`plans get ${id} --json`, { env })).out));
  });

  test("csv has the columns of the table, quoted, and no formula", async ({ server }) => {
    const { out } = await run("plans list -o csv", { env: server.env });
    const [head, first, second, rest] = out.split("\r\n");
    expect(head).toBe("id,code,name,type,price,currency,status,subscriptions");
    expect(first).toMatch(new RegExp(`^${id},team,"Team, ""large""",.*12\\.5000,NZD,`));
    // A cell has one line, as in the table. A spreadsheet reads a text and computes nothing.
    expect(second).toMatch(/,'=1\+1,Line break \ufffdesrever,/);
    expect(rest).toBe("");
  });

  test("csv says on the error output that there are more rows", async ({ server }) => {
    server.answer({ ListPlans: () => ({ data: plans, hasMore: true }) });
    const { out, err } = await run("plans list -o csv", { env: server.env });
    expect(out).not.toContain("There are more");
    expect(err).toContain(`--starting-after ${organisation}`);
  });

  test("takes no other format", async ({ server }) => {
    const ended = await run("plans list -o xml", { env: server.env });
    expect(ended).toMatchObject({ exitCode: 2, err: expect.stringContaining("yaml") });
    expect(server.received).toEqual([]);
  });
});

test("--version shows the version and calls nothing", async ({ server }) => {
  const ended = await run("--version", { env: server.env });
  expect(ended).toMatchObject({ exitCode: 0, out: `${version}\n` });
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
  expect(server.received).toEqual([]);
});
