/**
 * Single reads over HTTP: credit notes, invoices with an amendment, plans, look-ups. OBJECT-9 to
 * OBJECT-11.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { tables } from "../support/rows.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { readsTest as test } from "./readable-objects.ts";

const lists = ["customers", "plans", "charges", "subscriptions", "invoices", "credit_notes"];

const invalid = (param: string) => refused(422, "invalid_parameter", param);

test("a credit note shows its lines, its allocations and its remaining amount", async ({
  ids,
  read,
  list,
}) => {
  expect((await read(`/v1/credit_notes/${ids.partial}`)).json).toEqual({
    id: ids.partial,
    object: "credit_note",
    customer: ids["one's customer"],
    subscription: ids.one,
    number: "CN-2",
    reference: "PO-9",
    status: "approved",
    currency: "NZD",
    credit_note_date: "2026-03-16T00:00:00.000Z",
    subtotal: "12.0000",
    total: "12.0000",
    remaining_credit: "4.5000",
    allocation_status: "partially_applied",
    sent: false,
    ledger: { sync_status: "synced", credit_note_id: expect.any(String), sync_error: null },
    lines: [
      {
        id: expect.any(String),
        name: "Scale",
        description: "10 to 11 seats",
        amount: "12.0000",
        effective_date: "2026-03-16T00:00:00.000Z",
      },
    ],
    allocations: [
      {
        id: expect.any(String),
        invoice: ids["one's invoice"],
        amount: "7.5000",
        date: "2026-04-01T00:00:00.000Z",
        status: "active",
        ledger_sync_status: "synced",
      },
    ],
    created: "2026-03-16T09:30:00.000Z",
  });
  const { data } = await list("/v1/credit_notes");
  expect(data.map(({ allocation_status }) => allocation_status)).toEqual([
    "unapplied",
    "not_applicable",
    "applied",
    "partially_applied",
    "unapplied",
  ]);
  expect(data[0]).toMatchObject({
    reference: null,
    ledger: { sync_status: "failed", credit_note_id: null, sync_error: "No such account" },
    allocations: [],
  });
});

test("an invoice shows a refused amendment, also in lists, and keeps its lines", async ({
  system,
  ids,
  read,
  list,
}) => {
  const id = ids["two's invoice"] ?? "";
  const { json: before } = await read(`/v1/invoices/${id}`);
  await tables(system.pool).invoice.updateMany({
    where: { id },
    data: { syncError: "The lock date has passed." },
  });
  const failed = {
    ...before.ledger,
    sync_status: "failed",
    sync_error: "The lock date has passed.",
  };
  expect(before).toMatchObject({
    status: "draft",
    ledger: { sync_status: "synced", sync_error: null },
  });
  expect((await read(`/v1/invoices/${id}`)).json).toEqual({ ...before, ledger: failed });
  expect((await list(`/v1/invoices?subscription=${ids.two}`)).data).toEqual([
    { ...before, ledger: failed },
  ]);
  await tables(system.pool).invoice.updateMany({ where: { id }, data: { syncError: null } });
  expect((await read(`/v1/invoices/${id}`)).json).toEqual(before);
});

test("a plan shows its tiers with both bounds and no price", async ({ list }) => {
  const plans = (await list("/v1/plans")).data;
  const byCode = (code: string) => plans.find((plan) => plan.code === code);
  expect(byCode("scale")).toMatchObject({
    type: "volume",
    interval: { unit: "month", count: 1 },
    price: "0.0000",
    free_units: 2,
    unit_labels: { singular: "seat", plural: "seats" },
    allows_price_override: false,
    tiers: [
      { from: 1, up_to: 5, unit_price: "7.0000", flat_price: null },
      { from: 6, up_to: 10, unit_price: "6.5000", flat_price: null },
      { from: 11, up_to: null, unit_price: "6.0000", flat_price: null },
    ],
  });
  expect(byCode("steps")?.tiers).toMatchObject([
    { unit_price: null, flat_price: "50.0000" },
    {},
    {},
  ]);
  expect(byCode("site")).toMatchObject({ price: "49.0000", tiers: [] });
});

test("a read ignores an Idempotency-Key, even a malformed one", async ({ ask, own }) => {
  const requested = { key: own.apiKey, idempotencyKey: "a b" };
  for (const path of ["/v1/organisation", "/v1/plans"]) {
    const answer = await ask("GET", path, requested);
    expect([answer.status, answer.headers.get("Idempotent-Replayed")]).toEqual([200, null]);
  }
});

describe("a look-up", () => {
  test.for(lists)("of %s answers the same 404 for every unknown or foreign id", async (kind, {
    ids,
    read,
    list,
  }) => {
    const code = `${kind.slice(0, -1)}_not_found`;
    const other = kind === "plans" ? ids.one : (await list("/v1/plans")).data[0]?.id;
    for (const id of [
      randomUUID(),
      other,
      "abc",
      "0",
      "%20",
      "null",
      "a%2Fb",
      "%F0%9F%98%80",
      "x".repeat(300),
    ]) {
      expect({ id, ...refusalOf(await read(`/v1/${kind}/${id}`)) }).toEqual({
        id,
        ...refused(404, code),
      });
    }
    const { data } = await list(`/v1/${kind}?limit=1`);
    expect(refusalOf(await read(`/v1/${kind}/${data[0]?.id.replaceAll("-", "")}`))).toEqual(
      refused(404, code),
    );
    expect(refusalOf(await read(`/v1/${kind}/{${data[0]?.id}}`))).toEqual(refused(404, code));
    expect(refusalOf(await read(`/v1/${kind}/${data[0]?.id}?limit=1`))).toEqual(invalid("limit"));
  });
});
