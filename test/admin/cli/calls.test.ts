/** What a call sends, shows and ends with. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  DocumentKind,
  DocumentOperation,
  DocumentState,
} from "../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { OperatorRole } from "../../../src/gen/proto/billing/admin/v1/operators_pb.ts";
import { UsageState } from "../../../src/gen/proto/billing/admin/v1/usage_pb.ts";
import { CatalogueStatus } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import { type AdminServer, organisation, refuse, run, startAdminServer } from "./calls-fixture.ts";

const id = "0199a0b2-2222-7000-8000-000000000001";

let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer();
});
afterAll(() => server.stop());
beforeEach(() => server.answer({}));

describe("the request", () => {
  test("is made of options, with words for enums, numbers and lists", async () => {
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
    const given = {
      code: "team",
      name: "Team",
      type: "PLAN_TYPE_PER_UNIT",
      free_units: 2,
      price: "12.50",
    };
    expect(server.received[0]?.request).toEqual({
      organisation,
      ...given,
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

  test("comes from a file or the standard input, and options win over it", async () => {
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

  test("gives meters of one price by options, those with tiers by a file, and replaces all of a plan's by an update", async () => {
    const priced = [
      { meter: "api-calls", type: "METER_TYPE_PER_UNIT", price: "0.002" },
      { meter: "a=b", type: "METER_TYPE_PER_UNIT", price: "0.10" },
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
      meters: [{ ...meters[0], type: "METER_TYPE_TIERED" }],
    });
    await run(`plans update ${id} --file others.json`, { env: server.env, files });
    expect(server.received[2]?.request).toMatchObject({
      meters: { meters: [{ type: "METER_TYPE_TIERED" }] },
    });
    await run(`plans update ${id} --file others.json --meter api-calls=0.002 a=b=0.10`, {
      env: server.env,
      files,
    });
    expect(server.received[3]?.request).toEqual({ organisation, id, meters: { meters: priced } });
    await run(`plans update ${id} --name Cloudy`, { env: server.env });
    expect(server.received[4]?.request).toEqual({ organisation, id, name: "Cloudy" });
  });

  test.each([
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
    ["organisations create --file broken.json", "is no JSON"],
    ["organisations create --file list.json", "must hold a JSON object"],
    ["organisations setup-mode x maybe", "on, off"],
    ["customers import", "Give --contact or --file"],
    ["plans list --url nowhere", "is no address"],
  ])("is wrongly used by: %s", async (words, told) => {
    const files = { "wrong.json": '{"colour":"red"}', "broken.json": "{", "list.json": "[]" };
    const ended = await run(words, { env: server.env, files });
    expect(ended.exitCode).toBe(2);
    expect(ended.err).toContain(told);
    expect(ended.out).toBe("");
    expect(server.received).toEqual([]);
  });

  test("needs an organisation and a token from somewhere", async () => {
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
      err: expect.stringContaining("--token-file"),
    });
    const files = { token: "op_of_a_file\n" };
    await run("operators whoami --token-file token", { env: server.env, files });
    expect(server.received[0]?.headers.get("authorization")).toBe("Bearer op_of_a_file");
  });

  test("names plans, meters, charges and customers by code where an id is needed", async () => {
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

  test("carries an Idempotency-Key where it writes: a new one for each call, or the one that is given", async () => {
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

  test("comes from a file, the standard input or a question that does not show it", async () => {
    const files = { secret: "from a file\n", "-": "from the input\n" };
    await run(`${words} --client-secret-file secret`, { env: server.env, files });
    await run(`${words} --client-secret-file -`, { env: server.env, files });
    const asked = await run(words, { env: server.env, answers: ["typed"] });
    expect(asked.questions).toEqual(["The client secret (not shown): "]);
    const secrets = server.received.map(
      ({ request }) => (request as { client_secret: string }).client_secret,
    );
    expect(secrets).toEqual(["from a file", "from the input", "typed"]);
  });

  test("is never an argument, and missing where nobody can be asked", async () => {
    expect((await run(`${words} --client-secret hidden`, { env: server.env })).exitCode).toBe(2);
    const ended = await run(words, { env: server.env });
    expect(ended).toMatchObject({ exitCode: 2, err: "Give --client-secret-file\n" });
    const silent = await run(words, { env: server.env, answers: [""] });
    expect(silent).toMatchObject({ exitCode: 2, err: "No client secret was given\n" });
    expect(server.received).toEqual([]);
  });
});

describe("the answer", () => {
  test("is a table for people and the response for programs", async () => {
    const plan = {
      id,
      code: "team",
      name: "Team",
      price: "12.5000",
      currency: "NZD",
      status: CatalogueStatus.LEGACY,
    };
    server.answer({
      ListPlans: () => ({ data: [plan] }),
      GetPlan: () => ({ plan: { ...plan, unitLabels: { singular: "seat", plural: "seats" } } }),
    });
    const table = await run("plans list", { env: server.env });
    expect(table.out.split("\n")[0]).toMatch(
      /^id +code +name +type +price +currency +status +subscriptions$/,
    );
    expect(table.out.split("\n")[1]).toMatch(
      new RegExp(`^${id} +team +Team .*12\\.5000 +NZD +legacy +0$`),
    );
    const json = JSON.parse((await run("plans list --json", { env: server.env })).out);
    expect(json).toMatchObject({
      data: [{ id, code: "team", status: "legacy", tiers: [] }],
      has_more: false,
    });
    const one = await run(`plans get ${id}`, { env: server.env });
    expect(one.out).toMatch(/^unit labels singular +seat$/m);
    expect(JSON.parse((await run(`plans get ${id} --json`, { env: server.env })).out).code).toBe(
      "team",
    );
    server.answer({});
    expect((await run("plans list", { env: server.env })).out).toBe("None.\n");
  });

  test("of documents says of what kind each is, and what of it failed", async () => {
    const document = {
      id,
      kind: DocumentKind.CREDIT_NOTE,
      number: "CN-0001",
      state: DocumentState.FAILED,
      operation: DocumentOperation.ALLOCATION,
      invoice: organisation,
      message: "Not today.",
    };
    server.answer({
      ListDocuments: () => ({ data: [document] }),
      RetryDocument: () => ({ document }),
    });
    const { out } = await run("documents list", { env: server.env });
    expect(out).toMatch(/^id +kind +number +operation +state /);
    expect(out).toMatch(
      new RegExp(`${id} +credit_note +CN-0001 +allocation +failed .*Not today\\.`),
    );
    const retried = await run(`documents retry ${id} --json`, { env: server.env });
    expect(JSON.parse(retried.out)).toMatchObject({
      kind: "credit_note",
      operation: "allocation",
      invoice: organisation,
    });
  });

  test("of usage says how much there is of which meter and period, and what bills it", async () => {
    const row = {
      period: { index: 3, start: "2026-04-01", end: "2026-05-01" },
      meter: { id, code: "api-calls", name: "API calls" },
      state: UsageState.BILLED,
      events: 12n,
      quantity: "7.5000",
      late: true,
      amount: "3.7500",
    };
    const data = [
      { ...row, id: "2", amount: "-1.0000", creditNote: { id, number: "CN-0001" } },
      { ...row, id: "1", invoice: { id, number: "INV-0007" } },
    ];
    server.answer({
      ListUsage: () => ({ data, hasMore: true }),
      ListMeters: () => ({ data: [{ id }] }),
    });
    const listed = await run(`usage list ${organisation} --meter api-calls`, { env: server.env });
    expect(server.received.at(-1)?.request).toEqual({
      organisation,
      subscription: organisation,
      meter: id,
    });
    const [, credited, billed] = listed.out.split("\n");
    expect(billed).toMatch(
      /^3 +2026-04-01 +2026-05-01 +api-calls +billed +12 +7\.5000 +yes +3\.7500 +INV-0007$/,
    );
    expect(credited).toMatch(/ -1\.0000 +CN-0001$/);
    expect(listed.err).toContain("--starting-after 1");
    const { data: rows } = JSON.parse(
      (await run(`usage list ${organisation} --json`, { env: server.env })).out,
    );
    expect(rows[1]).toMatchObject({
      state: "billed",
      events: "12",
      invoice: { number: "INV-0007" },
    });
  });

  test("cannot steer the terminal", async () => {
    server.answer({ ListCustomers: () => ({ data: [{ name: "Evil\u001b[2J\u202e Ltd\nnext" }] }) });
    const { out } = await run("customers list", { env: server.env });
    expect(out).toContain("Evil\ufffd[2J\ufffd Ltd next");
  });

  test.each([
    ["a C1 control", "\u009b2J", "\\u009b2J"],
    ["DEL", "\u007f", "\\u007f"],
    ["a direction override", "\u202e\u2066", "\\u202e\\u2066"],
    ["a direction mark", "\u200f\u061c", "\\u200f\\u061c"],
    ["a line separator", "\u2028\u2029", "\\u2028\\u2029"],
    ["a tag beyond the first plane", "\u{e0041}", "\\udb40\\udc41"],
  ])("escapes %s in JSON, which stays the same JSON, and shows none in a table", async (_, raw, escaped) => {
    const name = `Evil${raw} Ltd, café 東京 😀`;
    server.answer({ ListCustomers: () => ({ data: [{ name }] }) });
    const { out } = await run("customers list --json", { env: server.env });
    expect(out).toContain(`Evil${escaped} Ltd, café 東京 😀`);
    expect(out).not.toContain(raw);
    expect(JSON.parse(out).data[0].name).toBe(name);
    expect((await run("customers list", { env: server.env })).out).not.toContain(raw);
    server.answer({ ListCustomers: () => refuse("invalid_parameter", name) });
    const { err } = await run("customers list --json", { env: server.env });
    expect(err).not.toContain(raw);
    expect(JSON.parse(err).error.message).toBe(name);
  });

  test("that is shown once stands alone on the standard output", async () => {
    const apiKey = { id, name: "Shop", hint: "sk_live_…abcd" };
    server.answer({ CreateApiKey: () => ({ apiKey, value: "sk_live_value" }) });
    const created = await run("api-keys create --name Shop --scopes invoices:read", {
      env: server.env,
    });
    expect(created.out).toBe("sk_live_value\n");
    expect(created.err).toContain("sk_live_…abcd");
    const json = await run("api-keys create --name Shop --scopes invoices:read --json", {
      env: server.env,
    });
    expect(JSON.parse(json.out)).toMatchObject({ api_key: { id }, value: "sk_live_value" });
    server.answer({ CreateApiKey: () => ({ apiKey, value: "" }) });
    const replayed = await run("api-keys create --name Shop --scopes invoices:read", {
      env: server.env,
    });
    expect(replayed).toMatchObject({
      out: "",
      err: expect.stringContaining("repeats an earlier call"),
    });
  });

  test("tells how to go on where there is another page, and --all follows them", async () => {
    const all = Array.from({ length: 5 }, (_, index) => ({
      id: `id-${index}`,
      role: OperatorRole.ADMIN,
    }));
    server.answer({
      ListOperators: (request) => {
        const { startingAfter } = request as { startingAfter?: string };
        const begin =
          startingAfter === undefined ? 0 : all.findIndex((each) => each.id === startingAfter) + 1;
        return { data: all.slice(begin, begin + 2), hasMore: begin + 2 < all.length };
      },
    });
    const first = await run("operators list --limit 2", { env: server.env });
    expect(first.err).toBe("There are more: --all, or --starting-after id-1\n");
    const followed = await run("operators list --all --json", { env: server.env });
    const { data, has_more: hasMore } = JSON.parse(followed.out);
    expect(data.map((row: { id: string }) => row.id)).toEqual(all.map((each) => each.id));
    expect(hasMore).toBe(false);
  });

  test("of the audit log says what changed", async () => {
    const entry = {
      operation: "billing.admin.v1.PlanService/SetPlanStatus",
      before: { status: "draft" },
      after: { status: "active" },
    };
    server.answer({ ListAuditEntries: () => ({ data: [entry] }) });
    expect((await run("audit list", { env: server.env })).out).toMatch(
      /SetPlanStatus .*status draft → active/,
    );
    expect((await run("audit list --json", { env: server.env })).out).toContain(
      '"status": "draft"',
    );
  });

  test("of a failed check ends with 1", async () => {
    server.answer({
      CheckLedgerConnection: () => ({ ok: false, problem: "The secret is wrong." }),
    });
    expect(await run("ledger check", { env: server.env })).toMatchObject({
      exitCode: 1,
      out: expect.stringContaining("The secret is wrong."),
    });
  });
});

describe("an ending", () => {
  test("by a refusal tells code, message, parameter and request on the error output", async () => {
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

  test("without an answer is another than by a refusal, and tells how to repeat a write", async () => {
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
});
