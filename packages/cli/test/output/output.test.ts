/** The output of a command: tables, JSON, pages, and values that are shown once. */
import { describe, expect } from "vitest";
import {
  DocumentJob,
  DocumentKind,
  DocumentState,
} from "../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { OperatorRole } from "../../../../src/gen/proto/billing/admin/v1/operators_pb.ts";
import { UsageState } from "../../../../src/gen/proto/billing/admin/v1/usage_pb.ts";
import { CatalogueStatus } from "../../../../src/gen/proto/billing/v1/common_pb.ts";
import { organisation, refuse, run, cliTest as test } from "../calls-fixture.ts";

const id = "0199a0b2-2222-7000-8000-000000000001";

test.beforeEach(({ server }) => server.answer({}));

describe("the answer", () => {
  test("is a table, and with --json the response", async ({ server }) => {
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

  test("of documents shows kind, ledger job and state of each", async ({ server }) => {
    const document = {
      id,
      kind: DocumentKind.CREDIT_NOTE,
      number: "CN-0001",
      state: DocumentState.FAILED,
      job: DocumentJob.ALLOCATION,
      invoice: organisation,
      message: "Not today.",
    };
    server.answer({
      ListDocuments: () => ({ data: [document] }),
      RetryDocument: () => ({ document }),
    });
    const { out } = await run("documents list", { env: server.env });
    expect(out).toMatch(/^1 document\.\n\nid +kind +number +job +state /);
    expect(out).toMatch(new RegExp(`${id} +credit note +CN-0001 +allocation +failed .*Not today`));
    const retried = await run(`documents retry ${id} --json`, { env: server.env });
    expect(JSON.parse(retried.out)).toMatchObject({
      kind: "credit_note",
      job: "allocation",
      invoice: organisation,
    });
  });

  test("of usage shows period, meter, quantity and the document that bills it", async ({
    server,
  }) => {
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

  test("cannot control the terminal", async ({ server }) => {
    server.answer({ ListCustomers: () => ({ data: [{ name: "Evil\u001b[2J\u202e Ltd\nnext" }] }) });
    const { out } = await run("customers list", { env: server.env });
    expect(out).toContain("Evil\ufffd[2J\ufffd Ltd next");
  });

  test.for([
    ["a C1 control", "\u009b2J", "\\u009b2J"],
    ["DEL", "\u007f", "\\u007f"],
    ["a direction override", "\u202e\u2066", "\\u202e\\u2066"],
    ["a direction mark", "\u200f\u061c", "\\u200f\\u061c"],
    ["a line separator", "\u2028\u2029", "\\u2028\\u2029"],
    ["a tag beyond the first plane", "\u{e0041}", "\\udb40\\udc41"],
  ] as const)("has %s escaped in JSON and removed from tables", async ([_, raw, escaped], {
    server,
  }) => {
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

  test("with a value that is shown once has only the value on the standard output", async ({
    server,
  }) => {
    const apiKey = { id, name: "Shop", redactedValue: "sk_live_…abcd" };
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

  test("names the option for the next page, and --all returns all pages", async ({ server }) => {
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
    expect(first.err).toBe("There are more: use --all, or --starting-after id-1\n");
    const whole = await run("operators list --all --json", { env: server.env });
    const { data, has_more: hasMore } = JSON.parse(whole.out);
    expect(data.map((row: { id: string }) => row.id)).toEqual(all.map((each) => each.id));
    expect(hasMore).toBe(false);
  });

  test("of the audit log shows what changed", async ({ server }) => {
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
});
