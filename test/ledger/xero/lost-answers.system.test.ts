/** Lost requests and answers: the outcome is found by our number, and nothing is doubled. */
import { describe, expect } from "vitest";
import {
  aCall,
  aShortCall,
  contactDraft,
  invoiceDraft,
  okOf,
  sentOnce,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { demoLedgerTest as test } from "../../../packages/demo-ledger/test/fixtures.ts";
import type { Ledger, LedgerCreditApplication } from "../../../src/ledger/port/ledger.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { creditNoteDraft } from "../conformance/credit-drafts.ts";

let ledger: Ledger;

test.beforeEach(({ connection }) => {
  ledger = createXeroLedger(connection);
});
test.afterEach(async ({ fixture }) => {
  await fetch(`${fixture.demo.url}/demo/faults`, { method: "DELETE" });
  await ledger.close();
});
const put = "PUT /api.xro/2.0/Invoices";

describe("a create whose answer is lost", () => {
  test("is unknown, and not there where the request was lost", async ({ fixture, contactId }) => {
    const draft = invoiceDraft(contactId);
    await fixture.order({ match: put, kind: "drop_before" });
    const answer = await ledger.createInvoices(aCall("lost-1"), [draft]);
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    expect(okOf(await ledger.findInvoices(aCall(), { numbers: [draft.number] }))).toEqual([]);
    expect(okOf(okOf(await ledger.createInvoices(aCall("lost-1"), [draft]))[0]).number).toBe(
      draft.number,
    );
  });

  test("is unknown, and found by its number where the answer was lost", async ({
    fixture,
    contactId,
  }) => {
    const drafts = [invoiceDraft(contactId), invoiceDraft(contactId)];
    await fixture.order({ match: put, kind: "drop_after" });
    const answer = await ledger.createInvoices(aCall("lost-2", "lost-3"), drafts);
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    const found = okOf(
      await ledger.findInvoices(aCall(), { numbers: drafts.map(({ number }) => number) }),
    );
    expect(found.map(({ number }) => number).sort()).toEqual(
      drafts.map(({ number }) => number).sort(),
    );
    expect(found.every(({ sourceUrl }) => sourceUrl === drafts[0]?.sourceUrl)).toBe(true);
  });

  test("is given again by a fast resend of the same operations, not made twice", async ({
    fixture,
    contactId,
  }) => {
    const draft = invoiceDraft(contactId);
    await fixture.order({ match: put, kind: "drop_after" });
    await ledger.createInvoices(aCall("lost-4"), [draft]);
    const again = okOf(okOf(await ledger.createInvoices(aCall("lost-4"), [draft]))[0]);
    const found = okOf(await ledger.findInvoices(aCall(), { numbers: [draft.number] }));
    expect(found).toEqual([again]);
  });

  test("and is resent as another operation is refused, because its number is taken", async ({
    fixture,
    contactId,
  }) => {
    const draft = invoiceDraft(contactId);
    await fixture.order({ match: put, kind: "drop_after" });
    await ledger.createInvoices(aCall("lost-5"), [draft]);
    const [again] = okOf(await ledger.createInvoices(aCall("other"), [draft]));
    expect(again).toMatchObject({ kind: "refused", reason: "duplicate_number" });
  });

  test("is unknown if the ledger exceeds the deadline, and may be created", async ({
    fixture,
    contactId,
  }) => {
    const draft = invoiceDraft(contactId);
    await ledger.describe(aCall());
    await fixture.order({ match: put, kind: "slow_before", delayMs: 800 });
    const { answer } = await sentOnce(() => ledger.createInvoices(aShortCall("slow"), [draft]));
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    await expect
      .poll(
        async () => okOf(await ledger.findInvoices(aCall(), { numbers: [draft.number] })).length,
      )
      .toBe(1);
  });

  test("is unknown where the ledger hangs", async ({ fixture, contactId }) => {
    await ledger.describe(aCall());
    await fixture.order({ match: put, kind: "hang" });
    const { answer } = await sentOnce(() =>
      ledger.createInvoices(aShortCall("hang"), [invoiceDraft(contactId)]),
    );
    expect(answer).toMatchObject({
      kind: "unavailable",
      outcome: "unknown",
      cause: "no answer before the deadline",
    });
  });

  test("is unknown where it comes too late", async ({ fixture, contactId }) => {
    const draft = invoiceDraft(contactId);
    await ledger.describe(aCall());
    await fixture.order({ match: put, kind: "slow_after", delayMs: 5_000 });
    const { answer } = await sentOnce(() => ledger.createInvoices(aShortCall("late"), [draft]));
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    await expect
      .poll(
        async () => okOf(await ledger.findInvoices(aCall(), { numbers: [draft.number] })).length,
      )
      .toBe(1);
  });

  test("is unknown where a gateway answers 503 in HTML", async ({ fixture, contactId }) => {
    await fixture.order({ match: put, kind: "status", status: 503 });
    const answer = await ledger.createInvoices(aCall("html"), [invoiceDraft(contactId)]);
    expect(answer).toEqual({
      kind: "unavailable",
      outcome: "unknown",
      cause: "the ledger answered 503",
    });
  });

  test("is remembered by the ledger as an error until another variant is sent", async ({
    fixture,
    contactId,
  }) => {
    const draft = invoiceDraft(contactId);
    await fixture.order({ match: put, kind: "status", status: 500 });
    const unknown = { kind: "unavailable", outcome: "unknown" };
    expect(await ledger.createInvoices(aCall("cached"), [draft])).toMatchObject(unknown);
    expect(await ledger.createInvoices(aCall("cached"), [draft])).toMatchObject(unknown);
    const [made] = okOf(await ledger.createInvoices({ ...aCall("cached"), variant: "2" }, [draft]));
    expect(okOf(made).number).toBe(draft.number);
  });

  test("of a contact is found by its code", async ({ fixture }) => {
    const draft = contactDraft();
    await fixture.order({ match: "PUT /api.xro/2.0/Contacts", kind: "drop_after" });
    expect(await ledger.createContacts(aCall("contact"), [draft])).toMatchObject({
      outcome: "unknown",
    });
    expect(okOf(await ledger.findContacts(aCall(), { codes: [draft.code] }))).toMatchObject([
      { name: draft.name },
    ]);
  });
});

describe("a credit note whose answer is lost", () => {
  const putNotes = "PUT /api.xro/2.0/CreditNotes";

  test("is unknown, and not there where the request was lost", async ({ fixture, contactId }) => {
    const draft = creditNoteDraft(contactId);
    await fixture.order({ match: putNotes, kind: "drop_before" });
    const answer = await ledger.createCreditNotes(aCall("note-1"), [draft]);
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    expect(okOf(await ledger.findCreditNotes(aCall(), { numbers: [draft.number] }))).toEqual([]);
  });

  test("is found by its number after a lost answer, and a resend creates one", async ({
    fixture,
    contactId,
  }) => {
    const drafts = [creditNoteDraft(contactId), creditNoteDraft(contactId)];
    await fixture.order({ match: putNotes, kind: "drop_after" });
    const answer = await ledger.createCreditNotes(aCall("note-2", "note-3"), drafts);
    expect(answer).toMatchObject({ kind: "unavailable", outcome: "unknown" });
    const numbers = drafts.map(({ number }) => number);
    const found = okOf(await ledger.findCreditNotes(aCall(), { numbers }));
    expect(found.map(({ number }) => number).sort()).toEqual(numbers.sort());
    const again = okOf(await ledger.createCreditNotes(aCall("note-2", "note-3"), drafts)).map(okOf);
    expect(again.map(({ id }) => id).sort()).toEqual(found.map(({ id }) => id).sort());
    const other = okOf(await ledger.createCreditNotes(aCall("other"), drafts));
    expect(other).toMatchObject([{ reason: "duplicate_number" }, { reason: "duplicate_number" }]);
  });

  test("because it came too late is found by its number", async ({ fixture, contactId }) => {
    const draft = creditNoteDraft(contactId);
    await ledger.describe(aCall());
    await fixture.order({ match: putNotes, kind: "slow_after", delayMs: 5_000 });
    const { answer } = await sentOnce(() =>
      ledger.createCreditNotes(aShortCall("note-4"), [draft]),
    );
    expect(answer).toMatchObject({ outcome: "unknown" });
    const found = async () =>
      okOf(await ledger.findCreditNotes(aCall(), { numbers: [draft.number] }));
    await expect.poll(async () => (await found()).length).toBe(1);
  });
});

describe("an allocation whose answer is lost", () => {
  const getNote = "GET /api.xro/2.0/CreditNotes";
  const unknown = { kind: "unavailable", outcome: "unknown" };
  let application: LedgerCreditApplication;
  let match: string;

  test.beforeEach(async ({ contactId }) => {
    const note = okOf(
      okOf(await ledger.createCreditNotes(aCall(), [creditNoteDraft(contactId)]))[0],
    );
    const invoice = invoiceDraft(contactId, { status: "approved" });
    const invoiceId = okOf(okOf(await ledger.createInvoices(aCall(), [invoice]))[0]).id;
    application = { creditNoteId: note.id, invoiceId, amount: "10.0000", date: "2026-03-10" };
    match = `PUT /api.xro/2.0/CreditNotes/${note.id}/Allocations`;
  });

  // The note is read, as after a lost answer.
  async function allocated(): Promise<readonly object[]> {
    return okOf(await ledger.getCreditNote(aCall(), application.creditNoteId)).allocations;
  }

  const expected = () => [
    expect.objectContaining({ invoiceId: application.invoiceId, amount: "10.0000" }),
  ];

  test("does not exist after a lost request, and exists after a retry", async ({ fixture }) => {
    await fixture.order({ match, kind: "drop_before" });
    expect(await ledger.allocateCredit(aCall("credit"), application)).toMatchObject(unknown);
    expect(await allocated()).toEqual([]);
    okOf(await ledger.allocateCredit(aCall("credit"), application));
    expect(await allocated()).toEqual(expected());
  });

  test("is there exactly once where the answer was lost, also after a fast resend", async ({
    fixture,
  }) => {
    await fixture.order({ match, kind: "drop_after" });
    expect(await ledger.allocateCredit(aCall("credit"), application)).toMatchObject(unknown);
    expect(await allocated()).toEqual(expected());
    const again = okOf(await ledger.allocateCredit(aCall("credit"), application));
    expect(again).toMatchObject({ remainingCredit: "21.5000", allocations: expected() });
    expect(await allocated()).toEqual(expected());
  });

  test.for([
    { kind: "drop_before" },
    { kind: "status", status: 503 },
    { kind: "status", status: 404 },
    { kind: "status", status: 403 },
    { kind: "rate_limit" },
    { kind: "status", status: 200, body: "{}" },
  ])("is unknown where it went and the note could not be read: %o", async (fault, { fixture }) => {
    await fixture.order({ match: getNote, ...fault });
    expect(await ledger.allocateCredit(aCall("credit"), application)).toMatchObject(unknown);
    expect(await allocated()).toEqual(expected());
  });

  test("is unknown where the note read afterwards does not show it yet", async ({ fixture }) => {
    const note = okOf(await ledger.getCreditNote(aCall(), application.creditNoteId));
    const element = {
      CreditNoteID: note.id,
      CreditNoteNumber: note.number,
      Contact: { ContactID: note.contactId },
      Status: "AUTHORISED",
      CurrencyCode: note.currency,
      DateString: "2026-03-05T00:00:00",
      ...{
        SubTotal: 31.5,
        TotalTax: 0,
        Total: 31.5,
        RemainingCredit: 31.5,
        UpdatedDateUTC: "/Date(0)/",
      },
    };
    const body = JSON.stringify({ CreditNotes: [element] });
    await fixture.order({ match: getNote, kind: "status", status: 200, body });
    expect(await ledger.allocateCredit(aCall("credit"), application)).toMatchObject(unknown);
  });

  test("is refused, not unknown, where the ledger says so in a 200", async ({ fixture }) => {
    const Message = "Credit Note cannot be allocated as amount is greater than amount outstanding";
    const body = JSON.stringify({ Allocations: [{ Amount: 10, ValidationErrors: [{ Message }] }] });
    await fixture.order({ match, kind: "status", status: 200, body });
    const answer = await ledger.allocateCredit(aCall("credit"), application);
    expect(answer).toEqual({ kind: "refused", reason: "amount_exceeds", messages: [Message] });
  });
});

test("a removal whose answer is lost converges when it is repeated", async ({
  fixture,
  contactId,
}) => {
  const [made] = okOf(
    await ledger.createInvoices(aCall(), [invoiceDraft(contactId, { status: "approved" })]),
  );
  const { id } = okOf(made);
  await fixture.order({ match: "POST /api.xro/2.0/Invoices", kind: "drop_after" });
  expect(await ledger.removeInvoice(aCall(), id)).toMatchObject({
    kind: "unavailable",
    outcome: "unknown",
  });
  expect(okOf(await ledger.removeInvoice(aCall(), id))).toMatchObject({
    outcome: "already_removed",
  });
});

test("a read that fails was not sent, because repeating it is free", async ({ fixture }) => {
  const missing = crypto.randomUUID();
  await fixture.order({ match: "GET /api.xro/2.0/Invoices", kind: "drop_before" });
  expect(await ledger.getInvoice(aCall(), missing)).toMatchObject({
    kind: "unavailable",
    outcome: "not_sent",
  });
});

test("a ledger that cannot be reached was not sent anything", async ({ connection, contactId }) => {
  const unreachable = createXeroLedger({
    ...connection,
    baseUrl: "http://127.0.0.1:1/api.xro/2.0",
  });
  const nobody = createXeroLedger({
    ...connection,
    identityUrl: "http://127.0.0.1:1/connect/token",
  });
  const expected = { kind: "unavailable", outcome: "not_sent" };
  expect(await unreachable.createInvoices(aCall("x"), [invoiceDraft(contactId)])).toMatchObject(
    expected,
  );
  expect(await nobody.createInvoices(aCall("x"), [invoiceDraft(contactId)])).toMatchObject(
    expected,
  );
  await Promise.all([unreachable.close(), nobody.close()]);
});

test("a call whose deadline has passed was not sent", async ({ contactId }) => {
  const answer = await ledger.createInvoices({ deadlineMs: 0, jobKeys: ["y"] }, [
    invoiceDraft(contactId),
  ]);
  expect(answer).toMatchObject({ kind: "unavailable", outcome: "not_sent" });
});

test("a refusal of one element leaves the others made", async ({ fixture, contactId }) => {
  const drafts = [invoiceDraft(contactId), invoiceDraft(contactId), invoiceDraft(contactId)];
  const refused = drafts[1]?.number;
  const messages = [
    "The document date cannot be before the period lock date, currently set at 2026-02-28",
  ];
  await fixture.order({ match: put, kind: "refuse", element: refused, messages });
  const answers = okOf(await ledger.createInvoices(aCall("part"), drafts));
  expect(answers.map(({ kind }) => kind)).toEqual(["ok", "refused", "ok"]);
  expect(answers[1]).toEqual({ kind: "refused", reason: "period_locked", messages });
});
