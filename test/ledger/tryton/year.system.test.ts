/**
 * A year of subscriptions over Tryton by the test clock. After each month our open amounts by
 * customer equal the lines of the receivable account in Tryton, which is somebody else's double
 * entry.
 */
import { expect } from "vitest";
import { rpcAt } from "../../../packages/dev/src/tryton/company.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { aloneAdminTest } from "../../admin/services/fixtures.ts";
import type { AdminAsk } from "../../admin/services/request.ts";
import { perFile } from "../../support/file-fixture.ts";
import { openJobs, tables } from "../../support/rows.ts";
import { allow } from "../../support/slowness.ts";
import { type TestSystem, until } from "../../support/system.ts";
import { freshTryton, stopTryton, whyNoTryton } from "./tryton-fixture.ts";

const customers = 10;
const subscriptions = 50;
const months = 12;

const scopes = ["subscriptions:write", "customers:write", "invoices:read", "credit_notes:read"];
const test = aloneAdminTest
  .extend("access", perFile, (_, { onCleanup }) => {
    onCleanup(stopTryton);
    return freshTryton();
  })
  .extend("own", perFile, async ({ admin }) => {
    const { organisation } = await admin.done("OrganisationService/CreateOrganisation", {
      name: "Books Ltd",
      timezone: "Europe/London",
      defaultCurrency: "GBP",
      livemode: false,
      canCreateLedgerContacts: true,
      firstInvoiceStatus: "FIRST_INVOICE_STATUS_APPROVED",
    });
    return { organisation: organisation.id as string };
  })
  .extend("key", perFile, async ({ admin, own }): Promise<string> => {
    const created = await admin.done("ApiKeyService/CreateApiKey", { ...own, name: "K", scopes });
    return created.value;
  });

test.skipIf(whyNoTryton !== null)(
  "our open amounts by customer equal Tryton's receivable account after each month of a year",
  { timeout: allow(30 * 60_000) },
  async ({ system, admin, access, own, key }) => {
    await setUp(admin, own, access);
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
      expect(await ourOpenAmounts(system, own), `month ${month + 1}`).toEqual(
        await receivables(access),
      );
    }
  },
);

type Own = { readonly organisation: string };

async function setUp(admin: AdminAsk, own: Own, access: TrytonAccess): Promise<void> {
  const { tenantId, baseUrl, clientSecret, company } = access;
  const secret = { clientId: "billing", clientSecret };
  const connection = { ...own, kind: "tryton", tenantId, baseUrl, ...secret };
  await admin.done("LedgerConnectionService/ConnectLedger", connection);
  const mapping = { ...own, revenueAccount: "200", taxType: company.taxType };
  await admin.done("AccountMappingService/SetAccountMapping", mapping);
  const { plan } = await admin.done("PlanService/CreatePlan", {
    ...own,
    code: "team",
    name: "Team",
    type: "PLAN_TYPE_PER_UNIT",
    price: "12.35",
    unitSingular: "seat",
    unitPlural: "seats",
  });
  const active = { ...own, id: plan.id, status: "CATALOGUE_STATUS_ACTIVE" };
  await admin.done("PlanService/SetPlanStatus", active);
}

async function subscribeAll(system: TestSystem, key: string): Promise<readonly string[]> {
  const ask = async (path: string, idempotencyKey: string, body: object) => {
    const answer = await system.ask("POST", path, { key, idempotencyKey, body });
    expect(answer.status, answer.text).toBe(201);
    return answer.json;
  };
  for (let index = 0; index < customers; index += 1) {
    const customer = { name: `Customer ${index}`, email: `c${index}@example.com` };
    await ask("/v1/customers", `c-${index}`, { code: `C${index}`, ...customer });
  }
  const ids: string[] = [];
  for (let index = 0; index < subscriptions; index += 1) {
    const body = {
      customer_code: `C${index % customers}`,
      plan_code: "team",
      units: 2 + (index % 5),
    };
    ids.push((await ask("/v1/subscriptions", `s-${index}`, body)).id);
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

/** What is open here, by the customer's contact: of invoices, less what credit notes have left. */
async function ourOpenAmounts(system: TestSystem, { organisation: organisationId }: Own) {
  const { invoice, creditNote, customer } = tables(system.pool);
  const open = await invoice.findMany({
    where: { organisationId, status: "approved" },
    select: { customerId: true, amountDue: true },
  });
  const notes = await creditNote.findMany({
    where: { organisationId, status: "approved" },
    select: { customerId: true, remainingCredit: true },
  });
  const contacts = await customer.findMany({ where: { organisationId } });
  const contactOf = new Map(contacts.map(({ id, ledgerContactId }) => [id, ledgerContactId]));
  const cents = (amount: { toFixed(places: number): string }) =>
    BigInt(amount.toFixed(2).replace(".", ""));
  return sums([
    ...open.map((one) => [contactOf.get(one.customerId), cents(one.amountDue)] as const),
    ...notes.map((one) => [contactOf.get(one.customerId), -cents(one.remainingCredit)] as const),
  ]);
}

interface Decimal {
  readonly decimal: string;
}

const rpcContext = { company: 1, companies: [1], _skip_warnings: true };

/** The balance of the receivable account by party, of posted moves. */
async function receivables({ databaseUrl, password }: TrytonAccess) {
  const rpc = rpcAt(databaseUrl, password);
  const domain = [
    ["account.type.receivable", "=", true],
    ["move.state", "=", "posted"],
  ];
  const fields = ["party", "debit", "credit"];
  const lines = (await rpc(
    "model.account.move.line.search_read",
    ...[domain, 0, null, null, fields, rpcContext],
  )) as readonly { readonly party: number; readonly debit: Decimal; readonly credit: Decimal }[];
  const cents = ({ decimal }: Decimal) => BigInt(Number(decimal).toFixed(2).replace(".", ""));
  return sums(lines.map((one) => [String(one.party), cents(one.debit) - cents(one.credit)]));
}

function sums(amounts: readonly (readonly [string | null | undefined, bigint])[]) {
  const all = new Map<string, bigint>();
  for (const [contact, amount] of amounts)
    all.set(contact ?? "none", (all.get(contact ?? "none") ?? 0n) + amount);
  return new Map([...all].filter(([, amount]) => amount !== 0n).toSorted());
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
