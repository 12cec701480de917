/**
 * Months of subscriptions over Tryton by the test clock. After each month our open amounts by
 * customer equal the lines of the receivable account in Tryton, which is somebody else's double
 * entry. TEST_LEDGER_YEAR=1 takes a year of fifty subscriptions.
 */
import { expect } from "vitest";
import { rpcAt } from "../../../packages/dev/src/tryton/company.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import type { AdminAsk } from "../../admin/services/request.ts";
import { openJobs, tables } from "../../support/rows.ts";
import { allow } from "../../support/slowness.ts";
import { type TestSystem, until } from "../../support/system.ts";
import { type Decimal, ourOpenAmounts, receivables, rpcContext } from "./both-books.ts";
import { connectToTryton, createCustomers, type Own, trytonTest } from "./service-fixture.ts";
import { whyNoTryton } from "./tryton-fixture.ts";

const { customers, subscriptions, months } = process.env.TEST_LEDGER_YEAR
  ? { customers: 10, subscriptions: 50, months: 12 }
  : { customers: 2, subscriptions: 3, months: 2 };

trytonTest.skipIf(whyNoTryton !== null)(
  "our open amounts by customer equal Tryton's receivable account after each month",
  { timeout: allow(30 * 60_000) },
  async ({ system, admin, access, own, key }) => {
    await connectToTryton(admin, own, access);
    await createCustomers(system, key, customers);
    const ids = await subscribeAll(system, key);
    for (let month = 0; month < months; month += 1) {
      // One subscription a month renews with more or fewer units.
      const path = `/v1/subscriptions/${ids[month]}/units`;
      const body = { units: month % 2 === 0 ? 1 : 7 };
      const changed = await system.ask("POST", path, { key, idempotencyKey: `u-${month}`, body });
      expect(changed.status, changed.text).toBeLessThan(300);
      await advance(admin, own);
      await posted(system, own);
      await payEveryThird(access, month);
      const before = new Date();
      await admin.done("LedgerSyncService/SyncLedger", own);
      await until("Tryton's payments are synced", () => isSyncedSince(system, own, before));
      const ours = await ourOpenAmounts(system, own.organisation);
      expect(ours, `month ${month + 1}`).toEqual(await receivables(access));
      expect(ours.size).toBeGreaterThan(0);
    }
  },
);

async function subscribeAll(system: TestSystem, key: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < subscriptions; index += 1) {
    const customer_code = `C${index % customers}`;
    const body = { customer_code, plan_code: "team", units: 2 + (index % 5) };
    const request = { key, idempotencyKey: `s-${index}`, body };
    const answer = await system.ask("POST", "/v1/subscriptions", request);
    expect(answer.status, answer.text).toBe(201);
    ids.push(answer.json.id);
  }
  return ids;
}

async function advance(admin: AdminAsk, own: Own): Promise<void> {
  await admin.done("TestClockService/AdvanceTestClock", { ...own, months: 1 });
  await until("the clock stands", async () => {
    const { testClock } = await admin.done("TestClockService/GetTestClock", own);
    return testClock.state === "TEST_CLOCK_STATE_STANDING";
  });
}

const posted = (system: TestSystem, { organisation }: Own) =>
  until("everything is posted", async () => (await openJobs(system.pool, organisation)) === 0);

async function isSyncedSince(system: TestSystem, { organisation }: Own, since: Date) {
  const where = { organisationId: organisation, syncKind: null, syncedAt: { gt: since } };
  return (await tables(system.pool).ledgerSyncCursor.count({ where })) === 1;
}

/** A person books the payment of every third open invoice, and half of the one after it. */
async function payEveryThird({ databaseUrl, password }: TrytonAccess, month: number) {
  const rpc = rpcAt(databaseUrl, password);
  const read = (model: string, domain: readonly unknown[], fields: readonly string[]) =>
    rpc(
      `model.${model}.search_read`,
      domain,
      0,
      null,
      [["id", "ASC"]],
      fields,
      rpcContext,
    ) as Promise<readonly Record<string, unknown>[]>;
  const open = await read(
    "account.invoice",
    [
      ["state", "=", "posted"],
      ["total_amount", ">", 0],
    ],
    ["party", "account", "amount_to_pay", "accounting_date"],
  );
  const [cash] = await read("account.account", [["code", "=", "1.1.1"]], ["id"]);
  const [journal] = await read("account.journal", [["type", "=", "cash"]], ["id"]);
  for (const [index, invoice] of open.entries()) {
    const due = Math.round(Number((invoice.amount_to_pay as Decimal).decimal) * 100);
    if (due <= 0 || (index + month) % 3 === 2) continue;
    const paid = (index + month) % 3 === 0 ? due : Math.floor(due / 2);
    const amount = { __class__: "Decimal", decimal: (paid / 100).toFixed(2) };
    const zero = { __class__: "Decimal", decimal: "0" };
    const date = invoice.accounting_date as Record<string, number>;
    const day = `${date.year}-${date.month}-${date.day}`;
    const [period] = await read(
      "account.period",
      [
        ["start_date", "<=", date],
        ["end_date", ">=", date],
        ["type", "=", "standard"],
      ],
      ["id"],
    );
    const { party, account } = invoice;
    const paying = { account, party, debit: zero, credit: amount, invoice_payment: invoice.id };
    const received = { account: cash?.id, debit: amount, credit: zero };
    const move = {
      company: 1,
      journal: journal?.id,
      period: period?.id,
      date,
      description: `paid ${day}`,
      lines: [["create", [paying, received]]],
    };
    const [id] = (await rpc("model.account.move.create", [move], rpcContext)) as readonly number[];
    await rpc("model.account.move.post", [id], rpcContext);
  }
}
