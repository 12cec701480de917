/**
 * Tokens, tenants and limits: the adapter's answer to a gate that rejects it, without any secret in
 * it.
 */
import { describe, expect } from "vitest";
import type { LimitsLeft } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import {
  aCall,
  addLedgerContact,
  invoiceDraft,
  okOf,
  startDemoLedgerFixture,
} from "./demo-ledger-fixture.ts";
import { demoLedgerTest as test } from "./fixtures.ts";

test.afterEach(async ({ fixture }) => {
  await fetch(`${fixture.demo.url}/demo/faults`, { method: "DELETE" });
});
const organisation = "GET /api.xro/2.0/Organisation";
const unauthorised = {
  status: 401,
  body: JSON.stringify({ Title: "Unauthorized", Detail: "TokenExpired" }),
};

describe("tokens", () => {
  test("one refused token is replaced and the call replayed, for a write too", async ({
    fixture,
  }) => {
    const connection = await fixture.connect();
    const contact = await addLedgerContact(connection);
    const ledger = createXeroLedger(connection);
    await fixture.order({ match: "PUT /api.xro/2.0/Invoices", kind: "status", ...unauthorised });
    const [made] = okOf(await ledger.createInvoices(aCall("t"), [invoiceDraft(contact.id)]));
    expect(made?.kind).toBe("ok");
    await ledger.close();
  });

  test("a token that is refused again is unauthorised, expired", async ({ fixture }) => {
    const ledger = createXeroLedger(await fixture.connect());
    await fixture.order({ match: organisation, kind: "status", times: 2, ...unauthorised });
    expect(await ledger.describe(aCall())).toEqual({
      kind: "unauthorised",
      why: "expired",
      message: "TokenExpired",
    });
    await ledger.close();
  });

  test.for([
    "insufficient_scope",
    "insufficent_scope",
  ])("a missing scope is distinguished from an expired token (%s)", async (spelling, {
    fixture,
  }) => {
    const ledger = createXeroLedger(await fixture.connect());
    const headers = { "www-authenticate": spelling };
    await fixture.order({
      match: organisation,
      kind: "status",
      times: 2,
      ...unauthorised,
      headers,
    });
    expect(await ledger.describe(aCall())).toMatchObject({
      kind: "unauthorised",
      why: "insufficient_scope",
    });
    await ledger.close();
  });

  test("many calls at once fetch one token", async ({ fixture }) => {
    const ledger = createXeroLedger(await fixture.connect());
    // Only the first fetch fails: with a fetch per call, most calls would have got a token of their
    // own.
    await fixture.order({ match: "POST /connect/token", kind: "drop_before" });
    const answers = await Promise.all(Array.from({ length: 5 }, () => ledger.describe(aCall())));
    expect(answers.map(({ kind }) => kind)).toEqual(Array(5).fill("unavailable"));
    expect((await ledger.describe(aCall())).kind).toBe("ok");
    await ledger.close();
  });

  test("wrong credentials are unauthorised and not in the answer", async ({ fixture }) => {
    const connection = { ...(await fixture.connect()), clientSecret: "not-the-secret" };
    const ledger = createXeroLedger(connection);
    const answer = await ledger.describe(aCall());
    expect(answer).toMatchObject({ kind: "unauthorised", why: "disconnected" });
    expect(JSON.stringify(answer)).not.toContain("not-the-secret");
    await ledger.close();
  });

  test("a good token for another organisation is disconnected", async ({ fixture }) => {
    const [one, other] = [await fixture.connect(), await fixture.connect()];
    const ledger = createXeroLedger({ ...one, tenantId: other.tenantId });
    expect(await ledger.describe(aCall())).toMatchObject({
      kind: "unauthorised",
      why: "disconnected",
    });
    await ledger.close();
  });
});

describe("limits", () => {
  test.for([
    ["minute", "minute"],
    ["day", "day"],
    ["concurrent", "concurrent"],
    ["appminute", "app"],
  ] as const)("429 for the %s limit says which and for how long", async ([problem, scope], {
    fixture,
  }) => {
    const ledger = createXeroLedger(await fixture.connect());
    await fixture.order({ match: organisation, kind: "rate_limit", problem, retryAfterSeconds: 7 });
    expect(await ledger.describe(aCall())).toEqual({
      kind: "rate_limited",
      scope,
      retryAfterMs: 7_000,
    });
    await ledger.close();
  });

  test("the demo ledger keeps Xero's limits if set, and answers the remaining calls", async () => {
    const strict = await startDemoLedgerFixture({ limits: { minute: 3 } });
    const left: (number | null)[] = [];
    const end = async (limits: LimitsLeft | null) => void left.push(limits?.minute ?? null);
    const take = async () => ({ kind: "granted", end }) as const;
    const ledger = createXeroLedger(await strict.connect(), { budget: { take } });
    for (let call = 0; call < 3; call += 1)
      expect((await ledger.describe(aCall())).kind).toBe("ok");
    const answer = await ledger.describe(aCall());
    expect(answer).toMatchObject({ kind: "rate_limited", scope: "minute" });
    expect(answer.kind === "rate_limited" && answer.retryAfterMs).toBeGreaterThan(0);
    expect(left.slice(0, 3)).toEqual([2, 1, 0]);
    await ledger.close();
    await strict.stop();
  });
});

describe("answers that cannot be trusted", () => {
  test("an answer over the cap is cut off, and lists of changes use smaller pages", async ({
    fixture,
  }) => {
    let [taken, ended] = [0, 0];
    const take = async () => {
      taken += 1;
      return { kind: "granted", end } as const;
    };
    const end = async () => {
      ended += 1;
    };
    const connection = await fixture.connect();
    for (let count = 0; count < 5; count += 1) await addLedgerContact(connection);
    const ledger = createXeroLedger(connection, { maxResponseBytes: 2_000, budget: { take } });
    expect(await ledger.listMappingOptions(aCall(), "accounts")).toMatchObject({
      kind: "unavailable",
    });
    const ids = new Set<string>();
    let cursor: string | null = "";
    while (cursor !== null) {
      const from: object = cursor === "" ? {} : { cursor };
      const page = okOf(await ledger.listChanges(aCall(), { kind: "contacts", ...from }));
      for (const { id } of page.changes) ids.add(id);
      cursor = page.cursor;
      expect(taken).toBeLessThan(100);
    }
    expect(ids.size).toBe(5);
    expect(ended).toBe(taken);
    await ledger.close();
  });

  test("a redirect is not followed", async ({ fixture }) => {
    const ledger = createXeroLedger(await fixture.connect());
    const headers = { location: `${fixture.demo.url}/api.xro/2.0/Organisation` };
    await fixture.order({ match: organisation, kind: "status", status: 302, headers });
    expect(await ledger.describe(aCall())).toMatchObject({
      kind: "unavailable",
      cause: "the ledger answered 302",
    });
    await ledger.close();
  });

  test("an unknown status is not mistaken for another", async ({ fixture }) => {
    const ledger = createXeroLedger(await fixture.connect());
    const body = JSON.stringify({
      Invoices: [{ InvoiceID: crypto.randomUUID(), Status: "SOMETHING" }],
    });
    await fixture.order({ match: "GET /api.xro/2.0/Invoices", kind: "status", status: 200, body });
    expect(await ledger.getInvoice(aCall(), "x")).toMatchObject({
      kind: "unavailable",
      outcome: "not_sent",
    });
    await ledger.close();
  });

  test("a batch answer without a document leaves that document unknown", async ({ fixture }) => {
    const connection = await fixture.connect();
    const contact = await addLedgerContact(connection);
    const ledger = createXeroLedger(connection);
    await fixture.order({
      match: "PUT /api.xro",
      kind: "status",
      status: 200,
      body: '{"Invoices":[]}',
    });
    const answers = okOf(await ledger.createInvoices(aCall(), [invoiceDraft(contact.id)]));
    expect(answers).toMatchObject([{ kind: "unavailable", outcome: "unknown" }]);
    await ledger.close();
  });
});

test("a 400 that names one document refuses that one and leaves the others unknown", async ({
  fixture,
}) => {
  const connection = await fixture.connect();
  const contact = await addLedgerContact(connection);
  const ledger = createXeroLedger(connection);
  const drafts = [invoiceDraft(contact.id), invoiceDraft(contact.id)];
  const Elements = [
    { InvoiceNumber: drafts[1]?.number, ValidationErrors: [{ Message: "Account must be valid." }] },
  ];
  await fixture.order({
    match: "PUT /api.xro",
    kind: "status",
    status: 400,
    body: JSON.stringify({ Elements }),
  });
  const answers = okOf(await ledger.createInvoices(aCall(), drafts));
  expect(answers).toMatchObject([
    { kind: "unavailable", outcome: "unknown" },
    { kind: "refused", reason: "account_invalid" },
  ]);
  await ledger.close();
});

test("faults are refused if they are not switched on", async () => {
  const plain = await startDemoLedgerFixture({ faults: false });
  const answer = await plain.admin("faults", { match: "PUT", kind: "hang" });
  expect(answer.status).toBe(403);
  await plain.stop();
});
