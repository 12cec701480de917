/** The adapter in an organisation with more records than Xero filters, and large answers. */
import { describe, expect } from "vitest";
import {
  aCall,
  aLine,
  contactDraft,
  invoiceDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { demoLedgerTest } from "../../../packages/demo-ledger/test/fixtures.ts";
import { createXeroLedger } from "../../../src/ledger/xero/create-xero-ledger.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { creditNoteDraft } from "../conformance/credit-drafts.ts";

const codes = [
  "ACME-1",
  "A/B",
  'A "quoted" \\ one',
  "100%",
  "..",
  "searched for",
  crypto.randomUUID(),
];

const test = demoLedgerTest
  // One record is too many here.
  .extend("demoOptions", perFile, { highVolume: 0 })
  .extend("ledger", perFile, ({ connection }, { onCleanup }) => {
    const ledger = createXeroLedger(connection);
    onCleanup(() => stopInTime(() => ledger.close()));
    return ledger;
  })
  .extend("contacts", perFile, async ({ ledger }) => {
    const drafts = codes.map((code) => contactDraft({ code }));
    return okOf(await ledger.createContacts(aCall(), drafts)).map(okOf);
  })
  .extend("contactId", perFile, async ({ contacts }) => contacts[0]?.id ?? "");

describe("in a large organisation", () => {
  test.for(codes)("a contact is found by the code %j", async (code, { ledger, contacts }) => {
    const found = okOf(await ledger.findContacts(aCall(), { codes: [code, "nobody's"] }));
    expect(found).toEqual([contacts[codes.indexOf(code)]]);
  });

  test("documents are found by their numbers and ids, and listed by changes", async ({
    ledger,
    contactId,
  }) => {
    const invoices = okOf(
      await ledger.createInvoices(aCall(), [
        invoiceDraft(contactId),
        invoiceDraft(contactId, { number: "A,B" }),
      ]),
    ).map(okOf);
    const notes = okOf(await ledger.createCreditNotes(aCall(), [creditNoteDraft(contactId)])).map(
      okOf,
    );
    const numbersOf = (documents: readonly { readonly number: string }[]) =>
      documents.map(({ number }) => number);
    const idsOf = (documents: readonly { readonly id: string }[]) => documents.map(({ id }) => id);
    const found = okOf(
      await ledger.findInvoices(aCall(), { numbers: [...numbersOf(invoices), "none"] }),
    );
    expect(numbersOf(found).sort()).toEqual(numbersOf(invoices).sort());
    expect(
      okOf(await ledger.findCreditNotes(aCall(), { numbers: [...numbersOf(notes), "none"] })),
    ).toEqual(notes);
    for (const [kind, documents] of [
      ["invoices", invoices],
      ["credit_notes", notes],
      ["contacts", [{ id: contactId }]],
    ] as const) {
      const ids = [...idsOf(documents), crypto.randomUUID()];
      expect(okOf(await ledger.getMany(aCall(), { kind, ids })).found).toHaveLength(
        documents.length,
      );
      const { changes } = okOf(await ledger.listChanges(aCall(), { kind }));
      expect(idsOf(changes)).toEqual(expect.arrayContaining(idsOf(documents)));
    }
  });

  test("a refused filter for a number with a slash says nothing of the note", async ({
    ledger,
  }) => {
    const answer = await ledger.findCreditNotes(aCall(), { numbers: ["CN-NW/0001"] });
    expect(answer).toMatchObject({
      kind: "high_volume",
      message: expect.stringContaining("high number"),
    });
  });
});

describe("a look-up whose answer is larger than we read", () => {
  const text = "x".repeat(4_000);
  const lines = [{ ...aLine("1", "1.0000", "1.0000"), description: text }];

  test("is halved until it fits", async ({ connection, ledger, contactId }) => {
    const small = createXeroLedger(connection, { maxResponseBytes: 20_000 });
    try {
      const drafts = Array.from({ length: 9 }, () => invoiceDraft(contactId, { lines }));
      const made = okOf(await ledger.createInvoices(aCall(), drafts)).map(okOf);
      const found = okOf(
        await small.findInvoices(aCall(), { numbers: made.map(({ number }) => number) }),
      );
      const byNumber = (one: { readonly number: string }, other: { readonly number: string }) =>
        one.number.localeCompare(other.number);
      expect(found.toSorted(byNumber)).toEqual(made.toSorted(byNumber));
    } finally {
      await small.close();
    }
  });

  test("is reported without its lines if it alone does not fit", async ({
    connection,
    ledger,
    contactId,
  }) => {
    const small = createXeroLedger(connection, { maxResponseBytes: 3_000 });
    try {
      const [made] = okOf(
        await ledger.createInvoices(aCall(), [invoiceDraft(contactId, { lines })]),
      ).map(okOf);
      const found = okOf(await small.findInvoices(aCall(), { numbers: [made?.number ?? ""] }));
      expect(found).toEqual([{ ...made, lines: [] }]);
    } finally {
      await small.close();
    }
  });
});

test("a description is cut between two characters, and the whole call is read", async ({
  ledger,
  contactId,
}) => {
  const description = `${"x".repeat(3_999)}😀😀`;
  const lines = [
    { ...aLine("1", "1.0000", "1.0000"), description },
    { ...aLine("3", "0.3333", "1.0000"), description },
  ];
  const [made] = okOf(
    await ledger.createInvoices(aCall(), [invoiceDraft(contactId, { lines })]),
  ).map(okOf);
  const descriptions = made?.lines.map((line) => line.description) ?? [];
  expect(descriptions[0]).toBe("x".repeat(3_999));
  expect(descriptions.every((one) => one.isWellFormed() && one.length <= 4_000)).toBe(true);
});
