/** Create subscription at its edges: the largest amounts, accounts, and a key after its day. */
import { describe, expect } from "vitest";
import { tables } from "../support/rows.ts";
import { refusalOf } from "./checked-ask.ts";
import { creationTest as test } from "./creation-fixture.ts";
import { addLike } from "./row-builder.ts";

describe("the largest amounts", () => {
  const price = "999999999.9999";

  test("are exact, in the answer and in the ledger", async ({ system, created, sandbox }) => {
    const own = await sandbox();
    const charges = Array.from({ length: 20 }, () => ({
      charge_code: "onboarding",
      quantity: 999,
      price,
    }));
    // 980,000 × 999,999,999.9999, and 20 times 999 × it, 998,999,999,999.9001 rounded to
    // 998,999,999,999.90.
    const { invoice } = await created({ plan_code: "team", units: 980_000, price, charges }, own);
    expect(invoice.lines[0].amount).toBe("979999999999902.0000");
    expect(invoice.lines[1].amount).toBe("998999999999.9000");
    expect(invoice).toMatchObject({
      subtotal: "999979999999900.0000",
      total: "1199975999999880.0000",
      ledger: { sync_status: "synced" },
    });
    const text = "SELECT sub_total, total FROM demo_ledger.invoices WHERE tenant_id = $1";
    const { rows } = await system.pool.query(text, [own.tenantId]);
    expect(rows).toEqual([{ sub_total: "999979999999900.00", total: "1199975999999880.00" }]);
  });
});

describe("a first invoice in the ledger", () => {
  test("has the account and tax of each plan or charge, else the organisation's", async ({
    system,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    const changes = { code: "taxed", revenue_account: "201", tax_type: "RROUTPUT" };
    await addLike(system.pool, "plans", own.organisationId, "site", changes);
    const charges = [{ charge_code: "hardware-key" }];
    const { invoice } = await created(
      { plan_code: "taxed", charges, invoice_reference: "PO-3" },
      own,
    );
    // 49.00 at 5 % and 39.90 at 20 %.
    expect(invoice).toMatchObject({ subtotal: "88.9000", total: "99.3300", amount_due: "99.3300" });
    const text = `SELECT number, reference, currency, issue_date, due_date, lines
      FROM demo_ledger.invoices WHERE tenant_id = $1`;
    const { rows } = await system.pool.query(text, [own.tenantId]);
    expect(rows).toEqual([
      {
        number: invoice.number,
        reference: "PO-3",
        currency: "NZD",
        issue_date: "2026-01-31",
        due_date: "2026-02-14",
        lines: [
          expect.objectContaining({ accountCode: "201", taxType: "RROUTPUT" }),
          expect.objectContaining({ accountCode: "200", taxType: "OUTPUT2" }),
        ],
      },
    ]);
  });

  test("is paid at once if it is approved and its total is zero", async ({ created, sandbox }) => {
    const own = await sandbox({ first_invoice_status: "approved" });
    const { invoice } = await created({ plan_code: "site", discount_percent: "100" }, own);
    expect(invoice).toMatchObject({ status: "paid", total: "0.0000", amount_due: "0.0000" });
  });

  test("is refused by the ledger if the ledger lacks its currency", async ({
    system,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    await addLike(system.pool, "plans", own.organisationId, "site", {
      code: "dinar",
      currency: "KWD",
      price: "1.23",
    });
    const answer = await created({ plan_code: "dinar" }, own);
    expect(answer.invoice).toMatchObject({ subtotal: "1.2300", status: "not_in_external" });
    expect(answer.invoice.ledger.sync_error).toContain("KWD");
  });

  test("is never sent with an amount of three places, which the ledger would change", async ({
    system,
    created,
    sandbox,
  }) => {
    const own = await sandbox();
    const plan = { code: "fils", currency: "KWD", price: "1.2345" };
    await addLike(system.pool, "plans", own.organisationId, "site", plan);
    const answer = await created({ plan_code: "fils" }, own);
    expect(answer).toMatchObject({ currency: "KWD", renewal_value: "1.2350" });
    expect(answer.invoice).toMatchObject({ subtotal: "1.2350", status: "not_in_external" });
    expect(answer.invoice.ledger.sync_error).toContain("two decimal places");
  });
});

test("a key reused after 24 hours finds its subscription and refuses another body", async ({
  system,
  ask,
  shared,
  create,
}) => {
  const body = { plan_code: "team", units: 4, label: "kept" };
  const first = await create(body, shared, "old");
  await tables(system.pool).idempotencyKey.updateMany({
    where: { key: "old" },
    data: { expiresAt: new Date() },
  });
  const conflict = await create({ ...body, units: 5 }, shared, "old");
  expect(refusalOf(conflict).code).toBe("idempotency_conflict");
  const again = await create(body, shared, "old");
  expect(again.status, again.text).toBe(201);
  expect(again.json).toEqual(first.json);
  const { json } = await ask("GET", "/v1/subscriptions?limit=100", { key: shared.apiKey });
  expect(json.data.filter(({ label }: { label: string }) => label === "kept")).toHaveLength(1);
});
