/**
 * Months of subscriptions over Tryton by the test clock. After each month our open amounts equal
 * the lines of the receivable account in Tryton, which is somebody else's double entry. A credit
 * note of each month goes onto the next renewal invoice. TEST_LEDGER_YEAR=1 takes a year of fifty
 * subscriptions.
 */
import { expect } from "vitest";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { tables } from "../../support/rows.ts";
import { allow } from "../../support/slowness.ts";
import type { TestSystem } from "../../support/system.ts";
import { type Decimal, expectEqualBooks, readTryton } from "./both-books.ts";
import { draftPayments, postPayments } from "./person.ts";
import {
  advance,
  changeUnits,
  connectToTryton,
  createCustomers,
  posted,
  subscribe,
  sync,
  trytonTest,
} from "./service-fixture.ts";
import { whyNoTryton } from "./tryton-fixture.ts";

const { customers, subscriptions, months } = process.env.TEST_LEDGER_YEAR
  ? { customers: 10, subscriptions: 50, months: 12 }
  : { customers: 2, subscriptions: 3, months: 2 };

/** A year of fifty subscriptions takes Tryton half an hour, and another of the machine. */
const limitMs = allow(60 * 60_000);

trytonTest.skipIf(whyNoTryton !== null)(
  "open amounts equal the receivable account in Tryton after each month",
  { timeout: limitMs },
  async ({ system, admin, access, own, key }) => {
    await connectToTryton(admin, own, access);
    await createCustomers(system, key, customers);
    const ids = await subscribeAll(system, key);
    for (let month = 0; month < months; month += 1) {
      const began = performance.now();
      // One subscription a month renews with more or fewer units.
      await changeUnits(system, key, ids[month] ?? "", { units: month % 2 === 0 ? 1 : 7 });
      const bands = ids.at(-1) ?? "";
      const { json } = await system.ask("GET", `/v1/subscriptions/${bands}`, { key });
      await advance(admin, own, { months: 1 });
      await posted(system, own);
      await issueCredit(system, key, bands, json.renewal_date);
      await posted(system, own);
      const documents = await readTryton(access, "account.invoice", [], ["id"]);
      await payEveryThird(access, month);
      await sync(system, admin, own);
      const open = await expectEqualBooks(system, access, own.organisation, `month ${month + 1}`);
      expect(open.size).toBeGreaterThan(0);
      const minutes = ((performance.now() - began) / 60_000).toFixed(1);
      console.log(`month ${month + 1}: ${documents.length} documents in all, ${minutes} minutes`);
    }
    const notes = await tables(system.pool).creditNote.findMany({
      where: { organisationId: own.organisation },
      orderBy: { number: "asc" },
    });
    // The last one waits for the next renewal.
    const left = notes.map(({ remainingCredit }) => remainingCredit.toFixed(2));
    expect(left).toEqual([...Array(months - 1).fill("0.00"), "13.80"]);
  },
);

/** Creates the subscriptions, the last of them on the volume plan. */
async function subscribeAll(system: TestSystem, key: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < subscriptions; index += 1) {
    const customer_code = `C${index % customers}`;
    const plan =
      index === subscriptions - 1
        ? { plan_code: "bands", units: 10 }
        : { plan_code: "team", units: 2 + (index % 5) };
    ids.push((await subscribe(system, key, { customer_code, ...plan })).id);
  }
  return ids;
}

/** Eleven seats cost less than ten. They are given back, so that the next month is the same. */
async function issueCredit(system: TestSystem, key: string, id: string, from: string) {
  const raised = { units: 11, prorate: true, effective_date: from };
  const { change } = await changeUnits(system, key, id, raised);
  expect(change.credit_note).not.toBeNull();
  await changeUnits(system, key, id, { units: 10 });
}

/** A person books the payment of every third open invoice, and half of the one after it. */
async function payEveryThird(access: TrytonAccess, month: number): Promise<void> {
  const issued = [
    ["state", "=", "posted"],
    ["total_amount", ">", 0],
  ];
  const open = await readTryton(access, "account.invoice", issued, ["reference", "amount_to_pay"]);
  const payments = open.flatMap(({ reference, amount_to_pay }, index) => {
    const due = Math.round(Number((amount_to_pay as Decimal).decimal) * 100);
    if (due <= 0 || (index + month) % 3 === 2) return [];
    const cents = (index + month) % 3 === 0 ? due : Math.floor(due / 2);
    return [{ number: String(reference), cents }];
  });
  await postPayments(access, await draftPayments(access, payments));
}
