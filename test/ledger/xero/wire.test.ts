/** What the adapter sends and reads, without a server: lines, dates, elements, filters, keys. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decimalTextOf, scaledOf } from "../../../src/ledger/port/decimal-text.ts";
import { readExactJson, writeExactJson } from "../../../src/ledger/port/exact-json.ts";
import { writeAmount, writeLine } from "../../../src/ledger/xero/documents/write-document.ts";
import {
  dateOf,
  instantOf,
  readContact,
  readCreditNote,
  readInvoice,
} from "../../../src/ledger/xero/wire/read-shapes.ts";
import { fitsPath, shortGroups, whereIs } from "../../../src/ledger/xero/wire/where.ts";
import { idempotencyKeyOf } from "../../../src/ledger/xero/wire/wire.ts";

const line = { description: "Seats", accountCode: "200", taxType: null };

describe("lines", () => {
  test("an exact product goes as quantity and unit amount", () => {
    const written = writeLine({
      ...line,
      quantity: "3.0000",
      unitAmount: "10.5000",
      amount: "31.5000",
    });
    expect(writeExactJson(written)).toBe(
      '{"Description":"Seats","Quantity":3,"UnitAmount":10.5,"AccountCode":"200"}',
    );
  });

  test("any other goes as one times the amount, with the arithmetic in words", () => {
    const written = writeLine({ ...line, quantity: "3", unitAmount: "0.3333", amount: "1.0000" });
    expect(readExactJson(writeExactJson(written))).toMatchObject({
      Description: "Seats (3 × 0.3333 = 1)",
      Quantity: "1",
      UnitAmount: "1",
    });
  });

  test("quantity times unit amount is always exactly the amount", () => {
    const decimal = fc
      .bigInt({ min: -(10n ** 12n), max: 10n ** 12n })
      .map((scaled) => decimalTextOf(scaled, 4));
    fc.assert(
      fc.property(decimal, decimal, decimal, (quantity, unitAmount, amount) => {
        const sent = readExactJson(
          writeExactJson(writeLine({ ...line, quantity, unitAmount, amount })),
        ) as {
          Quantity: string;
          UnitAmount: string;
        };
        expect(scaledOf(sent.Quantity, 4) * scaledOf(sent.UnitAmount, 4)).toBe(scaledOf(amount, 8));
      }),
    );
  });

  test("an amount goes with all its digits and no more", () => {
    const texts = ["10", "10.5000", "0.0001", "-3.10", "99999999999999.9999"].map((text) =>
      writeAmount(text),
    );
    expect(writeExactJson(texts)).toBe("[10,10.5,0.0001,-3.1,99999999999999.9999]");
  });

  test("a description never grows beyond what the ledger takes", () => {
    const description = "x".repeat(5_000);
    const exact = writeLine({ ...line, description, quantity: "1", unitAmount: "1", amount: "1" });
    const worded = writeLine({
      ...line,
      description,
      quantity: "3",
      unitAmount: "0.3333",
      amount: "1",
    });
    expect(exact.Description).toHaveLength(4_000);
    expect(worded.Description).toHaveLength(4_000);
    expect(worded.Description).toMatch(/\(3 × 0\.3333 = 1\)$/);
  });
});

describe("elements", () => {
  const invoice = {
    Type: "ACCREC",
    InvoiceID: "d4956132-ed94-4dd7-9eaa-aa22dfdf06f2",
    InvoiceNumber: "INV-1",
    Contact: { ContactID: "a3675fc4-f8dd-4f03-ba5b-f1870566bcd7" },
    Status: "AUTHORISED",
    CurrencyCode: "NZD",
    Date: "/Date(1539993600000+0000)/",
    SubTotal: "40",
    TotalTax: "6.0",
    Total: "46.00",
    AmountDue: "46",
    UpdatedDateUTC: "/Date(1541176592690+0000)/",
  };

  test.each([
    ["Exclusive", "exclusive"],
    ["Inclusive", "inclusive"],
    ["NoTax", "none"],
    ["Half", null],
  ])("amounts of the kind %s are read as %s", (LineAmountTypes, lineAmounts) => {
    expect(readInvoice({ ...invoice, LineAmountTypes })).toMatchObject({ lineAmounts });
  });

  test("an invoice is read with four places, and what is not there yet is nothing", () => {
    expect(readInvoice(invoice)).toEqual({
      id: invoice.InvoiceID,
      number: "INV-1",
      lineAmounts: null,
      reference: "",
      contactId: invoice.Contact.ContactID,
      status: "approved",
      currency: "NZD",
      issueDate: "2018-10-20",
      dueDate: null,
      subtotal: "40.0000",
      tax: "6.0000",
      total: "46.0000",
      amountDue: "46.0000",
      amountPaid: "0.0000",
      amountCredited: "0.0000",
      sent: false,
      sourceUrl: null,
      lines: [],
      updatedAt: "2018-11-02T16:36:32.690Z",
    });
  });

  test.each([
    { InvoiceID: "00000000-0000-0000-0000-000000000000" },
    { InvoiceNumber: "" },
    { Contact: null },
    { Status: "AUTHORIZED" },
    { Status: "constructor" },
    { Total: "forty" },
    { Total: true },
    { AmountDue: null },
    { Date: "yesterday" },
    { UpdatedDateUTC: "/Date(x)/" },
  ])("an invoice with a part that cannot be trusted is not read: %o", (change) => {
    expect(readInvoice({ ...invoice, ...change })).toBeUndefined();
  });

  test.each([
    ["ACTIVE", "active"],
    ["ARCHIVED", "archived"],
    ["GDPRREQUEST", "erased"],
  ] as const)("a contact that is %s is %s", (ContactStatus, status) => {
    const contact = { ContactID: "c", Name: "N", ContactStatus, UpdatedDateUTC: "/Date(0)/" };
    expect(readContact(contact)).toMatchObject({
      status,
      code: null,
      email: null,
      mergedInto: null,
    });
    expect(readContact({ ...contact, ContactStatus: "SOMETHING" })).toBeUndefined();
  });

  test("a contact is a customer or a supplier only where the ledger says so", () => {
    const contact = { ContactID: "c", Name: "N", UpdatedDateUTC: "/Date(0)/" };
    expect(readContact(contact)).toMatchObject({ isCustomer: false, isSupplier: false });
    const both = { ...contact, IsCustomer: true, IsSupplier: true };
    expect(readContact(both)).toMatchObject({ isCustomer: true, isSupplier: true });
    expect(readContact({ ...contact, IsSupplier: "true" })).toMatchObject({ isSupplier: false });
  });

  test("the plain date counts before the milliseconds, which are read in UTC", () => {
    expect(dateOf("2026-04-24T00:00:00", "/Date(0)/")).toBe("2026-04-24");
    expect(dateOf(undefined, "/Date(1539993600000+1300)/")).toBe("2018-10-20");
    expect(dateOf(undefined, undefined)).toBeUndefined();
    expect(instantOf("/Date(-1000)/")).toBe("1969-12-31T23:59:59.000Z");
    expect(instantOf("/Date(-62135596800000+0000)/")).toBe("0001-01-01T00:00:00.000Z");
    // No database and no later reader takes years of five digits, or none.
    for (const odd of ["-62135596800001", "253402300800000", "999999999999999"]) {
      expect(instantOf(`/Date(${odd})/`)).toBeUndefined();
    }
  });
});

describe("credit notes", () => {
  const allocation = {
    AllocationID: "b12335f4-a1e5-4431-aeb4-488e5547558e",
    Invoice: { InvoiceID: "d4956132-ed94-4dd7-9eaa-aa22dfdf06f2", InvoiceNumber: "INV-1" },
    Amount: "13.50",
    Date: "/Date(1539993600000+0000)/",
    IsDeleted: false,
  };
  const note = {
    Type: "ACCRECCREDIT",
    CreditNoteID: "7be578f5-63af-45c8-9b00-dcc4732baf0b",
    CreditNoteNumber: "CN-1",
    Contact: { ContactID: "a3675fc4-f8dd-4f03-ba5b-f1870566bcd7" },
    Status: "AUTHORISED",
    CurrencyCode: "NZD",
    DateString: "2018-10-20T00:00:00",
    SubTotal: "40.00",
    TotalTax: "6.00",
    Total: "46.00",
    RemainingCredit: "32.50",
    Allocations: [allocation],
    LineItems: [{ LineItemID: "5", Description: "Credit", LineAmount: "40.00" }],
    UpdatedDateUTC: "/Date(1541176592690+0000)/",
  };

  test("are read with four places, their lines and what went where", () => {
    expect(readCreditNote(note)).toEqual({
      id: note.CreditNoteID,
      number: "CN-1",
      lineAmounts: null,
      sourceUrl: null,
      reference: "",
      contactId: note.Contact.ContactID,
      status: "approved",
      currency: "NZD",
      issueDate: "2018-10-20",
      subtotal: "40.0000",
      tax: "6.0000",
      total: "46.0000",
      remainingCredit: "32.5000",
      sent: false,
      lines: [{ ledgerLineId: "5", description: "Credit", amount: "40.0000" }],
      allocations: [
        {
          id: allocation.AllocationID,
          invoiceId: allocation.Invoice.InvoiceID,
          amount: "13.5000",
          date: "2018-10-20",
        },
      ],
      updatedAt: "2018-11-02T16:36:32.690Z",
    });
  });

  test("have no removed allocation, and one without id if the ledger omits it", () => {
    const Allocations = [
      { ...allocation, IsDeleted: true, Invoice: null },
      { ...allocation, AllocationID: undefined },
    ];
    expect(readCreditNote({ ...note, Allocations })?.allocations).toMatchObject([
      { id: "", amount: "13.5000" },
    ]);
    expect(readCreditNote({ ...note, Allocations: undefined })?.allocations).toEqual([]);
  });

  test.each([
    { CreditNoteID: "00000000-0000-0000-0000-000000000000" },
    { CreditNoteNumber: "" },
    { Contact: {} },
    { Status: "SENT" },
    { RemainingCredit: undefined },
    { RemainingCredit: "much" },
    { Allocations: [{ ...allocation, Invoice: {} }] },
    { Allocations: [{ ...allocation, Amount: null }] },
    { Allocations: [{ ...allocation, Date: "" }] },
  ])("with a part that cannot be trusted are not read: %o", (fault) => {
    expect(readCreditNote({ ...note, ...fault })).toBeUndefined();
  });
});

describe("filters", () => {
  test("quotes and backslashes cannot leave their text", () => {
    expect(whereIs("CreditNoteNumber", 'a" OR Name=="b\\')).toBe(
      String.raw`CreditNoteNumber=="a\" OR Name==\"b\\"`,
    );
  });

  test("long lists are split, complete, without repeats and short enough for an address", () => {
    const values = Array.from({ length: 300 }, (_, index) => `SB-2026-${index}`);
    const groups = shortGroups([...values, ...values]);
    expect(groups.flat()).toEqual(values);
    for (const group of groups) expect(encodeURIComponent(group.join()).length).toBeLessThan(1_300);
    expect(shortGroups([])).toEqual([]);
  });

  test.each([
    "a/b",
    "a\\b",
    "a%2Fb",
    "..",
    "a..b",
    ".a",
    "a.",
    " a",
    "a ",
    "a?b",
    "a#b",
    "a+b",
    "é",
    "",
  ])("%j does not go into a path", (value) => {
    expect(fitsPath(value)).toBe(false);
  });

  test.each(["INV-0001", "CN_1.2", "ACME ~ 7", "a"])("%j goes into a path", (value) => {
    expect(fitsPath(value)).toBe(true);
  });
});

describe("idempotency keys", () => {
  const write = {
    tenantId: "tenant",
    clientId: "client",
    path: "/Invoices",
    jobKeys: ["a", "b"],
    variant: null as string | null,
    body: "{}",
  };
  const keyOf = (one: typeof write) => idempotencyKeyOf(one, one, one);

  test("the same operations and body give the same key of at most 128 characters", () => {
    expect(keyOf(write)).toBe(keyOf({ ...write, jobKeys: ["a", "b"] }));
    expect(keyOf(write)).toMatch(/^[0-9a-f]{64}$/);
  });

  test("another tenant, client, path, operation, order, variant or body gives another key", () => {
    const others: Partial<typeof write>[] = [
      {},
      { tenantId: "other" },
      { clientId: "other" },
      { path: "/Contacts" },
      { jobKeys: ["b", "a"] },
      { jobKeys: ["ab"] },
      { variant: "2" },
      { body: "{} " },
    ];
    expect(new Set(others.map((other) => keyOf({ ...write, ...other }))).size).toBe(others.length);
  });
});
