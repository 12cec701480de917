/**
 * What every kind of ledger must do with its organisation, contacts and invoices (LEDGER-7). The
 * suite runs over the registry, and obeys what a kind declares of drafts, numbers and limits.
 */
import { afterAll, describe, expect } from "vitest";
import {
  aCall,
  aLine,
  contactDraft,
  okOf,
} from "../../../packages/demo-ledger/test/demo-ledger-fixture.ts";
import { demoLedgerTest as test } from "../../../packages/demo-ledger/test/fixtures.ts";
import type { LedgerFirstStatus } from "../../../src/ledger/port/ledger.ts";
import { type OpenedPlace, openForSuite } from "./opened-place.ts";
import { cleaningMs, conformancePlaces } from "./places.ts";
import { whyNotXero } from "./xero-places.ts";

test("the suite calls Xero itself if its credentials are set, and never in CI", () => {
  const credentials = { XERO_DEMO_CLIENT_ID: "id", XERO_DEMO_CLIENT_SECRET: "secret" };
  expect(whyNotXero(credentials)).toBeNull();
  expect(whyNotXero({ ...credentials, CI: "true" })).toMatch(/CI/);
  for (const name of Object.keys(credentials))
    expect(whyNotXero({ ...credentials, [name]: "" })).toMatch(/not set/);
});

describe.each(await conformancePlaces())("$name", ({ open, missing }) => {
  let place: OpenedPlace;
  let ledger: OpenedPlace["ledger"];

  test.beforeEach(({ skip }) => skip(missing !== null, missing ?? undefined));
  test.beforeAll(async ({ fixture }) => {
    if (missing !== null) return;
    place = await openForSuite(open, fixture);
    ledger = place.ledger;
  });
  afterAll(() => place?.close(), cleaningMs);

  test("the ledger describes the connected organisation", async () => {
    const organisation = okOf(await ledger.describe(aCall()));
    expect(organisation).toMatchObject(place.organisation);
  });

  test("mapping lists say which codes an invoice can carry", async () => {
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
    const contact = okOf(made);
    expect(contact).toMatchObject({ ...draft, status: "active", mergedInto: null });
    expect(okOf(await ledger.getContact(aCall(), contact.id))).toEqual(contact);
    const found = okOf(await ledger.findContacts(aCall(), { codes: [draft.code, "nobody's"] }));
    expect(found).toEqual([contact]);
  });

  test("a contact with a taken name or code is refused, and others are created", async () => {
    const { areNamesUnique } = place.kind;
    const drafts = [
      contactDraft({ code: place.contact.code ?? "" }),
      contactDraft(),
      contactDraft({ name: place.contact.name }),
      contactDraft({ name: "<b>" }),
    ];
    const answers = okOf(await ledger.createContacts(aCall(), drafts));
    expect(
      answers.map((answer) => (answer.kind === "refused" ? answer.reason : answer.kind)),
    ).toEqual([
      "duplicate_contact",
      "ok",
      ...(areNamesUnique ? ["duplicate_contact", "contact_name_invalid"] : ["ok", "ok"]),
    ]);
  });

  test("contacts are listed by change, each at least once over all pages", async () => {
    const drafts = Array.from({ length: 30 }, () => contactDraft());
    const made = okOf(await ledger.createContacts(aCall(), drafts)).map(okOf);
    const page = okOf(await ledger.listChanges(aCall(), { kind: "contacts" }));
    const ids = page.changes.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
    expect(page.cursor).toBeNull();
    const later = new Date(Date.now() + 60_000).toISOString();
    const none = await ledger.listChanges(aCall(), { kind: "contacts", since: later });
    expect(okOf(none).changes).toEqual([]);
  });

  test("an invoice comes back as it was made", async () => {
    const draft = place.draftInvoice();
    const [answer] = okOf(await ledger.createInvoices(aCall("op-1"), [draft]));
    const invoice = okOf(answer);
    expect(invoice).toMatchObject({
      number: draft.number,
      reference: "PO 42",
      contactId: place.contact.id,
      status: place.firstStatus,
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
    const invoice = await place.createInvoice({ number: `A,B "${crypto.randomUUID()}"` });
    expect(okOf(await ledger.findInvoices(aCall(), { numbers: [invoice.number] }))).toEqual([
      invoice,
    ]);
  });

  test("an invoice is created in each status that the kind has", async () => {
    for (const status of place.statuses)
      expect(await place.createInvoice({ status })).toMatchObject({ status });
  });

  test("tax is on top, inside or absent, as the draft says", async () => {
    const { taxType, percent } = place.chart;
    const lines = [aLine("1", "100.0000", "100.0000", taxType)];
    const taxed = { subtotal: "100.0000", tax: `${percent}.0000`, total: `${100 + percent}.0000` };
    expect(await place.createInvoice({ lines })).toMatchObject(taxed);
    const whole = `${100 + percent}.0000`;
    const inside = {
      lines: [aLine("1", whole, whole, taxType)],
      lineAmounts: "inclusive",
    } as const;
    if (place.kind.lineAmounts.includes("inclusive"))
      expect(await place.createInvoice(inside)).toMatchObject(taxed);
    expect(await place.createInvoice({ lines, lineAmounts: "none" })).toMatchObject({
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
    const invoice = await place.createInvoice({ lines });
    expect(invoice.total).toBe("26.0000");
    expect(invoice.lines.map(({ amount }) => amount)).toEqual(["25.8300", "1.0000", "-0.8300"]);
    const withArithmetic = /^Seats( \(.* = .*\))?$/;
    for (const line of invoice.lines) expect(line.description).toMatch(withArithmetic);
  });

  test("a full call of invoices answers each draft, in order", async () => {
    const { documents } = ledger.traits.calls;
    const drafts = Array.from({ length: documents }, (_, index) =>
      place.draftInvoice({ lines: [aLine("1", `${index + 1}.0000`, `${index + 1}.0000`)] }),
    );
    const bad = [7, 23, 49].filter((index) => index < documents);
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
    expect(found).toHaveLength(documents - bad.length);
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
      const [answer] = okOf(await ledger.createInvoices(aCall(), [place.draftInvoice(changes)]));
      expect(answer).toMatchObject({
        kind: "refused",
        reason,
        messages: [expect.stringMatching(/.{10}/)],
      });
    }
  });

  test("a number that is taken is refused, or is found again by the link to us", async () => {
    const first = await place.createInvoice();
    const sourceUrl = "https://billing.example.com/v1/invoices/another";
    const again = { number: first.number, reference: "another", sourceUrl };
    const [answer] = okOf(await ledger.createInvoices(aCall(), [place.draftInvoice(again)]));
    if (ledger.traits.documents.hasUniqueNumbers)
      expect(answer).toMatchObject({ kind: "refused", reason: "duplicate_number" });
    else {
      const query = { numbers: [], links: ["/v1/invoices/another"] };
      expect(okOf(await ledger.findInvoices(aCall(), query))).toEqual([okOf(answer)]);
    }
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

  test("a removed invoice is deleted or voided by its status, and again is no error", async () => {
    const outcomes: Record<LedgerFirstStatus, "deleted" | "voided"> = {
      draft: "deleted",
      awaiting_approval: "deleted",
      approved: "voided",
    };
    for (const status of place.statuses) {
      const outcome = outcomes[status];
      const invoice = await place.createInvoice({ status });
      const removal = okOf(await ledger.removeInvoice(aCall(), invoice.id));
      expect(removal).toMatchObject({ outcome, invoice: { status: outcome, amountDue: "0.0000" } });
      const isForgotten = ledger.traits.removal === "forgets_drafts" && outcome === "deleted";
      expect(okOf(await ledger.removeInvoice(aCall(), invoice.id))).toMatchObject({
        outcome: isForgotten ? "not_found" : "already_removed",
      });
    }
  });

  test("an approved invoice is not removed as an unsent one, a draft is", async () => {
    const approved = await place.createInvoice({ status: "approved" });
    const refused = await ledger.removeInvoice(aCall(), approved.id, { onlyUnsent: true });
    expect(refused).toMatchObject({ kind: "refused", reason: "wrong_status" });
    expect(okOf(await ledger.getInvoice(aCall(), approved.id)).status).toBe("approved");
    if (!ledger.traits.documents.hasDrafts) return;
    const draft = await place.createInvoice();
    const removal = okOf(await ledger.removeInvoice(aCall(), draft.id, { onlyUnsent: true }));
    expect(removal).toMatchObject({ outcome: "deleted" });
  });

  test("removing what is not there says so", async () => {
    const removal = okOf(await ledger.removeInvoice(aCall(), crypto.randomUUID()));
    expect(removal).toEqual({ outcome: "not_found", invoice: null });
  });

  test("an approved invoice over nothing can be removed", async () => {
    const invoice = await place.createInvoice({
      status: "approved",
      lines: [aLine("1", "0.0000", "0.0000")],
    });
    expect(okOf(await ledger.removeInvoice(aCall(), invoice.id))).toMatchObject({
      outcome: "voided",
    });
  });

  test("an amended invoice keeps its lines' ids, and a repeat changes nothing", async () => {
    const invoice = await place.createInvoice();
    const kept = invoice.lines[0]?.ledgerLineId ?? "";
    const changes = [
      { ...aLine("4", "10.5000", "42.0000"), ledgerLineId: kept },
      { ...aLine("1", "5.0000", "5.0000"), description: "Set-up", ledgerLineId: null },
    ];
    const amendment = { id: invoice.id, allowed: [place.firstStatus], changes } as const;
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
    const invoice = await place.createInvoice({ status: "approved" });
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
});
