/** The request that a command sends: options, files, codes, secrets and the Idempotency-Key. */
import { describe, expect } from "vitest";
import { organisation, run, cliTest as test } from "./calls-fixture.ts";

const id = "0199a0b2-2222-7000-8000-000000000001";

test.beforeEach(({ server }) => server.answer({}));

describe("the request", () => {
  test("has the members of the options, with words for enums, numbers and lists", async ({
    server,
  }) => {
    const words = [
      "plans",
      "create",
      "--code",
      "team",
      "--name",
      "Team",
      "--type",
      "per-unit",
      "--free-units",
      "2",
    ];
    const ended = await run([...words, "--price", "12.50", "--allows-price-override"], {
      env: server.env,
    });
    expect(ended.exitCode, ended.err).toBe(0);
    const members = {
      code: "team",
      name: "Team",
      type: "PLAN_TYPE_PER_UNIT",
      free_units: 2,
      price: "12.50",
    };
    expect(server.received[0]?.request).toEqual({
      organisation,
      ...members,
      allows_price_override: true,
    });
    await run(
      "api-keys create --name Shop --scopes invoices:read,usage:write --scopes customers:read",
      {
        env: server.env,
      },
    );
    const scopes = ["invoices:read", "usage:write", "customers:read"];
    expect(server.received[1]?.request).toEqual({ organisation, name: "Shop", scopes });
  });

  test("comes from a file or the standard input, and options override it", async ({ server }) => {
    const plan = {
      code: "growth",
      name: "Growth",
      type: "tiered",
      tiers: [{ up_to: 5, unit_price: "7" }, { unit_price: "6" }],
    };
    const files = { "growth.json": JSON.stringify(plan), "-": JSON.stringify(plan) };
    await run("plans create --file growth.json --code more", { env: server.env, files });
    expect(server.received[0]?.request).toEqual({
      organisation,
      ...plan,
      code: "more",
      type: "PLAN_TYPE_TIERED",
    });
    await run("plans create --file -", { env: server.env, files });
    expect(server.received[1]?.request).toMatchObject({ code: "growth" });
  });

  test("has meters with one price from options and meters with tiers from a file", async ({
    server,
  }) => {
    const priced = [
      { meter: "api-calls", type: "PLAN_TYPE_PER_UNIT", price: "0.002" },
      { meter: "a=b", type: "PLAN_TYPE_PER_UNIT", price: "0.10" },
    ];
    const words = "plans create --code cloud --name Cloud --type flat-fee --price 49";
    await run(`${words} --meter api-calls=0.002 --meter a=b=0.10`, { env: server.env });
    expect(server.received[0]?.request).toMatchObject({ code: "cloud", meters: priced });
    const meters = [
      {
        meter: "api-calls",
        type: "tiered",
        tiers: [{ up_to: 1000, unit_price: "0" }, { unit_price: "1" }],
      },
    ];
    const files = {
      "meters.json": JSON.stringify({ meters }),
      "others.json": JSON.stringify({ meters: { meters } }),
    };
    await run(`${words} --file meters.json`, { env: server.env, files });
    expect(server.received[1]?.request).toMatchObject({
      meters: [{ ...meters[0], type: "PLAN_TYPE_TIERED" }],
    });
    await run(`plans update ${id} --file others.json`, { env: server.env, files });
    expect(server.received[2]?.request).toMatchObject({
      meters: { meters: [{ type: "PLAN_TYPE_TIERED" }] },
    });
    await run(`plans update ${id} --file others.json --meter api-calls=0.002 a=b=0.10`, {
      env: server.env,
      files,
    });
    expect(server.received[3]?.request).toEqual({ organisation, id, meters: { meters: priced } });
    await run(`plans update ${id} --name Cloudy`, { env: server.env });
    expect(server.received[4]?.request).toEqual({ organisation, id, name: "Cloudy" });
  });

  test.for([
    ["plans create --type cubic", "Allowed choices are"],
    ["plans create --meter api-calls", "--meter takes a meter and its price"],
    ["plans update team --meter =1", "--meter takes a meter and its price"],
    ["plans update team --meter api-calls=", "--meter takes a meter and its price"],
    ["plans create --free-units few", "whole number"],
    ["plans get", "missing required argument"],
    ["plans get team more", "too many arguments"],
    ["plans list --colour red", "unknown option"],
    ["plan list", "unknown command"],
    ["plans", "Usage"],
    ["organisations create --file wrong.json", "colour is not a member"],
    ["organisations create --file broken.json", "must contain a JSON object"],
    ["organisations create --file empty.json", "empty.json is empty"],
    ["organisations create --file list.json", "must contain a JSON object"],
    ["organisations setup-mode x maybe", "on, off"],
    ["customers import", "--contact or --file is required"],
    ["plans list --url nowhere", "is not an address"],
    ["plans list --url http://a:s3cr3t@host", "…@host: the address must have no user name"],
    ["plans list --url http//a:s3cr3t@host", "…@host is not an address"],
  ] as const)("is refused as wrong usage by: %s", async ([words, reason], { server }) => {
    const files = { "wrong.json": '{"colour":"red"}', "broken.json": "{", "list.json": "[]" };
    const ended = await run(words, { env: server.env, files });
    expect(ended.exitCode).toBe(2);
    expect(ended.err).toContain(reason);
    expect(ended.err).not.toContain("s3cr3t");
    expect(ended.out).toBe("");
    expect(server.received).toEqual([]);
  });

  test("needs an organisation and a token", async ({ server }) => {
    const { BILLING_ADMIN_URL, BILLING_OPERATOR_TOKEN } = server.env;
    const withoutOrganisation = await run("plans list", {
      env: { BILLING_ADMIN_URL, BILLING_OPERATOR_TOKEN } as never,
    });
    expect(withoutOrganisation).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("BILLING_ORGANISATION"),
    });
    const withoutToken = await run("operators whoami", { env: { BILLING_ADMIN_URL } as never });
    expect(withoutToken).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining("billing login"),
    });
    const files = { token: "op_of_a_file\n" };
    await run("operators whoami --token-file token", { env: server.env, files });
    expect(server.received[0]?.headers.get("authorization")).toBe("Bearer op_of_a_file");
  });

  test("accepts codes of plans, meters, charges and customers instead of ids", async ({
    server,
  }) => {
    server.answer({
      ListPlans: (request) => ({
        data: "code" in request && request.code === "team" ? [{ id }] : [],
      }),
    });
    await run("plans set-status team active", { env: server.env });
    expect(server.received.at(-1)?.request).toEqual({
      organisation,
      id,
      status: "CATALOGUE_STATUS_ACTIVE",
    });
    server.answer({ ListMeters: () => ({ data: [{ id }] }) });
    await run("meters set-status api-calls inactive", { env: server.env });
    expect(server.received.at(-1)?.request).toEqual({
      organisation,
      id,
      status: "METER_STATUS_INACTIVE",
    });
    const unknown = await run("mapping set --plan tame --revenue-account 200", { env: server.env });
    expect(unknown).toMatchObject({
      exitCode: 1,
      err: "plan_not_found: There is no plan with the code tame.\n",
    });
  });

  test("has an Idempotency-Key if it writes, a new one by default", async ({ server }) => {
    await run(`customers activate ${id}`, { env: server.env });
    await run(`customers activate ${id}`, { env: server.env });
    await run(`customers activate ${id} --idempotency-key mine`, { env: server.env });
    await run("customers list", { env: server.env });
    const keys = server.received.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys[0]).not.toBe(keys[1]);
    expect(keys[0]).toMatch(/.{20}/);
    expect(keys.slice(2)).toEqual(["mine", null]);
  });
});

describe("the secret of a ledger", () => {
  const words = "ledger connect --kind xero --tenant-id t --client-id c";

  test("comes from a file, the standard input or a hidden prompt", async ({ server }) => {
    const files = { secret: "from a file\n", "-": "from the input\n" };
    await run(`${words} --client-secret-file secret`, { env: server.env, files });
    await run(`${words} --client-secret-file -`, { env: server.env, files });
    const prompted = await run(words, { env: server.env, answers: ["typed"] });
    expect(prompted.questions).toEqual(["The client secret (not shown): "]);
    const secrets = server.received.map(
      ({ request }) => (request as { client_secret: string }).client_secret,
    );
    expect(secrets).toEqual(["from a file", "from the input", "typed"]);
  });

  test("is never an argument, and missing without a terminal", async ({ server }) => {
    expect((await run(`${words} --client-secret hidden`, { env: server.env })).exitCode).toBe(2);
    const ended = await run(words, { env: server.env });
    expect(ended).toMatchObject({ exitCode: 2, err: "Missing: --client-secret-file\n" });
    const silent = await run(words, { env: server.env, answers: [""] });
    expect(silent).toMatchObject({ exitCode: 2, err: "The client secret is empty\n" });
    expect(server.received).toEqual([]);
  });
});
