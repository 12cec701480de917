/**
 * What every ledger must do, run over the registry on the demo ledger, and on a Xero Demo Company where its credentials are there: a
 * second ledger adds a line to the places and is held to all of it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  LedgerContact,
  LedgerCreditNote,
  LedgerInvoice,
} from "../../../src/ledger/port/ledger.ts";
import {
  aCall,
  aLine,
  contactDraft,
  type DemoWorld,
  invoiceDraft,
  okOf,
  startDemoWorld,
} from "../../dev/demo-ledger/demo-ledger-fixture.ts";
import { creditNoteDraft } from "./credit-drafts.ts";
import { describeOpenPoints } from "./open-points.ts";
import { type ConformancePlace, cleaningMs, conformancePlaces, whyNotXero } from "./places.ts";

let world: DemoWorld;
beforeAll(async () => {
  world = await startDemoWorld();
});
afterAll(() => world.stop());

test("Xero itself is asked where its credentials are there, and never in CI", () => {
  const credentials = { XERO_DEMO_CLIENT_ID: "id", XERO_DEMO_CLIENT_SECRET: "secret" };
  expect(whyNotXero(credentials)).toBeNull();
  expect(whyNotXero({ ...credentials, CI: "true" })).toMatch(/CI/);
  for (const name of Object.keys(credentials))
    expect(whyNotXero({ ...credentials, [name]: "" })).toMatch(/not set/);
});

describe.each(conformancePlaces())("$name", ({ open }) => {
  let place: ConformancePlace;
  let ledger: ConformancePlace["ledger"];
  let contact: LedgerContact;

  beforeAll(async () => {
    place = await open(world);
    ledger = place.ledger;
    contact = okOf(okOf(await ledger.createContacts(aCall("c1"), [contactDraft()]))[0]);
  });
  afterAll(() => place?.close(), cleaningMs);

  const draftInvoice = (changes: Parameters<typeof invoiceDraft>[1] = {}) =>
    invoiceDraft(contact.id, { currency: place.currency, ...changes });
  const draftNote = (changes: Parameters<typeof creditNoteDraft>[1] = {}) =>
    creditNoteDraft(contact.id, { currency: place.currency, ...changes });

  async function make(changes: Parameters<typeof invoiceDraft>[1] = {}): Promise<LedgerInvoice> {
    const answers = okOf(await ledger.createInvoices(aCall(), [draftInvoice(changes)]));
    return okOf(answers[0]);
  }

  async function makeNote(
    changes: Parameters<typeof creditNoteDraft>[1] = {},
  ): Promise<LedgerCreditNote> {
    const answers = okOf(await ledger.createCreditNotes(aCall(), [draftNote(changes)]));
    return okOf(answers[0]);
  }

  test("it says whom it is connected to", async () => {
    const organisation = okOf(await ledger.describe(aCall()));
    expect(organisation).toMatchObject(place.organisation);
    expect(organisation.capabilities.draft).toBe(true);
  });

  test("mapping lists tell what an invoice can carry", async () => {
    const accounts = okOf(await ledger.listMappingOptions(aCall(), "accounts"));
    expect(accounts).toContainEqual({
      code: "200",
      name: "Sales",
      active: true,
      usableForRevenue: true,
    });
    expect(accounts.some(({ usableForRevenue }) => !usableForRevenue)).toBe(true);
    const rates = okOf(await ledger.listMappingOptions(aCall(), "tax_rates"));
    expect(rates).toContainEqual(
      expect.objectContaining({ code: "NONE", active: true, usableForRevenue: true }),
    );
    const currencies = okOf(await ledger.listMappingOptions(aCall(), "currencies"));
    expect(currencies.map(({ code }) => code)).toContain(place.currency);
  });

  test("a contact comes back as it was made, by id and by code", async () => {
    const draft = contactDraft({ code: `A "quoted" \\ ${crypto.randomUUID()}`, firstName: null });
    const [made] = okOf(await ledger.createContacts(aCall(), [draft]));
    const contactMade = okOf(made);
    expect(contactMade).toMatchObject({ ...draft, status: "active", mergedInto: null });
    expect(okOf(await ledger.getContact(aCall(), contactMade.id))).toEqual(contactMade);
    const found = okOf(await ledger.findContacts(aCall(), { codes: [draft.code, "nobody's"] }));
    expect(found).toEqual([contactMade]);
  });

  test("a contact whose name or code is taken is refused and the others of the call are made", async () => {
    const drafts = [
      contactDraft({ name: contact.name }),
      contactDraft(),
      contactDraft({ code: contact.code ?? "" }),
      contactDraft({ name: "<b>" }),
    ];
    const answers = okOf(await ledger.createContacts(aCall(), drafts));
    expect(
      answers.map((answer) => (answer.kind === "refused" ? answer.reason : answer.kind)),
    ).toEqual(["duplicate_contact", "ok", "duplicate_contact", "contact_name_invalid"]);
  });

  test("contacts are listed by change, each at least once over all pages", async () => {
    const drafts = Array.from({ length: 30 }, () => contactDraft());
    const made = okOf(await ledger.createContacts(aCall(), drafts)).map(okOf);
    const page = okOf(await ledger.listContacts(aCall(), {}));
    const ids = page.contacts.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
    expect(page.cursor).toBeNull();
    const later = new Date(Date.now() + 60_000).toISOString();
    expect(okOf(await ledger.listContacts(aCall(), { since: later })).contacts).toEqual([]);
  });

  test("an invoice comes back as it was made", async () => {
    const draft = draftInvoice();
    const [answer] = okOf(await ledger.createInvoices(aCall("op-1"), [draft]));
    const invoice = okOf(answer);
    expect(invoice).toMatchObject({
      number: draft.number,
      reference: "PO 42",
      contactId: contact.id,
      status: "draft",
      currency: place.currency,
      issueDate: "2026-03-01",
      dueDate: "2026-03-15",
      subtotal: "31.5000",
      tax: "0.0000",
      total: "31.5000",
      amountDue: "31.5000",
      amountPaid: "0.0000",
      amountCredited: "0.0000",
      sent: false,
      sourceUrl: draft.sourceUrl,
    });
    expect(invoice.lines).toMatchObject([{ description: "Seats", amount: "31.5000" }]);
    expect(okOf(await ledger.getInvoice(aCall(), invoice.id))).toEqual(invoice);
    expect(okOf(await ledger.findInvoices(aCall(), { numbers: [draft.number, "none"] }))).toEqual([
      invoice,
    ]);
  });

  test("a number with a comma is found again", async () => {
    const invoice = await make({ number: `A,B "${crypto.randomUUID()}"` });
    expect(okOf(await ledger.findInvoices(aCall(), { numbers: [invoice.number] }))).toEqual([
      invoice,
    ]);
  });

  test.each([
    "draft",
    "awaiting_approval",
    "approved",
  ] as const)("an invoice is made as %s", async (status) => {
    expect(await make({ status })).toMatchObject({ status });
  });

  test("tax is on top, inside or absent, as the draft says", async () => {
    const { taxType, percent } = place.chart;
    const lines = [aLine("1", "100.0000", "100.0000", taxType)];
    const taxed = { subtotal: "100.0000", tax: `${percent}.0000`, total: `${100 + percent}.0000` };
    expect(await make({ lines })).toMatchObject(taxed);
    const whole = `${100 + percent}.0000`;
    expect(
      await make({ lines: [aLine("1", whole, whole, taxType)], lineAmounts: "inclusive" }),
    ).toMatchObject(taxed);
    expect(await make({ lines, lineAmounts: "none" })).toMatchObject({
      tax: "0.0000",
      total: "100.0000",
    });
  });

  test("a line comes to its amount even where quantity times price does not", async () => {
    const lines = [
      aLine("2.5", "10.3330", "25.8300"),
      aLine("3", "0.3333", "1.0000"),
      aLine("1", "-0.8300", "-0.8300"),
    ];
    const invoice = await make({ lines });
    expect(invoice.total).toBe("26.0000");
    expect(invoice.lines.map(({ description }) => description)).toEqual([
      "Seats (2.5 × 10.333 = 25.83)",
      "Seats (3 × 0.3333 = 1)",
      "Seats",
    ]);
  });

  test("fifty invoices go in one call and each draft gets its own answer, in order", async () => {
    const drafts = Array.from({ length: 50 }, (_, index) =>
      draftInvoice({ lines: [aLine("1", `${index + 1}.0000`, `${index + 1}.0000`)] }),
    );
    const bad = [7, 23, 49];
    const sent = drafts.map((draft, index) =>
      bad.includes(index) ? { ...draft, currency: "ZMW" } : draft,
    );
    const answers = okOf(await ledger.createInvoices(aCall("batch"), sent));
    answers.forEach((answer, index) => {
      if (bad.includes(index))
        expect(answer).toMatchObject({ kind: "refused", reason: "currency_not_enabled" });
      else
        expect(okOf(answer)).toMatchObject({
          number: sent[index]?.number,
          total: `${index + 1}.0000`,
        });
    });
    const found = okOf(
      await ledger.findInvoices(aCall(), { numbers: drafts.map(({ number }) => number) }),
    );
    expect(found).toHaveLength(47);
  });

  test("what the ledger cannot book is refused with its reason, in its own words", async () => {
    const { archivedAccount, purchaseTax } = place.chart;
    const on = (accountCode: string | null) =>
      accountCode === null
        ? []
        : [["account_invalid", { lines: [{ ...aLine("1", "1", "1"), accountCode }] }] as const];
    const rows = [
      ...on(archivedAccount),
      ...on("nope"),
      ...(purchaseTax === null
        ? []
        : [["tax_invalid", { lines: [aLine("1", "1", "1", purchaseTax)] }] as const]),
      ["currency_not_enabled", { currency: "ZMW" }],
      ["validation", { lines: [] }],
    ] as const;
    for (const [reason, changes] of rows) {
      const [answer] = okOf(await ledger.createInvoices(aCall(), [draftInvoice(changes)]));
      expect(answer).toMatchObject({
        kind: "refused",
        reason,
        messages: [expect.stringMatching(/.{10}/)],
      });
    }
  });

  test("a number that is taken is refused and the first invoice stays as it is", async () => {
    const first = await make();
    const [answer] = okOf(
      await ledger.createInvoices(aCall(), [
        draftInvoice({ number: first.number, reference: "another" }),
      ]),
    );
    expect(answer).toMatchObject({ kind: "refused", reason: "duplicate_number" });
    expect(okOf(await ledger.getInvoice(aCall(), first.id))).toEqual(first);
  });

  test("an invoice or contact that is not there is refused as not found", async () => {
    expect(await ledger.getInvoice(aCall(), crypto.randomUUID())).toMatchObject({
      kind: "refused",
      reason: "not_found",
    });
    expect(await ledger.getContact(aCall(), crypto.randomUUID())).toMatchObject({
      reason: "not_found",
    });
    expect(okOf(await ledger.findInvoices(aCall(), { numbers: ["nothing"] }))).toEqual([]);
    expect(okOf(await ledger.findInvoices(aCall(), { numbers: [] }))).toEqual([]);
  });

  test.each([
    ["draft", "deleted"],
    ["awaiting_approval", "deleted"],
    ["approved", "voided"],
  ] as const)("removing one that is %s leaves it %s, and again is no error", async (status, outcome) => {
    const invoice = await make({ status });
    const removal = okOf(await ledger.removeInvoice(aCall(), invoice.id));
    expect(removal).toMatchObject({ outcome, invoice: { status: outcome, amountDue: "0.0000" } });
    expect(okOf(await ledger.removeInvoice(aCall(), invoice.id))).toMatchObject({
      outcome: "already_removed",
    });
  });

  test("one that was approved is not removed as one that was never sent, a draft is", async () => {
    const [approved, draft] = [await make({ status: "approved" }), await make()];
    const refused = await ledger.removeInvoice(aCall(), approved.id, { onlyUnsent: true });
    expect(refused).toMatchObject({ kind: "refused", reason: "wrong_status" });
    expect(okOf(await ledger.getInvoice(aCall(), approved.id)).status).toBe("approved");
    const removal = okOf(await ledger.removeInvoice(aCall(), draft.id, { onlyUnsent: true }));
    expect(removal).toMatchObject({ outcome: "deleted" });
  });

  test("removing what is not there says so", async () => {
    const removal = okOf(await ledger.removeInvoice(aCall(), crypto.randomUUID()));
    expect(removal).toEqual({ outcome: "not_found", invoice: null });
  });

  test("an approved invoice over nothing can be removed", async () => {
    const invoice = await make({ status: "approved", lines: [aLine("1", "0.0000", "0.0000")] });
    expect(okOf(await ledger.removeInvoice(aCall(), invoice.id))).toMatchObject({
      outcome: "voided",
    });
  });

  test("an amended invoice keeps its lines' ids, has the added line, and stays as it is when that is repeated", async () => {
    const invoice = await make();
    const kept = invoice.lines[0]?.ledgerLineId ?? "";
    const changes = [
      { ...aLine("4", "10.5000", "42.0000"), ledgerLineId: kept },
      { ...aLine("1", "5.0000", "5.0000"), description: "Set-up", ledgerLineId: null },
    ];
    const amendment = { id: invoice.id, allowed: ["draft"], changes } as const;
    const amended = okOf(await ledger.amendInvoice(aCall(), amendment));
    expect(amended.lineIds).toEqual([kept, amended.invoice.lines[1]?.ledgerLineId]);
    expect(amended.invoice.lines).toMatchObject([
      { amount: "42.0000" },
      { description: "Set-up", amount: "5.0000" },
    ]);
    expect(amended.invoice.total).toBe("47.0000");
    expect(okOf(await ledger.amendInvoice(aCall(), amendment))).toEqual(amended);
  });

  test("an invoice in another status than those allowed is not amended", async () => {
    const invoice = await make({ status: "approved" });
    const answer = await ledger.amendInvoice(aCall(), {
      id: invoice.id,
      allowed: ["draft"],
      changes: [],
    });
    expect(answer).toMatchObject({
      kind: "refused",
      reason: "wrong_status",
      messages: [expect.any(String)],
    });
    const none = { id: crypto.randomUUID(), allowed: ["draft"], changes: [] } as const;
    expect(await ledger.amendInvoice(aCall(), none)).toMatchObject({
      kind: "refused",
      reason: "not_found",
    });
  });

  test("a credit note comes back as it was made, by id and by number", async () => {
    const draft = draftNote({ number: `A,B "${crypto.randomUUID()}" \\` });
    const [answer] = okOf(await ledger.createCreditNotes(aCall("note-1"), [draft]));
    const note = okOf(answer);
    expect(note).toMatchObject({
      number: draft.number,
      reference: "PO 42",
      contactId: contact.id,
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

  test("of fifty credit notes in one call each draft gets its own answer, in order", async () => {
    const first = await makeNote();
    const drafts = Array.from({ length: 50 }, (_, index) =>
      draftNote({ lines: [aLine("1", `${index + 1}.0000`, `${index + 1}.0000`)] }),
    );
    const sent = drafts.map((draft, index) =>
      index === 7 ? { ...draft, number: first.number } : draft,
    );
    const answers = okOf(await ledger.createCreditNotes(aCall("notes"), sent));
    answers.forEach((answer, index) => {
      if (index === 7)
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
    const [note, invoice] = [await makeNote(), await make({ status: "approved" })];
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
    const [draftNote, note] = [await makeNote({ status: "draft" }), await makeNote()];
    const [draft, approved] = [await make(), await make({ status: "approved" })];
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
    const [invoice, note] = [await make(), await makeNote()];
    for (const [kind, one] of [
      // It has had invoices since it was made.
      ["contacts", { ...contact, isCustomer: true }],
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
    const invoice = await make();
    const other = await place.another();
    try {
      expect(await other.getInvoice(aCall(), invoice.id)).toMatchObject({
        kind: "refused",
        reason: "not_found",
      });
      expect(okOf(await other.findInvoices(aCall(), { numbers: [invoice.number] }))).toEqual([]);
      expect(okOf(await other.findContacts(aCall(), { codes: [contact.code ?? ""] }))).toEqual([]);
      const [answer] = okOf(await other.createInvoices(aCall(), [draftInvoice()]));
      expect(answer).toMatchObject({ kind: "refused" });
      const note = await makeNote();
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

  // Last: it ends with cleaning up.
  describeOpenPoints(() => place);
});
