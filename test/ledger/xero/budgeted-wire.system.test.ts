/** The adapter within the budget of calls: each request counts, and only short waits wait. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { describe, expect } from "vitest";
import type { CallCounts } from "../../../packages/demo-ledger/src/api/limits.ts";
import { xeroLimits } from "../../../packages/demo-ledger/src/api/limits.ts";
import {
  aCall,
  addLedgerContact,
  aLine,
  type DemoLedgerFixture,
  invoiceDraft,
  okOf,
  sentOnce,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { demoLedgerTest } from "../../../packages/demo-ledger/test/fixtures.ts";
import type { Ledger, LedgerContact } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { type XeroConnection, xeroTraits } from "../../../src/ledger/xero/wire/connection.ts";
import { createCallBudget } from "../../../src/store/ledger-connection/call-budget.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { addOrganisation } from "../../support/organisation-builder.ts";
import { testPool } from "../../support/pool.ts";
import { allow } from "../../support/slowness.ts";

const test = demoLedgerTest
  .extend("demoOptions", perFile, { limits: xeroLimits })
  .extend("pool", perFile, async ({ fixture }, { onCleanup }) => {
    const pool = testPool(fixture.databaseUrl, 4);
    onCleanup(() => stopInTime(() => pool.end()));
    return pool;
  })
  .extend(
    "budgeted",
    perFile,
    ({ fixture, pool }) =>
      async (leaseMs = 60_000): Promise<Budgeted> => {
        const organisationId = await addOrganisation(pool, { currency: "GBP" });
        const connection = await fixture.connect();
        const contact = await addLedgerContact(connection);
        const ledger = createXeroLedger(connection, {
          budget: createCallBudget(pool, organisationId, leaseMs, xeroTraits.calls),
        });
        return { organisationId, connection, contact, ledger };
      },
  );

test.afterEach(async ({ fixture }) => {
  await fetch(`${fixture.demo.url}/demo/faults`, { method: "DELETE" });
});

/** An organisation with a budget, and its ledger. */
interface Budgeted {
  readonly organisationId: string;
  readonly connection: XeroConnection;
  readonly contact: LedgerContact;
  readonly ledger: Ledger;
}

async function callsTaken(
  fixture: DemoLedgerFixture,
  { connection }: Budgeted,
): Promise<CallCounts> {
  const answer = await fetch(`${fixture.demo.url}/demo/tenants/${connection.tenantId}/calls`);
  return (await answer.json()) as CallCounts;
}

/** What the budget has counted: finished calls, and calls that may be in flight. */
async function counted(
  pool: pg.Pool,
  { organisationId }: Budgeted,
): Promise<readonly [number, number]> {
  const text =
    "SELECT cardinality(calls) AS calls, cardinality(flights) AS flights " +
    "FROM ledger_budgets WHERE organisation_id = $1";
  const { rows } = await pool.query<{ calls: number; flights: number }>(text, [organisationId]);
  return [rows[0]?.calls ?? 0, rows[0]?.flights ?? 0];
}

/** So many calls that ended so long ago, the last of them just now. */
async function spend(
  pool: pg.Pool,
  { organisationId }: Budgeted,
  count: number,
  secondsAgo: number,
): Promise<void> {
  const text = `INSERT INTO ledger_budgets
  (organisation_id, calls, flights, flights_until, granted_at)
    SELECT $1, array_agg(now() - $3 * interval '1 second'), '{}', '{}', now()
    FROM generate_series(1, $2)`;
  await pool.query(text, [organisationId, count, secondsAgo]);
}

describe("every request is a call of the budget:", () => {
  test("a creation is one, a look-up another, and a change reads before it writes", async ({
    pool,
    budgeted,
  }) => {
    const own = await budgeted();
    const draft = invoiceDraft(own.contact.id);
    const [made] = okOf(await own.ledger.createInvoices(aCall("a"), [draft]));
    expect(await counted(pool, own)).toEqual([1, 0]);
    okOf(await own.ledger.findInvoices(aCall(), { numbers: [draft.number] }));
    expect(await counted(pool, own)).toEqual([2, 0]);
    const changes = [{ ...aLine("1", "5.0000", "5.0000"), ledgerLineId: null }];
    okOf(
      await own.ledger.amendInvoice(aCall("b"), { id: okOf(made).id, allowed: ["draft"], changes }),
    );
    expect(await counted(pool, own)).toEqual([4, 0]);
    okOf(await own.ledger.removeInvoice(aCall(), okOf(made).id));
    expect(await counted(pool, own)).toEqual([6, 0]);
  });

  test("one that is repeated with a fresh token is two, and fetching a token is none", async ({
    fixture,
    pool,
    budgeted,
  }) => {
    const own = await budgeted();
    const refused = {
      status: 401,
      body: JSON.stringify({ Title: "Unauthorized", Detail: "TokenExpired" }),
    };
    await fixture.order({ match: "PUT /api.xro/2.0/Invoices", kind: "status", ...refused });
    okOf(await own.ledger.createInvoices(aCall("a"), [invoiceDraft(own.contact.id)]));
    expect(await counted(pool, own)).toEqual([2, 0]);
  });

  test("a call without an answer counts until the ledger must have finished it", async ({
    fixture,
    pool,
    budgeted,
  }) => {
    const own = await budgeted(2_000);
    await fixture.order({
      match: "PUT /api.xro/2.0/Invoices",
      kind: "hang",
      tenantId: own.connection.tenantId,
    });
    okOf(await own.ledger.describe(aCall()));
    const call = { deadlineMs: 1_500, jobKeys: ["a"] };
    const sent = await sentOnce(() =>
      own.ledger.createInvoices(call, [invoiceDraft(own.contact.id)]),
    );
    expect(sent.answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    const [over, onTheirWay] = await counted(pool, own);
    expect([onTheirWay, over <= sent.tries]).toEqual([1, true]);
    await expect
      .poll(async () => (await own.ledger.describe(aCall())) && counted(pool, own), {
        timeout: allow(12_000),
      })
      .toEqual([expect.any(Number), 0]);
  });
});

describe("a call for which there is none in the budget", () => {
  test("waits where that is short, and is made then", async ({ pool, budgeted }) => {
    const own = await budgeted();
    const began = performance.now();
    await spend(pool, own, 60, 59);
    okOf(await own.ledger.describe(aCall()));
    expect(performance.now() - began).toBeGreaterThan(900);
  });

  test("a long wait is reported with its length, and nothing is sent", async ({
    fixture,
    pool,
    budgeted,
  }) => {
    const own = await budgeted();
    await spend(pool, own, 60, 5);
    const before = await callsTaken(fixture, own);
    const call = { deadlineMs: 20_000, jobKeys: ["a"] };
    const answer = await own.ledger.createInvoices(call, [invoiceDraft(own.contact.id)]);
    expect(answer).toMatchObject({ kind: "rate_limited", scope: "minute", isOurs: true });
    expect(answer.kind === "rate_limited" && answer.retryAfterMs).toBeGreaterThan(25_000);
    expect(await callsTaken(fixture, own)).toEqual(before);
  });

  test("never waits past its deadline", async ({ pool, budgeted }) => {
    const own = await budgeted();
    okOf(await own.ledger.describe(aCall()));
    await pool.query(
      "UPDATE ledger_budgets SET calls = " +
        "(SELECT array_agg(now() - interval '20 seconds') " +
        "FROM generate_series(1, 60)) WHERE organisation_id = $1",
      [own.organisationId],
    );
    const began = performance.now();
    const answer = await own.ledger.describe({ deadlineMs: 1_000, jobKeys: [] });
    expect(answer).toMatchObject({ kind: "rate_limited", isOurs: true });
    // There is a call in 40 seconds.
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("fails as not sent where the budget cannot be asked", async ({ fixture, budgeted }) => {
    const { connection } = await budgeted();
    const gone = testPool(fixture.databaseUrl, 1, "gone");
    await gone.end();
    const ledger = createXeroLedger(connection, {
      budget: createCallBudget(gone, randomUUID(), 5_000, xeroTraits.calls),
    });
    expect(await ledger.describe(aCall())).toMatchObject({
      kind: "unavailable",
      outcome: "not_sent",
    });
  });
});

test("two busy processes are never rejected by a ledger with Xero's limits", async ({
  fixture,
  pool,
  budgeted,
}) => {
  const own = await budgeted();
  const other = createXeroLedger(own.connection, {
    budget: createCallBudget(pool, own.organisationId, 60_000, xeroTraits.calls),
  });
  const end = performance.now() + 6_000;
  const kinds = new Set<string>();
  let made = 0;
  const callOn = async (ledger: Ledger, isBackground: boolean) => {
    // However slow the machine is, more than go at once.
    while (performance.now() < end || made < 32) {
      const answer = await ledger.describe({ ...aCall(), isBackground });
      if (answer.kind === "ok") made += 1;
      kinds.add(answer.kind === "rate_limited" ? `ours: ${answer.isOurs}` : answer.kind);
    }
  };
  const callers = [own.ledger, other].flatMap((ledger) =>
    [true, false, true, false].map((is) => callOn(ledger, is)),
  );
  await Promise.all(callers);
  const { taken, turnedAway } = await callsTaken(fixture, own);
  expect(turnedAway).toBe(0);
  expect(taken).toBeGreaterThan(31);
  expect([...kinds]).toEqual(expect.arrayContaining(["ok"]));
  expect(kinds).not.toContain("unavailable");
  expect(kinds).not.toContain("ours: undefined");
});
