/** Organisations by name, objects by number, and times as durations and dates. */
import { describe, expect } from "vitest";
import { organisation, run, cliTest as test } from "./calls-fixture.ts";

const other = "0199a0b2-0000-7000-8000-000000000002";
const id = "0199a0b2-2222-7000-8000-000000000001";

const northwind = { id: organisation, name: "Northwind", defaultCurrency: "NZD", livemode: true };

describe("an organisation", () => {
  test.for([
    ["plans list --organisation Northwind", "ListPlans", { organisation }],
    ["organisations get Northwind", "GetOrganisation", { id: organisation }],
    ["organisations update Northwind --due-days 30", "UpdateOrganisation", { id: organisation }],
    ["audit list --organisation Northwind", "ListAuditEntries", { organisation }],
  ] as const)("is found by its name in: %s", async ([words, method, request], { server }) => {
    server.answer({ ListOrganisations: () => ({ data: [northwind] }) });
    const ended = await run(words, { env: server.env });
    expect(ended.exitCode, ended.err).toBe(0);
    const [search, call] = server.received;
    expect(search).toMatchObject({ method: "ListOrganisations", request: { name: "Northwind" } });
    expect(call).toMatchObject({ method, request });
  });

  test("is found by the name in BILLING_ORGANISATION, before codes are", async ({ server }) => {
    server.answer({
      ListOrganisations: () => ({ data: [northwind] }),
      ListPlans: () => ({ data: [{ id }] }),
    });
    await run("plans get team", { env: { ...server.env, BILLING_ORGANISATION: "Northwind" } });
    expect(server.received.map(({ request }) => request)).toEqual([
      { name: "Northwind", limit: 11 },
      { organisation, code: "team" },
      { organisation, id },
    ]);
  });

  test("with an ambiguous name is refused with the candidates", async ({ server }) => {
    server.answer({
      ListOrganisations: () => ({
        data: [northwind, { ...northwind, id: other, livemode: false }],
      }),
    });
    const ended = await run("plans list --organisation Northwind", { env: server.env });
    expect(ended.exitCode).toBe(1);
    expect(ended.err).toMatch(/^organisation_ambiguous: /);
    expect(ended.err).toContain(`${organisation} (NZD, live), ${other} (NZD, sandbox)`);
    expect(server.received.map(({ method }) => method)).toEqual(["ListOrganisations"]);
  });

  test("that does not exist is refused, and an id is used as it is", async ({ server }) => {
    server.answer({});
    const unknown = await run("plans list --organisation Nowhere", { env: server.env });
    expect(unknown).toMatchObject({
      exitCode: 1,
      err: "organisation_not_found: There is no organisation named Nowhere.\n",
    });
    server.answer({});
    await run(`plans list --organisation ${other}`, { env: server.env });
    expect(server.received.map(({ method }) => method)).toEqual(["ListPlans"]);
  });
});

test("an invoice is found by its number", async ({ server }) => {
  server.answer({ ListInvoices: () => ({ data: [{ id }] }) });
  await run("invoices get INV-0042 --json", { env: server.env });
  expect(server.received.map(({ request }) => request)).toEqual([
    { organisation, number: "INV-0042" },
    { organisation, id },
  ]);
  server.answer({});
  const unknown = await run("credit-notes get CN-0001", { env: server.env });
  expect(unknown).toMatchObject({
    exitCode: 1,
    err: "credit_note_not_found: There is no credit note with the number CN-0001.\n",
  });
});

describe("--since", () => {
  const sinceOf = (request: unknown) => (request as { since: string }).since;

  test.for([
    ["45s", 45_000],
    ["30m", 1_800_000],
    ["24h", 86_400_000],
    ["7d", 604_800_000],
    ["2w", 1_209_600_000],
  ] as const)("%s is that long before now", async ([text, length], { server }) => {
    server.answer({});
    const before = Date.now();
    await run(`events list --since ${text}`, { env: server.env });
    const after = Date.now();
    const since = Date.parse(sinceOf(server.received[0]?.request));
    expect(since).toBeGreaterThanOrEqual(before - length);
    expect(since).toBeLessThanOrEqual(after - length);
  });

  test("a date is its beginning in UTC, and an instant stays as it is", async ({ server }) => {
    server.answer({});
    const commands = [
      "audit list",
      "events list",
      `subscriptions timeline ${id}`,
      "webhooks deliveries",
    ];
    for (const command of commands) {
      for (const [text, instant] of [
        ["2026-03-01", "2026-03-01T00:00:00.000Z"],
        ["2026-03-01T12:00:00+13:00", "2026-03-01T12:00:00+13:00"],
      ] as const) {
        await run(`${command} --since ${text}`, { env: server.env });
        expect(sinceOf(server.received.at(-1)?.request), command).toBe(instant);
      }
    }
  });

  test.for([
    "yesterday",
    "7",
    "1y",
    "2026-13-01",
    "2026-02-30",
    "-1d",
  ])("%s is wrong usage", async (text, { server }) => {
    server.answer({});
    const ended = await run(["events", "list", `--since=${text}`], { env: server.env });
    expect(ended).toMatchObject({ exitCode: 2, err: expect.stringContaining("2w before now") });
    expect(server.received).toEqual([]);
  });
});

describe("an operator", () => {
  const ada = { id: "0199a0b2-6666-7000-8000-00000000000a", name: "Ada Lovelace" };
  const adam = { id: "0199a0b2-6666-7000-8000-00000000000b", name: "Adam" };

  test("is found by a part of its name in any case", async ({ server }) => {
    server.answer({ ListOperators: () => ({ data: [ada, adam] }) });
    await run("audit list --operator lovelace", { env: server.env });
    expect(server.received.at(-1)?.request).toMatchObject({ operator: ada.id });
    await run("audit list --operator adam", { env: server.env });
    expect(server.received.at(-1)?.request).toMatchObject({ operator: adam.id });
  });

  test("of whose name there are several, or none, is refused with words", async ({ server }) => {
    server.answer({ ListOperators: () => ({ data: [ada, adam] }) });
    const several = await run("audit list --operator ada", { env: server.env });
    const words = `Several operators are named ada: Ada Lovelace (${ada.id}), Adam`;
    expect(several.err).toContain(words);
    const none = await run("audit list --operator Grace", { env: server.env });
    expect(none.err).toBe("operator_not_found: There is no operator named Grace.\n");
  });
});

test("the organisation of the settings serves every verb of organisations", async ({ server }) => {
  server.answer({});
  for (const words of [
    "organisations get",
    "organisations update --due-days 30",
    "organisations preview-setup-mode on",
    "organisations setup-mode off",
  ]) {
    await run(words, { env: server.env });
    expect(server.received.at(-1)?.request).toMatchObject({ id: organisation });
  }
  expect(server.received.at(-2)?.request).toMatchObject({ setup_mode: true });
  const other = "0199a0b2-0000-7000-8000-000000000002";
  await run(`organisations setup-mode ${other} off`, { env: server.env });
  expect(server.received.at(-1)?.request).toMatchObject({ id: other, setup_mode: false });
});
