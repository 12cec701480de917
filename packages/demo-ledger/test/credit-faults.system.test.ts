/**
 * Faults that tests add to the demo ledger happen on the paths of credit notes and allocations as
 * on all others.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type DemoLedgerFixture, startDemoLedgerFixture } from "./demo-ledger-fixture.ts";
import { type DemoHttp, messagesOf, openDemoHttp, type Sent } from "./request.ts";

let fixture: DemoLedgerFixture;
let http: DemoHttp;

beforeAll(async () => {
  fixture = await startDemoLedgerFixture();
  http = await openDemoHttp(await fixture.connect());
});
afterEach(() => fetch(`${fixture.demo.url}/demo/faults`, { method: "DELETE" }));
afterAll(() => fixture.stop());

/** A write with where it goes (for the fault), how it is sent, and whether it took effect. */
interface Write {
  readonly match: string;
  readonly send: () => Promise<Sent>;
  readonly isDone: () => Promise<boolean>;
}

const base = "/api.xro/2.0/CreditNotes";

async function creation(): Promise<Write> {
  const CreditNoteNumber = `F-${crypto.randomUUID()}`;
  const line = {
    Description: "Work",
    Quantity: 1,
    UnitAmount: 40,
    AccountCode: "200",
    TaxType: "NONE",
  };
  const note = {
    Type: "ACCRECCREDIT",
    Contact: { ContactID: http.contactId },
    CreditNoteNumber,
    LineItems: [line],
  };
  return {
    match: `PUT ${base}`,
    send: () => http.send("PUT", "CreditNotes", { CreditNotes: [note] }),
    isDone: async () => (await http.send("GET", `CreditNotes/${CreditNoteNumber}`)).status === 200,
  };
}

async function change(): Promise<Write> {
  const { CreditNoteID } = await http.creditNote();
  return {
    match: `POST ${base}/${CreditNoteID}`,
    send: () => http.send("POST", `CreditNotes/${CreditNoteID}`, { Status: "DELETED" }),
    isDone: async () => {
      const note = (await http.readCreditNote(CreditNoteID)) as
        | { readonly Status: string }
        | undefined;
      return note?.Status === "DELETED";
    },
  };
}

async function allocation(): Promise<Write> {
  const { CreditNoteID } = await http.creditNote({ Status: "AUTHORISED" });
  const { InvoiceID } = await http.invoice({ Status: "AUTHORISED" });
  return {
    match: `PUT ${base}/${CreditNoteID}/Allocations`,
    send: () => http.allocate(CreditNoteID, [InvoiceID, 10]),
    isDone: async () => (await http.readCreditNote(CreditNoteID))?.Allocations.length === 1,
  };
}

async function takingBack(): Promise<Write> {
  const { CreditNoteID } = await http.creditNote({ Status: "AUTHORISED" });
  const { InvoiceID } = await http.invoice({ Status: "AUTHORISED" });
  await http.allocate(CreditNoteID, [InvoiceID, 10]);
  const id = (await http.readCreditNote(CreditNoteID))?.Allocations[0]?.AllocationID;
  return {
    match: `DELETE ${base}/${CreditNoteID}/Allocations/${id}`,
    send: () => http.send("DELETE", `CreditNotes/${CreditNoteID}/Allocations/${id}`),
    isDone: async () => (await http.readCreditNote(CreditNoteID))?.Allocations.length === 0,
  };
}

describe.each([
  ["creating a credit note", creation],
  ["changing a credit note", change],
  ["putting credit on an invoice", allocation],
  ["taking credit back", takingBack],
] as const)("%s", (_what, prepare) => {
  const order = async (fault: object) => {
    const write = await prepare();
    await fixture.order({ match: write.match, ...fault });
    return write;
  };

  test("is not done if the request is lost, and can be sent again", async () => {
    const write = await order({ kind: "drop_before" });
    await expect(write.send()).rejects.toThrow("fetch failed");
    expect(await write.isDone()).toBe(false);
    expect((await write.send()).status).toBe(200);
    expect(await write.isDone()).toBe(true);
  });

  test("is done if only the answer is lost", async () => {
    const write = await order({ kind: "drop_after" });
    await expect(write.send()).rejects.toThrow("fetch failed");
    expect(await write.isDone()).toBe(true);
  });

  test("is not done if a fault refuses it, with the messages of the fault", async () => {
    const write = await order({ kind: "refuse", messages: ["Not today."] });
    const refused = await write.send();
    expect([refused.status, messagesOf(refused)]).toEqual([400, ["Not today."]]);
    expect(await write.isDone()).toBe(false);
  });

  test.each([
    ["an internal error", { kind: "status", status: 500 }, 500],
    ["a gateway's error", { kind: "status", status: 503 }, 503],
    ["a dead token", { kind: "status", status: 401 }, 401],
    ["a limit", { kind: "rate_limit", problem: "day", retryAfterSeconds: 7 }, 429],
  ])("is not done if the answer is %s", async (_fault, fault, status) => {
    const write = await order(fault);
    const answer = await write.send();
    expect(answer.status).toBe(status);
    if (status === 429) expect(answer.headers.get("retry-after")).toBe("7");
    expect(await write.isDone()).toBe(false);
    expect((await write.send()).status).toBe(200);
  });

  test("is done before an answer that comes late", async () => {
    const write = await order({ kind: "slow_after", delayMs: 300 });
    const answer = write.send();
    await expect.poll(() => write.isDone()).toBe(true);
    expect((await answer).status).toBe(200);
  });
});

test("a request that is never answered is not done", async () => {
  const { CreditNoteID } = await http.creditNote({ Status: "AUTHORISED" });
  await fixture.order({ match: `POST ${base}/${CreditNoteID}`, kind: "hang" });
  const given = fetch(`${http.connection.baseUrl}/CreditNotes/${CreditNoteID}`, {
    method: "POST",
    headers: { authorization: `Bearer ${http.token}` },
    body: JSON.stringify({ Status: "VOIDED" }),
    signal: AbortSignal.timeout(300),
  });
  await expect(given).rejects.toThrow("timeout");
  expect(await http.readCreditNote(CreditNoteID)).toMatchObject({ Status: "AUTHORISED" });
});

test("one element of a list is refused by its number, and the others are created", async () => {
  const numbers = [1, 2].map(() => `F-${crypto.randomUUID()}`);
  const [first, second] = numbers;
  await fixture.order({
    match: `PUT ${base}`,
    kind: "refuse",
    element: second,
    messages: ["Not this one."],
  });
  const line = { Description: "Work", AccountCode: "200", TaxType: "NONE" };
  const made = await http.send("PUT", "CreditNotes?summarizeErrors=false", {
    CreditNotes: numbers.map((CreditNoteNumber) => ({
      Type: "ACCRECCREDIT",
      CreditNoteNumber,
      Contact: { ContactID: http.contactId },
      LineItems: [line],
    })),
  });
  expect(made.body.CreditNotes).toMatchObject([
    { CreditNoteNumber: first, HasErrors: false },
    { CreditNoteNumber: second, HasErrors: true, ValidationErrors: [{ Message: "Not this one." }] },
  ]);
});

describe("an idempotency key", () => {
  test("allocates credit once, however often its request is sent after a lost answer", async () => {
    const { CreditNoteID } = await http.creditNote({ Status: "AUTHORISED" });
    const { InvoiceID } = await http.invoice({ Status: "AUTHORISED" });
    const body = { Allocations: [{ Invoice: { InvoiceID }, Amount: 10, Date: "2026-05-03" }] };
    const key = { "idempotency-key": crypto.randomUUID() };
    const send = () => http.send("PUT", `CreditNotes/${CreditNoteID}/Allocations`, body, key);
    await fixture.order({ match: `${CreditNoteID}/Allocations`, kind: "drop_after" });
    await expect(send()).rejects.toThrow("fetch failed");
    const again = await Promise.all([send(), send(), send()]);
    expect(again.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await http.readCreditNote(CreditNoteID)).toMatchObject({
      RemainingCredit: 30,
      Allocations: [{ Amount: 10 }],
    });
  });

  test("creates one credit note of parallel requests, and is refused for another", async () => {
    const key = { "idempotency-key": crypto.randomUUID() };
    const line = { Description: "Work", AccountCode: "200", TaxType: "NONE" };
    const note = {
      Type: "ACCRECCREDIT",
      Contact: { ContactID: http.contactId },
      LineItems: [line],
    };
    const send = (Reference: string) =>
      http.send("PUT", "CreditNotes", { CreditNotes: [{ ...note, Reference }] }, key);
    const made = await Promise.all(Array.from({ length: 5 }, () => send("one")));
    expect(new Set(made.map(({ body }) => body.CreditNotes?.[0]?.CreditNoteID)).size).toBe(1);
    expect((await send("other")).status).toBe(400);
  });
});
