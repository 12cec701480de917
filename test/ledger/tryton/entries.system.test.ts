/** Entries that people book, post later and take back, as documents and changes show them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  aCall,
  contactDraft,
  invoiceDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { ledgers } from "../../../src/ledger/index.ts";
import type { Ledger } from "../../../src/ledger/port/ledger.ts";
import { draftPayments, type Person, personAt, postPayments } from "./person.ts";
import { credentialsOf, freshTryton, whyNoTryton } from "./tryton-fixture.ts";

describe.skipIf(whyNoTryton !== null)("entries in Tryton", () => {
  let access: TrytonAccess;
  let person: Person;
  let ledger: Ledger;
  let contactId: string;

  beforeAll(async () => {
    access = await freshTryton();
    person = personAt(access);
    ledger = ledgers.tryton.connect(credentialsOf(access), {});
    const [contact] = okOf(await ledger.createContacts(aCall(), [contactDraft()]));
    contactId = okOf(contact).id;
  });
  afterAll(() => ledger?.close());

  /** Posts an invoice of 31.50. */
  const anInvoice = async () => {
    const draft = invoiceDraft(contactId, { status: "approved" });
    return okOf(okOf(await ledger.createInvoices(aCall(), [draft]))[0]);
  };
  /** Posts a credit note of 31.50. */
  const aNote = async () => {
    const { dueDate: _, ...draft } = invoiceDraft(contactId, { status: "approved" });
    return okOf(okOf(await ledger.createCreditNotes(aCall(), [draft]))[0]);
  };
  const invoice = async (id: string) => okOf(await ledger.getInvoice(aCall(), id));
  /** The ids of the documents with changes after all that they have at this moment. */
  const changedAfter = async (
    kind: "invoices" | "credit_notes",
    { id }: { readonly id: string },
    act: () => Promise<unknown>,
  ) => {
    const [before] = okOf(await ledger.getMany(aCall(), { kind, ids: [id] })).found;
    const since = new Date(Date.parse(before?.updatedAt ?? "") + 1).toISOString();
    await act();
    const { changes } = okOf(await ledger.listChanges(aCall(), { kind, since }));
    return changes.map((one) => one.id);
  };

  test("a payment that a person takes back is a change of its invoice", async () => {
    const { id, number } = await anInvoice();
    await person.pay(number, "1.50");
    expect(await invoice(id)).toMatchObject({ amountDue: "30.0000", amountPaid: "1.5000" });
    expect(await changedAfter("invoices", { id }, () => person.takeBack(number))).toContain(id);
    expect(await invoice(id)).toMatchObject({ amountDue: "31.5000", amountPaid: "0.0000" });
  });

  test("a payment that a person posts later is a change of its invoice", async () => {
    const { id, number } = await anInvoice();
    const moves = await draftPayments(access, [{ number, cents: 100 }]);
    expect(await invoice(id)).toMatchObject({ amountDue: "31.5000", amountPaid: "0.0000" });
    const post = () => postPayments(access, moves);
    expect(await changedAfter("invoices", { id }, post)).toContain(id);
    expect(await invoice(id)).toMatchObject({ amountDue: "30.5000", amountPaid: "1.0000" });
  });

  test("allocated credit that a person takes back is free again", async () => {
    const [note, { id, number }] = [await aNote(), await anInvoice()];
    const application = { creditNoteId: note.id, invoiceId: id, amount: "11.5000" };
    okOf(await ledger.allocateCredit(aCall("job"), { ...application, date: note.issueDate }));
    expect(await invoice(id)).toMatchObject({ amountDue: "20.0000", amountCredited: "11.5000" });
    const takeBack = () => person.takeBack(number);
    expect(await changedAfter("credit_notes", note, takeBack)).toContain(note.id);
    expect(await invoice(id)).toMatchObject({ amountDue: "31.5000", amountCredited: "0.0000" });
    expect(okOf(await ledger.getCreditNote(aCall(), note.id))).toMatchObject({
      remainingCredit: "31.5000",
      allocations: [],
    });
  });

  test("a payment beside credit on one invoice is not taken for credit", async () => {
    const [note, { id, number }] = [await aNote(), await anInvoice()];
    const application = { creditNoteId: note.id, invoiceId: id, amount: "11.5000" };
    okOf(await ledger.allocateCredit(aCall("job"), { ...application, date: note.issueDate }));
    await person.pay(number);
    expect(await invoice(id)).toMatchObject({
      ...{ status: "paid", amountDue: "0.0000", amountCredited: "11.5000", amountPaid: "20.0000" },
    });
  });

  test("documents that a person reconciles with payments at once are all paid", async () => {
    const note = await aNote();
    const [first, second] = [await anInvoice(), await anInvoice()];
    await person.pay(first.number, "31.49");
    await person.pay(second.number, "0.01");
    await person.reconcile(note.number, first.number, second.number);
    for (const { id } of [first, second])
      expect(await invoice(id)).toMatchObject({ status: "paid", amountDue: "0.0000" });
    const { remainingCredit, allocations } = okOf(await ledger.getCreditNote(aCall(), note.id));
    expect(remainingCredit).toBe("0.0000");
    expect(allocations.map(({ amount }) => amount)).toEqual(["31.5000"]);
  });
});
