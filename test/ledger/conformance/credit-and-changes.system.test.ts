/**
 * What every kind of ledger must do with credit notes, changes and other organisations (LEDGER-7).
 * The suite runs over the registry, and obeys what a kind declares.
 */
import { afterAll, describe, expect } from "vitest";
import { aCall, aLine, okOf } from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { demoLedgerTest as test } from "../../../packages/demo-ledger/test/fixtures.ts";
import { describeOpenPoints } from "./open-points.ts";
import { type OpenedPlace, openForSuite } from "./opened-place.ts";
import { cleaningMs, conformancePlaces, xeroPlaceOf } from "./places.ts";

describe.each(await conformancePlaces())("$name", ({ name, open, missing }) => {
  let place: OpenedPlace;
  let ledger: OpenedPlace["ledger"];

  test.beforeEach(({ skip }) => skip(missing !== null, missing ?? undefined));
  test.beforeAll(async ({ fixture }) => {
    if (missing !== null) return;
    place = await openForSuite(open, fixture);
    ledger = place.ledger;
  });
  afterAll(() => place?.close(), cleaningMs);

  test("a credit note comes back as it was made, by id and by number", async () => {
    const draft = place.draftNote({ number: `A,B "${crypto.randomUUID()}" \\` });
    const [answer] = okOf(await ledger.createCreditNotes(aCall("note-1"), [draft]));
    const note = okOf(answer);
    expect(note).toMatchObject({
      number: draft.number,
      reference: "PO 42",
      contactId: place.contact.id,
      status: "approved",
      currency: place.currency,
      issueDate: "2026-03-05",
      subtotal: "31.5000",
      tax: "0.0000",
      total: "31.5000",
      remainingCredit: "31.5000",
      sent: false,
      allocations: [],
    });
    expect(note.lines).toMatchObject([{ description: "Seats", amount: "31.5000" }]);
    expect(okOf(await ledger.getCreditNote(aCall(), note.id))).toEqual(note);
    expect(
      okOf(await ledger.findCreditNotes(aCall(), { numbers: [draft.number, "none"] })),
    ).toEqual([note]);
    expect(okOf(await ledger.findCreditNotes(aCall(), { numbers: [] }))).toEqual([]);
  });

  test("a full call of credit notes answers each draft, in order", async () => {
    const first = await place.createNote();
    const { documents } = ledger.traits.calls;
    const { hasUniqueNumbers } = ledger.traits.documents;
    const drafts = Array.from({ length: documents }, (_, index) =>
      place.draftNote({ lines: [aLine("1", `${index + 1}.0000`, `${index + 1}.0000`)] }),
    );
    const sent = drafts.map((draft, index) =>
      index === 7 ? { ...draft, number: first.number } : draft,
    );
    const answers = okOf(await ledger.createCreditNotes(aCall("notes"), sent));
    answers.forEach((answer, index) => {
      if (index === 7 && hasUniqueNumbers)
        expect(answer).toMatchObject({ kind: "refused", reason: "duplicate_number" });
      else
        expect(okOf(answer)).toMatchObject({
          number: sent[index]?.number,
          total: `${index + 1}.0000`,
        });
    });
    expect(okOf(await ledger.getCreditNote(aCall(), first.id))).toEqual(first);
  });

  test("credit of a note goes onto an invoice, and no more of it than there is", async () => {
    const [note, invoice] = [
      await place.createNote(),
      await place.createInvoice({ status: "approved" }),
    ];
    const application = {
      creditNoteId: note.id,
      invoiceId: invoice.id,
      amount: "30.0000",
      date: "2026-03-10",
    };
    const allocated = okOf(await ledger.allocateCredit(aCall("credit-1"), application));
    expect(allocated).toMatchObject({
      remainingCredit: "1.5000",
      allocations: [{ invoiceId: invoice.id, amount: "30.0000", date: "2026-03-10" }],
    });
    const credited = okOf(await ledger.getInvoice(aCall(), invoice.id));
    expect(credited).toMatchObject({ amountCredited: "30.0000", amountDue: "1.5000" });
    const again = await ledger.allocateCredit(aCall("credit-2"), application);
    expect(again).toMatchObject({ kind: "refused", reason: "amount_exceeds" });
    expect(okOf(await ledger.getCreditNote(aCall(), note.id))).toEqual(allocated);
  });

  test("credit of a draft note, or for a draft invoice, is refused by its status", async () => {
    if (!ledger.traits.documents.hasDrafts) return;
    const [draftNote, note] = [
      await place.createNote({ status: "draft" }),
      await place.createNote(),
    ];
    const [draft, approved] = [
      await place.createInvoice(),
      await place.createInvoice({ status: "approved" }),
    ];
    for (const [from, to] of [
      [draftNote, approved],
      [note, draft],
    ] as const) {
      const application = {
        creditNoteId: from.id,
        invoiceId: to.id,
        amount: "1.0000",
        date: "2026-03-10",
      };
      const answer = await ledger.allocateCredit(aCall(), application);
      expect(answer).toMatchObject({ kind: "refused", reason: "wrong_status" });
    }
  });

  test("what was made is among the changes since then, and is found by its id", async () => {
    const [invoice, note] = [await place.createInvoice(), await place.createNote()];
    for (const [kind, one] of [
      // It has had invoices since it was made.
      ["contacts", { ...place.contact, isCustomer: place.kind.marksCustomers }],
      ["invoices", invoice],
      ["credit_notes", note],
    ] as const) {
      const { changes, highWater } = okOf(
        await ledger.listChanges(aCall(), { kind, since: one.updatedAt }),
      );
      expect(changes.map(({ id }) => id)).toContain(one.id);
      expect(highWater).toBe(changes[0]?.updatedAt);
      // Invoices come without their lines.
      const expected = kind === "invoices" ? { ...one, lines: [] } : one;
      const ids = [one.id, crypto.randomUUID()];
      expect(okOf(await ledger.getMany(aCall(), { kind, ids })).found).toEqual([expected]);
    }
  });

  test("another organisation's documents are not there", async () => {
    // A custom connection reaches one organisation.
    if (place.another === null) return;
    const invoice = await place.createInvoice();
    const other = await place.another();
    try {
      expect(await other.getInvoice(aCall(), invoice.id)).toMatchObject({
        kind: "refused",
        reason: "not_found",
      });
      expect(okOf(await other.findInvoices(aCall(), { numbers: [invoice.number] }))).toEqual([]);
      expect(
        okOf(await other.findContacts(aCall(), { codes: [place.contact.code ?? ""] })),
      ).toEqual([]);
      const [answer] = okOf(await other.createInvoices(aCall(), [place.draftInvoice()]));
      expect(answer).toMatchObject({ kind: "refused" });
      const note = await place.createNote();
      expect(await other.getCreditNote(aCall(), note.id)).toMatchObject({
        kind: "refused",
        reason: "not_found",
      });
      expect(okOf(await other.findCreditNotes(aCall(), { numbers: [note.number] }))).toEqual([]);
      const application = {
        creditNoteId: note.id,
        invoiceId: invoice.id,
        amount: "1.0000",
        date: "2026-03-10",
      };
      expect(await other.allocateCredit(aCall(), application)).toMatchObject({
        reason: "not_found",
      });
      const amendment = { id: invoice.id, allowed: ["draft"], changes: [] } as const;
      expect(await other.amendInvoice(aCall(), amendment)).toMatchObject({ reason: "not_found" });
    } finally {
      await other.close();
    }
  });

  // Last, because it ends with a removal of all objects.
  if (/xero/i.test(name)) describeOpenPoints(() => xeroPlaceOf(place.place));
});
