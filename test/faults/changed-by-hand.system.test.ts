/**
 * What people and other programs change of our documents in the ledger: nothing is billed in
 * another meaning, nothing twice, and nothing by no document. LEDGER-13, LEDGER-20, UNITS-8,
 * UNITS-10, STATE-4.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { askWith } from "../admin/services/request.ts";
import { refusalOf, refused } from "../scenario/checked-ask.ts";
import { scenarioTest } from "../scenario/fixtures.ts";
import type { Json } from "../scenario/units-builder.ts";
import { type Bookkeeper, bookkeeper } from "../support/bookkeeper.ts";
import { perFile } from "../support/file-fixture.ts";
import { jobsOf } from "../support/rows.ts";
import { until } from "../support/system.ts";
import { synced } from "./ledger-documents.ts";

interface Prepared {
  readonly own: CreatedOrganisation;
  readonly id: string;
  /** The newest invoice: what amendments change. */
  readonly invoice: Json;
  readonly person: Bookkeeper;
  /** What operators see of documents that drift: the differences by number. */
  drift(): Promise<Readonly<Record<string, readonly string[]>>>;
  /** Syncs the ledger, until the invoice or the list of drift shows it. */
  sync(isSynced: () => Promise<boolean>): Promise<void>;
}

const window = { invoice_create_days: 20 };
const outside = { invoice_create_days: 0 };

/** A sandbox on 16 April with a subscription of ten units at 10.00, its documents drafts. */
const test = scenarioTest
  .extend("admin", perFile, async ({ system }) => askWith(system, await system.operator()))
  .extend(
    "prepared",
    perFile,
    ({ system, builder, admin }) =>
      async (settings: Record<string, unknown>, body: object = {}): Promise<Prepared> => {
        const own = await builder.sandbox(settings);
        await builder.setClock(own, "2026-04-16");
        const { id } = await builder.subscribe(own, { start_date: "2026-04-01", ...body });
        const [invoice] = await builder.invoices(own, id);
        const organisation = own.organisationId;
        return {
          ...{ own, id, invoice },
          person: bookkeeper(system.pool, system.demoUrl, own.tenantId),
          drift: async () => {
            const asked = { organisation, state: "DOCUMENT_STATE_DRIFT" };
            const { data = [] } = await admin.done("DocumentService/ListDocuments", asked);
            return Object.fromEntries(
              data.map(({ number, ledgerDifferences }: Json) => [number, ledgerDifferences]),
            );
          },
          sync: async (isSynced) => {
            await admin.done("LedgerSyncService/SyncLedger", { organisation });
            await until("the change was synced", isSynced);
          },
        };
      },
  );

const half = { prorate: true, effective_date: "2026-04-16" };
const amend = { document: "amend" };

const linesOf = ({ lines }: Json) => lines.map(({ kind, amount }: Json) => `${kind} ${amount}`);

/** A person rewords each line. */
const reworded = (line: { readonly Description: string }) => ({
  ...line,
  Description: `${line.Description} (thank you)`,
});

describe.concurrent("an invoice whose lines another program replaced by equal ones", () => {
  test("is amended, and the lines are known by their new ids", async ({ prepared, builder }) => {
    const { own, id, invoice, person } = await prepared(window);
    for (const units of [13, 15]) {
      await person.recreate(invoice.number);
      const { change } = await builder.changed(own, id, { units, ...half, ...amend });
      expect(change).toMatchObject({ invoice: null, renewal_invoice: { ...synced } });
    }
    const [shown] = await builder.invoices(own, id);
    expect(linesOf(shown)).toEqual(["plan 150.0000", "proration 15.0000", "proration 10.0000"]);
    await builder.expectEqualDocuments(own);
  });

  test("is re-priced while its subscription is pending", async ({ prepared, builder }) => {
    const { own, id, invoice, person } = await prepared(window, { start_date: "2026-05-10" });
    await person.recreate(invoice.number);
    const { change } = await builder.changed(own, id, { units: 6 });
    expect(change.invoice).toMatchObject({ ...synced, id: invoice.id, subtotal: "60.0000" });
    await builder.expectEqualDocuments(own);
  });

  test("takes the line of a charge that joins it", async ({ prepared, builder }) => {
    const { own, id, invoice, person } = await prepared(outside);
    await person.recreate(invoice.number);
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ ...synced, id: invoice.id, subtotal: "115.0000" });
    await builder.expectEqualDocuments(own);
  });
});

describe.concurrent("an invoice whose lines were replaced by others", () => {
  test("stays, and an increase by amend is billed on a separate invoice", async ({
    prepared,
    builder,
  }) => {
    const { own, id, invoice, person } = await prepared(window);
    await person.recreate(invoice.number, reworded);
    const { change } = await builder.changed(own, id, { units: 13, ...half, ...amend });
    expect(change.renewal_invoice).toBeNull();
    expect(change.invoice).toMatchObject({ ...synced, type: "change", subtotal: "45.0000" });
    const [, shown] = await builder.invoices(own, id);
    expect(shown).toMatchObject({ ...synced, id: invoice.id, subtotal: "100.0000" });
    expect(shown.lines).toEqual(invoice.lines);
    // The next period is billed for 13 units now.
    const next = await builder.changed(own, id, { units: 14, document: "separate" });
    expect(linesOf(next.change.invoice)).toEqual(["proration 10.0000"]);
  });

  test("stays, and a decrease by amend is credited", async ({ prepared, builder }) => {
    const { own, id, invoice, person } = await prepared(window);
    await person.recreate(invoice.number, reworded);
    const { change } = await builder.changed(own, id, { units: 6, ...amend });
    expect(change).toMatchObject({ units: 6, invoice: null, renewal_invoice: null });
    const [note] = await builder.creditNotes(own, id);
    expect(note).toMatchObject({ id: change.credit_note, status: "approved", subtotal: "40.0000" });
    const [shown] = await builder.invoices(own, id);
    expect(shown).toMatchObject({ ...synced, id: invoice.id, subtotal: "100.0000" });
  });

  test("stays while pending, and the new price is billed or credited apart", async ({
    prepared,
    builder,
  }) => {
    const more = await prepared(window, { start_date: "2026-05-10" });
    await more.person.recreate(more.invoice.number, reworded);
    const higher = (await builder.changed(more.own, more.id, { units: 13 })).change;
    expect(higher).toMatchObject({ credit_note: null });
    expect(higher.invoice).toMatchObject({ subtotal: "30.0000", issue_date: "2026-05-10" });
    const less = await prepared(window, { start_date: "2026-05-10" });
    await less.person.recreate(less.invoice.number, reworded);
    const lower = (await builder.changed(less.own, less.id, { units: 6 })).change;
    const [note] = await builder.creditNotes(less.own, less.id);
    expect(lower).toMatchObject({ invoice: null, credit_note: note.id });
    expect(note).toMatchObject({ subtotal: "40.0000" });
  });
});

type Edit = (person: Bookkeeper, number: string) => Promise<void>;
const edits: readonly (readonly [string, string, Edit])[] = [
  [
    "currency",
    "its currency is EUR",
    (person, number) => person.change(number, { CurrencyCode: "EUR" }),
  ],
  [
    "kind of amounts",
    "its amounts contain tax",
    (person, number) => person.change(number, { LineAmountTypes: "Inclusive" }),
  ],
  ["contact", "it is for another contact", (person, number) => person.readdress(number, "GLOBEX")],
];

describe.concurrent.each(edits)("an invoice with another %s there", (_what, words, edit) => {
  test("takes no charge before the sync knows it, and is shown as drift", async ({
    prepared,
    builder,
  }) => {
    const { own, id, invoice, person, drift } = await prepared(outside);
    await edit(person, invoice.number);
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ ...synced, type: "change", subtotal: "15.0000" });
    expect(change.invoice.currency).toBe(invoice.currency);
    const [, shown] = await builder.invoices(own, id);
    expect(shown).toMatchObject({ ...synced, id: invoice.id, subtotal: "100.0000" });
    expect((await drift())[invoice.number]).toEqual([expect.stringContaining(words)]);
    // The next one joins the invoice that is ours.
    const next = await builder.changed(own, id, { units: 14, ...half });
    expect(next.change.invoice).toMatchObject({ id: change.invoice.id, subtotal: "20.0000" });
  });

  test("takes no charge after the sync, and asks the ledger nothing of it", async ({
    prepared,
    builder,
    system,
  }) => {
    const { own, id, invoice, person, drift, sync } = await prepared(outside);
    await edit(person, invoice.number);
    await sync(async () => invoice.number in (await drift()));
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ ...synced, type: "change", subtotal: "15.0000" });
    const amending = { organisationId: own.organisationId, kind: "amend_invoice" };
    expect(await jobsOf(system.pool, amending)).toEqual([]);
  });

  test("is not re-priced: amend is billed separately, and refused once it is known", async ({
    prepared,
    builder,
  }) => {
    const { own, id, invoice, person } = await prepared(window);
    await edit(person, invoice.number);
    const { change } = await builder.changed(own, id, { units: 12, ...amend });
    expect(change.renewal_invoice).toBeNull();
    expect(change.invoice).toMatchObject({ ...synced, type: "change", subtotal: "20.0000" });
    const pending = await prepared(window, { start_date: "2026-05-10" });
    await edit(pending.person, pending.invoice.number);
    await pending.sync(async () => pending.invoice.number in (await pending.drift()));
    const first = await builder.change(pending.own, pending.id, { units: 13 });
    expect(refusalOf(first)).toEqual(refused(422, "first_invoice_not_amendable"));
    expect(first.json.error.message).toContain("another currency, kind of amounts or contact");
  });

  test("is still removed by an end", async ({ prepared, builder }) => {
    const { own, id, invoice, person, drift, sync } = await prepared(window);
    await edit(person, invoice.number);
    await sync(async () => invoice.number in (await drift()));
    await builder.ended(own, id, { when: "now" });
    const removed = (await builder.inLedger(own)).find(({ number }) => number === invoice.number);
    expect(removed?.status).toBe("DELETED");
    expect(await drift()).not.toHaveProperty(invoice.number);
  });
});

describe.concurrent("an invoice", () => {
  test("follows the ledger's due date, and is published", async ({ prepared, builder, system }) => {
    const { own, id, invoice, person, sync, drift } = await prepared(outside);
    await person.change(invoice.number, { DueDate: "2026-06-01" });
    await sync(async () => (await builder.invoices(own, id))[0].due_date === "2026-06-01");
    expect(await drift()).toEqual({});
    const { rows } = await system.pool.query(
      `SELECT change FROM outbox WHERE organisation_id = $1 AND object_id = $2
      UNION SELECT type FROM events WHERE organisation_id = $1 AND object_id = $2`,
      [own.organisationId, invoice.id],
    );
    expect(JSON.stringify(rows)).toContain("updated");
  });

  test("keeps its number, date and reference, and shows others there as drift", async ({
    prepared,
    builder,
  }) => {
    const { own, id, invoice, person, drift, sync } = await prepared(outside);
    const byHand = { InvoiceNumber: "HAND-77", Date: "2026-04-02", Reference: "By hand" };
    await person.change(invoice.number, byHand);
    await sync(async () => invoice.number in (await drift()));
    expect(await drift()).toEqual({
      [invoice.number]: [
        "its number is HAND-77",
        "it is dated 2026-04-02",
        'its reference is "By hand"',
      ],
    });
    expect((await builder.invoices(own, id))[0]).toEqual(invoice);
    // Its amounts mean the same, so a charge joins it.
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ ...synced, id: invoice.id, subtotal: "115.0000" });
  });

  test("of a customer whose contact was merged takes a charge, and does not drift", async ({
    prepared,
    builder,
  }) => {
    const { own, id, invoice, person, drift } = await prepared(outside);
    await person.addContact("PARENT", "Parent Ltd");
    await person.mergeContact("ACME", "PARENT");
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ ...synced, id: invoice.id, subtotal: "115.0000" });
    expect(await drift()).toEqual({});
    await builder.expectEqualDocuments(own);
  });
});
