/** A catalogue from a file: what is created, changed and left, and what is refused. */
import { expect } from "vitest";
import { run, cliTest as test } from "../../calls-fixture.ts";

const file = `
meters:
  - {code: api-calls, name: API calls}
plans:
  - code: team
    name: Team plan
    type: per_unit
    price: 12.50
    status: active
    meters:
      - {meter: api-calls, type: per_unit, price: 0.0020}
`;
const files = { "catalogue.yaml": file };
const meter = { id: "m", code: "api-calls", name: "API calls", status: 1 };
const plan = {
  ...{ id: "p", code: "team", name: "Team", type: 2, price: "12.5000", status: 1 },
  meters: [{ meter: "m", code: "api-calls", type: 2, price: "0.0020" }],
};
const writesOf = (received: readonly { method: string; request: unknown }[]) =>
  received.filter(({ method }) => !method.startsWith("List"));

test("new objects are created, with exact prices and their status", async ({ server }) => {
  server.answer({ CreatePlan: () => ({ plan }), CreateMeter: () => ({ meter }) });
  const ended = await run("apply -f catalogue.yaml --yes", { env: server.env, files });
  expect([ended.exitCode, ended.out]).toEqual([0, "2 created, 0 changed, 0 as they were.\n"]);
  expect(ended.err).toContain("+ plan team\n    name: Team plan\n");
  expect(writesOf(server.received).map(({ method, request }) => [method, request])).toMatchObject([
    ["CreateMeter", { code: "api-calls" }],
    ["CreatePlan", { code: "team", price: "12.50", meters: [{ price: "0.0020" }] }],
    ["SetPlanStatus", { id: "p", status: "CATALOGUE_STATUS_ACTIVE" }],
  ]);
});

test("only what differs is changed, and a repeat changes nothing", async ({ server }) => {
  let stands = plan;
  server.answer({
    ListMeters: () => ({ data: [meter] }),
    ListPlans: () => ({ data: [stands] }),
    UpdatePlan: () => ({ plan }),
  });
  const ended = await run("apply -f catalogue.yaml --yes", { env: server.env, files });
  expect(ended.err).toBe("~ plan team\n    name: Team → Team plan\n    status: draft → active\n");
  expect(writesOf(server.received).map(({ request }) => request)).toEqual([
    { organisation: server.env.BILLING_ORGANISATION, id: "p", name: "Team plan" },
    expect.objectContaining({ id: "p", status: "CATALOGUE_STATUS_ACTIVE" }),
  ]);
  stands = { ...plan, name: "Team plan", status: 2 };
  const before = server.received.length;
  const again = await run("apply -f catalogue.yaml", { env: server.env, files });
  expect(again).toMatchObject({ exitCode: 0, err: "" });
  expect(writesOf(server.received.slice(before))).toEqual([]);
});

test.for([
  ["apply -f catalogue.yaml --dry-run", 0, "", "Nothing is done: 2 to create"],
  ["apply -f catalogue.yaml", 2, "Use --yes to confirm.", ""],
  ["apply", 2, "--file is required", ""],
  ["apply -f none.yaml", 2, "must have charges, meters or plans", ""],
  ["apply -f section.yaml", 2, "plan is none of charges, meters, plans", ""],
  ["apply -f member.yaml", 2, "plans.0: colour is not a member", ""],
  ["apply -f twice.yaml", 2, "plan a is twice", ""],
  ["apply -f broken.yaml", 2, "is not YAML", ""],
] as const)("%s ends with %i and writes nothing: %s", async ([words, exitCode, err, out], {
  server,
}) => {
  server.answer({});
  const ended = await run(words, {
    env: server.env,
    files: {
      ...files,
      "none.yaml": "text",
      "section.yaml": "plan: []",
      "member.yaml": "plans: [{code: a, colour: red}]",
      "twice.yaml": "plans: [{code: a}, {code: a}]",
      "broken.yaml": "plans: [",
    },
  });
  expect([ended.exitCode, ended.err]).toEqual([exitCode, expect.stringContaining(err)]);
  expect(ended.out).toContain(out);
  expect(writesOf(server.received)).toEqual([]);
});

test("a member that cannot change is refused before anything is done", async ({ server }) => {
  server.answer({ ListPlans: () => ({ data: [{ ...plan, type: 1 }] }) });
  const ended = await run("apply -f catalogue.yaml --yes", { env: server.env, files });
  expect([ended.exitCode, ended.err]).toEqual([
    2,
    "The type of the plan team cannot change from flat_fee to per_unit: use another code\n",
  ]);
  expect(writesOf(server.received)).toEqual([]);
});
