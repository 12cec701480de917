/**
 * Changing the lines of an invoice that the ledger has: what is not named stays, what is repeated stays as it is, and
 * what must not be changed is refused without a write.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type {
  Ledger,
  LedgerInvoice,
  LedgerInvoiceStatus,
  LedgerLineChange,
  LedgerLineDraft,
} from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import type { XeroConnection } from "../../../src/ledger/xero/wire/connection.ts";
import {
  aCall,
  addLedgerContact,
  addresses,
  aLine,
  aShortCall,
  type DemoLedgerFixture,
  invoiceDraft,
  okOf,
  sentOnce,
  startDemoLedgerFixture,
} from "../../dev/demo-ledger/demo-ledger-fixture.ts";
import { type RecordingProxy, startRecordingProxy } from "./recording-proxy.ts";

const post = "POST /api.xro/2.0/Invoices";
const open: readonly LedgerInvoiceStatus[] = ["draft", "awaiting_approval", "approved"];

let world: DemoLedgerFixture;
let proxy: RecordingProxy;
let connection: XeroConnection;
let contactId: string;
let token: string;
// One straight to the ledger, and one whose every request is written down.
let ledger: Ledger;
let watched: Ledger;

beforeAll(async () => {
  world = await startDemoLedgerFixture();
  proxy = await startRecordingProxy(world.demo.url);
  connection = await world.connect();
  contactId = (await addLedgerContact(connection)).id;
  ledger = createXeroLedger(connection);
  watched = createXeroLedger({ ...connection, ...addresses(proxy.url) });
  token = await tokenOf(connection);
});
beforeEach(() => {
  proxy.exchanges.length = 0;
});
afterEach(async () => {
  await fetch(`${world.demo.url}/demo/faults`, { method: "DELETE" });
});
afterAll(async () => {
  await ledger.close();
  await watched.close();
  await proxy.stop();
  await world.stop();
});

async function tokenOf(from: XeroConnection): Promise<string> {
  const credentials = Buffer.from(`${from.clientId}:${from.clientSecret}`).toString("base64");
  const answer = await fetch(from.identityUrl, {
    method: "POST",
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

const headers = () => ({ authorization: `Bearer ${token}`, "xero-tenant-id": connection.tenantId });

// What a bookkeeper does to an invoice in the ledger itself.
async function byHand(id: string, changes: object): Promise<void> {
  const answer = await fetch(`${connection.baseUrl}/Invoices/${id}?unitdp=4`, {
    method: "POST",
    headers: headers(),
    body: JSON.stringify({ Invoices: [{ InvoiceID: id, ...changes }] }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}

async function rawLines(id: string): Promise<readonly object[]> {
  const answer = await fetch(`${connection.baseUrl}/Invoices/${id}?unitdp=4`, {
    headers: headers(),
  });
  const body = (await answer.json()) as { Invoices: readonly { LineItems: readonly object[] }[] };
  return body.Invoices[0]?.LineItems ?? [];
}

async function pay(id: string, amount?: number): Promise<void> {
  const answer = await world.admin(`tenants/${connection.tenantId}/invoices/${id}/payments`, {
    amount,
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}

async function make(changes: Parameters<typeof invoiceDraft>[1] = {}): Promise<LedgerInvoice> {
  const lines = [
    aLine("3", "10.5000", "31.5000"),
    { ...aLine("1", "99.0000", "99.0000"), description: "Set-up" },
  ];
  const [made] = okOf(
    await ledger.createInvoices(aCall(), [invoiceDraft(contactId, { lines, ...changes })]),
  );
  return okOf(made);
}

function added(changes: Partial<LedgerLineDraft> = {}): LedgerLineChange {
  return {
    ...aLine("2.5", "10.3330", "25.8300"),
    description: "Seats 3 to 4",
    ...changes,
    ledgerLineId: null,
  };
}

function named(line: { readonly ledgerLineId: string } | undefined): LedgerLineChange {
  return { ...aLine("4", "10.5000", "42.0000"), ledgerLineId: line?.ledgerLineId ?? "" };
}

const writes = () =>
  proxy.exchanges.filter(
    ({ method, url }) => method !== "GET" && !url.pathname.includes("connect"),
  );

describe("an amendment", () => {
  test("changes the named line under its id, adds another, and leaves the rest as it is", async () => {
    const invoice = await make();
    const changes = [added(), named(invoice.lines[0])];
    const amended = okOf(
      await watched.amendInvoice(aCall("op"), { id: invoice.id, allowed: open, changes }),
    );
    expect(amended.invoice).toMatchObject({
      id: invoice.id,
      number: invoice.number,
      status: "draft",
    });
    expect(amended.invoice.lines).toEqual([
      { ...invoice.lines[0], amount: "42.0000" },
      invoice.lines[1],
      {
        ledgerLineId: amended.lineIds[0],
        description: "Seats 3 to 4 (2.5 × 10.333 = 25.83)",
        amount: "25.8300",
      },
    ]);
    expect(amended.lineIds[1]).toBe(invoice.lines[0]?.ledgerLineId);
    expect(amended.invoice).toMatchObject({
      subtotal: "166.8300",
      total: "166.8300",
      reference: "PO 42",
    });
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id))).toEqual(amended.invoice);
    // On an update a key could answer with what was before.
    expect(writes()).toHaveLength(1);
    expect(writes()[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test.each([
    ["exclusive", "2469135.9800", "14814816.1900"],
    ["inclusive", "2057613.3200", "12345680.2100"],
    ["none", "0.0000", "12345680.2100"],
  ] as const)("is exact in every digit where amounts are %s of tax", async (lineAmounts, tax, total) => {
    const invoice = await make({ lineAmounts, lines: [aLine("3", "0.3333", "1.0000", "OUTPUT2")] });
    const big = added({
      quantity: "0.1",
      unitAmount: "123456789.1000",
      amount: "12345678.9100",
      taxType: "OUTPUT2",
    });
    const small = added({ quantity: "3", unitAmount: "0.1000", amount: "0.3000", taxType: "NONE" });
    const answer = await ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [big, small],
    });
    const amended = okOf(answer).invoice;
    expect(amended.lines.map(({ amount }) => amount)).toEqual([
      "1.0000",
      "12345678.9100",
      "0.3000",
    ]);
    expect(amended).toMatchObject({ tax, total });
  });

  test("of an invoice whose amounts somebody turned to another kind is refused without a write", async () => {
    const invoice = await make({ lineAmounts: "inclusive" });
    const ours = {
      id: invoice.id,
      allowed: open,
      lineAmounts: "exclusive",
      changes: [added()],
    } as const;
    const answer = await watched.amendInvoice(aCall(), ours);
    expect(answer).toMatchObject({ kind: "refused", reason: "wrong_status" });
    expect(writes()).toEqual([]);
    okOf(await ledger.amendInvoice(aCall(), { ...ours, lineAmounts: "inclusive" }));
  });

  test("leaves what somebody did in the ledger by hand: a line, its account, its unit price and a tax set by hand", async () => {
    const invoice = await make();
    const freight = {
      Description: "Freight",
      Quantity: 2.5,
      UnitAmount: 0.3333,
      AccountCode: "260",
      TaxType: "OUTPUT2",
    };
    const standing = invoice.lines.map(({ ledgerLineId }) => ({ LineItemID: ledgerLineId }));
    await byHand(invoice.id, { LineItems: [{ ...freight, TaxAmount: 0.05 }, ...standing] });
    const before = await rawLines(invoice.id);
    const changes = [named(invoice.lines[0]), added()];
    okOf(await ledger.amendInvoice(aCall(), { id: invoice.id, allowed: open, changes }));
    const after = await rawLines(invoice.id);
    expect(after).toHaveLength(4);
    expect(after[0]).toEqual(before[0]);
    expect(after[0]).toMatchObject({ ...freight, TaxAmount: 0.05 });
    expect(after[2]).toEqual(before[2]);
  });

  test("repeated changes nothing and sends nothing, and says the same ids", async () => {
    const invoice = await make();
    const amendment = {
      id: invoice.id,
      allowed: open,
      changes: [named(invoice.lines[1]), added(), added()],
    };
    const first = okOf(await ledger.amendInvoice(aCall("op"), amendment));
    expect(first.invoice.lines).toHaveLength(4);
    const again = okOf(await watched.amendInvoice(aCall("op"), amendment));
    expect(again).toEqual(first);
    expect(writes()).toEqual([]);
  });

  test("of a line that was deleted by hand is refused: added anew it might be billed twice", async () => {
    const invoice = await make();
    await byHand(invoice.id, { LineItems: [{ LineItemID: invoice.lines[1]?.ledgerLineId }] });
    const before = okOf(await ledger.getInvoice(aCall(), invoice.id));
    const amendment = { id: invoice.id, allowed: open, changes: [named(invoice.lines[0])] };
    expect(await watched.amendInvoice(aCall(), amendment)).toMatchObject({
      kind: "refused",
      reason: "validation",
    });
    expect(writes()).toEqual([]);
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id))).toEqual(before);
  });

  test("the ledger does not take is refused in its own words, and the invoice stays as it was", async () => {
    const invoice = await make();
    const changes = [named(invoice.lines[0]), added({ accountCode: "205" })];
    const answer = await ledger.amendInvoice(aCall(), { id: invoice.id, allowed: open, changes });
    expect(answer).toMatchObject({ kind: "refused", reason: "account_invalid" });
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id))).toEqual(invoice);
  });
});

describe("an amendment whose answer is lost", () => {
  test.each([
    "drop_before",
    "drop_after",
  ])("(%s) and is repeated gives exactly one added line", async (kind) => {
    const invoice = await make();
    const amendment = {
      id: invoice.id,
      allowed: open,
      changes: [named(invoice.lines[0]), added()],
    };
    await world.order({ match: post, kind });
    const lost = await ledger.amendInvoice(aCall("op"), amendment);
    expect(lost).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    const again = okOf(await ledger.amendInvoice(aCall("op"), amendment));
    expect(again.invoice.lines).toHaveLength(3);
    expect(again.invoice).toMatchObject({ total: "166.8300" });
    expect(okOf(await ledger.amendInvoice(aCall("op"), amendment))).toEqual(again);
  });

  test("because the ledger was slow is unknown, and is there once it is done", async () => {
    const invoice = await make();
    const amendment = { id: invoice.id, allowed: open, changes: [added()] };
    await ledger.describe(aCall());
    await world.order({ match: post, kind: "slow_before", delayMs: 800 });
    const { answer: lost } = await sentOnce(() => ledger.amendInvoice(aShortCall("op"), amendment));
    expect(lost).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    const linesNow = async () => okOf(await ledger.getInvoice(aCall(), invoice.id)).lines.length;
    await expect.poll(linesNow).toBe(3);
    expect(okOf(await ledger.amendInvoice(aCall("op"), amendment)).invoice.lines).toHaveLength(3);
  });

  test("at the first read was not sent", async () => {
    const invoice = await make();
    await world.order({ match: "GET /api.xro/2.0/Invoices", kind: "drop_before" });
    const answer = await ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
  });
});

describe("an answer that cannot be trusted", () => {
  // What the ledger says of an invoice, with a part of it made wrong.
  async function answerWith(match: string, id: string, fault: object): Promise<void> {
    const answer = await fetch(`${connection.baseUrl}/Invoices/${id}?unitdp=4`, {
      headers: headers(),
    });
    const { Invoices } = (await answer.json()) as { Invoices: readonly object[] };
    const body = JSON.stringify({ Invoices: [{ ...Invoices[0], ...fault }] });
    await world.order({ match, kind: "status", status: 200, body });
  }

  test.each([
    ["no lines", { LineItems: [] }],
    ["lines that are none", { LineItems: null }],
    ["a line without id", { LineItems: [{ Description: "Seats", LineAmount: 31.5 }] }],
    ["a status that nobody knows", { Status: "SENT" }],
  ])("when read, for %s, is followed by no write", async (_what, fault) => {
    const invoice = await make();
    await answerWith(`GET /api.xro/2.0/Invoices/${invoice.id}`, invoice.id, fault);
    const answer = await watched.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
    expect(writes()).toEqual([]);
  });

  const addedLine = {
    LineItemID: "new",
    Description: "Seats 3 to 4 (2.5 × 10.333 = 25.83)",
    LineAmount: 25.83,
  };

  test.each([
    ["without the added line", {}],
    [
      "of another invoice",
      { InvoiceID: "11111111-2222-3333-4444-555555555555", LineItems: [addedLine] },
    ],
    ["without amounts", { Total: null }],
  ])("after the write, %s, leaves it unknown", async (_what, fault) => {
    const invoice = await make();
    await answerWith(post, invoice.id, fault);
    const answer = await ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
  });

  test("but says in a 200 that it was refused, is a refusal", async () => {
    const invoice = await make();
    const Message =
      "This document cannot be edited as it has a payment or credit note allocated to it.";
    await answerWith(post, invoice.id, { HasErrors: true, ValidationErrors: [{ Message }] });
    const answer = await ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toEqual({
      kind: "refused",
      reason: "has_payment_or_credit",
      messages: [Message],
    });
  });
});

describe("an invoice that must not be changed", () => {
  async function inStatus(status: LedgerInvoiceStatus): Promise<LedgerInvoice> {
    const isOpen = status === "draft" || status === "awaiting_approval" || status === "approved";
    const invoice = await make({
      status: isOpen ? status : status === "deleted" ? "draft" : "approved",
    });
    if (status === "paid") await pay(invoice.id);
    if (status === "voided" || status === "deleted")
      okOf(await ledger.removeInvoice(aCall(), invoice.id));
    return okOf(await ledger.getInvoice(aCall(), invoice.id));
  }

  test.each([
    ["draft", ["approved"], "is a draft; its lines can be changed while it is approved."],
    [
      "awaiting_approval",
      ["draft"],
      "is awaiting approval; its lines can be changed while it is a draft.",
    ],
    [
      "approved",
      ["draft", "awaiting_approval"],
      "is approved; its lines can be changed while it is a draft or",
    ],
    ["paid", open, "is paid; its lines"],
    ["voided", open, "is voided; its lines"],
    ["deleted", open, "is deleted; its lines"],
  ] as const)("because it is %s is refused in plain words and without a write", async (status, allowed, words) => {
    const invoice = await inStatus(status);
    const changes = [named(invoice.lines[0]), added()];
    const answer = await watched.amendInvoice(aCall(), { id: invoice.id, allowed, changes });
    expect(answer).toMatchObject({ kind: "refused", reason: "wrong_status" });
    expect(answer).toMatchObject({
      messages: [expect.stringContaining(`Invoice ${invoice.number} ${words}`)],
    });
    expect(writes()).toEqual([]);
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id))).toEqual(invoice);
  });

  test.each([
    "draft",
    "awaiting_approval",
    "approved",
  ] as const)("is none that is %s and may be", async (status) => {
    const invoice = await inStatus(status);
    const answer = await ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: [status],
      changes: [added()],
    });
    expect(okOf(answer).invoice).toMatchObject({ status, total: "156.3300" });
  });

  test("because money is on it is refused without a write", async () => {
    const invoice = await make({ status: "approved" });
    await pay(invoice.id, 1);
    const answer = await watched.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: open,
      changes: [added()],
    });
    expect(answer).toMatchObject({ kind: "refused", reason: "has_payment_or_credit" });
    const paid = await make({ status: "approved" });
    await pay(paid.id);
    const other = await watched.amendInvoice(aCall(), {
      id: paid.id,
      allowed: ["paid"],
      changes: [added()],
    });
    expect(other).toMatchObject({ kind: "refused", reason: "has_payment_or_credit" });
    expect(writes()).toEqual([]);
  });

  test("because it is not there is refused, also where the id is none or another organisation's", async () => {
    const other = createXeroLedger(await world.connect());
    const theirs = await make();
    for (const [from, id] of [
      [watched, crypto.randomUUID()],
      [watched, `../Contacts/${contactId}`],
      [watched, theirs.number],
      [other, theirs.id],
    ] as const) {
      const answer = await from.amendInvoice(aCall(), { id, allowed: open, changes: [added()] });
      expect(answer).toMatchObject({ kind: "refused", reason: "not_found" });
    }
    expect(writes()).toEqual([]);
    await other.close();
  });

  async function whileItWaits<T>(start: () => Promise<T>, then: () => Promise<void>): Promise<T> {
    await world.order({ match: post, kind: "slow_before", delayMs: 1_500 });
    const started = start();
    const left = async () =>
      ((await (await fetch(`${world.demo.url}/demo/faults`)).json()) as { left: number }).left;
    await expect.poll(left, { interval: 20 }).toBe(0);
    await then();
    return started;
  }

  test("because it was approved after we read it is refused by the ledger", async () => {
    const invoice = await make();
    const answer = await whileItWaits(
      () =>
        ledger.amendInvoice(aCall(), { id: invoice.id, allowed: ["draft"], changes: [added()] }),
      () => byHand(invoice.id, { Status: "AUTHORISED" }),
    );
    expect(answer).toMatchObject({ kind: "refused", reason: "wrong_status" });
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id)).lines).toEqual(invoice.lines);
  });

  test("because money came onto it after we read it is refused by the ledger", async () => {
    const invoice = await make({ status: "approved" });
    const answer = await whileItWaits(
      () => ledger.amendInvoice(aCall(), { id: invoice.id, allowed: open, changes: [added()] }),
      () => pay(invoice.id, 1),
    );
    expect(answer).toMatchObject({ kind: "refused", reason: "has_payment_or_credit" });
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id)).lines).toEqual(invoice.lines);
  });
});
