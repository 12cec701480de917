/** Ends reverse what `separate` changes billed of the next period, once. END-7, RESTORE-4. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Endable } from "../faults/ends-builder.ts";
import { sharedSystem } from "../support/reused-system.ts";
import { tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { checkedAsk, refusalOf } from "./checked-ask.ts";
import { type LifeBuilder, lifeBuilder } from "./life-builder.ts";
import { addBands, type Json } from "./units-builder.ts";

let system: TestSystem;
let builder: LifeBuilder;

beforeAll(async () => {
  system = await sharedSystem();
  builder = lifeBuilder(system, checkedAsk(system));
});

const now = { when: "now" };
const periodEnd = { when: "period_end" };
const half = { prorate: true, effective_date: "2026-04-16" };
const separate = { ...half, document: "separate" };
const ten = "100.0000 10 × 10.0000";
const halfOfApril = "10.0000 10 to 12 seats, 15 of 30 days: (120 − 100) × 15 ÷ 30";
const allOfMay = "20.0000 10 to 12 seats, 31 of 31 days: (120 − 100) × 31 ÷ 31";
const may = "the period from 2026-05-01 to 2026-06-01, which does not begin";
const credited = `20.0000 Reverses INV-0003 for ${may}: ${allOfMay.slice("20.0000 ".length)}`;

/** On 16 April: ten seats at 10.00, approved documents, and the renewal invoice of May. */
async function inWindow(status = "approved", body: object = {}): Promise<Endable> {
  const own = await builder.sandbox({ invoice_create_days: 20, first_invoice_status: status });
  await addBands(system, own);
  await builder.setClock(own, "2026-04-16");
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01", ...body });
  return { own, id };
}

/** The same with two seats more, billed separately: 10.00 of April, 20.00 of May. */
async function withTwoMore(status?: string): Promise<Endable> {
  const created = await inWindow(status);
  await changed(created, { units: 12, ...separate });
  return created;
}

async function changed({ own, id }: Endable, body: object): Promise<Json> {
  const answer = await builder.changed(own, id, body);
  await builder.posted(own);
  return answer.change;
}

async function ended({ own, id }: Endable, body: object): Promise<Json> {
  const answer = await builder.ended(own, id, body);
  await builder.posted(own);
  return answer;
}

async function restored({ own, id }: Endable): Promise<void> {
  await builder.restored(own, id);
  await builder.posted(own);
}

/** What stands of its credit notes, oldest first: each line's amount and text. */
async function credits({ own, id }: Endable): Promise<readonly string[][]> {
  const notes = (await builder.creditNotes(own, id)).toReversed();
  return notes.map(({ lines }) => lines.map((line: Json) => `${line.amount} ${line.description}`));
}

/** What the customer pays in the end: invoices less credit notes, without tax. */
async function paid({ own, id }: Endable): Promise<number> {
  const invoices = (await builder.invoices(own, id)).filter(
    ({ status }) => status !== "voided" && status !== "deleted",
  );
  const sumOf = (documents: readonly Json[]) =>
    documents.reduce((sum, { subtotal }) => sum + Number(subtotal), 0);
  return sumOf(invoices) - sumOf(await builder.creditNotes(own, id));
}

describe.concurrent("an increase that was billed separately", () => {
  test.each([
    [periodEnd, "approved"],
    [now, "draft"],
  ])("is credited for the next period by %o (%s invoices)", async (body, status) => {
    const created = await withTwoMore(status);
    const { own, id } = created;
    expect(await paid(created)).toBe(230);
    await ended(created, body);
    expect(await builder.standing(own, id)).toEqual([
      ["INV-0001 first", ten],
      ["INV-0003 change", halfOfApril, allOfMay],
    ]);
    expect(await credits(created)).toEqual([[credited]]);
    const [note] = await builder.creditNotes(own, id);
    const [change] = await builder.invoices(own, id);
    expect(note.lines).toMatchObject([
      { name: change.lines[1].name, effective_date: "2026-05-01T00:00:00.000Z" },
    ]);
    // It goes to the invoice that billed it, as soon as that is approved.
    const allocated = note.allocations.map(({ invoice, amount }: Json) => [invoice, amount]);
    expect([note.status, note.allocation_status, allocated]).toEqual(
      status === "approved"
        ? ["paid", "applied", [[change.id, note.total]]]
        : ["approved", "unapplied", []],
    );
    await builder.expectEqualDocuments(own);
    await builder.setClock(own, "2026-05-02");
    expect(refusalOf(await builder.restore(own, id)).code).toBe("invalid_state");
    expect(await builder.subscription(own, id)).toMatchObject({
      status: body === now ? "ended" : "complete",
    });
    expect(await paid(created)).toBe(110);
  });
});

describe.concurrent("an option that also removes the invoice of the change", () => {
  const voids = { ...now, void_approved_invoices: true };

  test("reverses it with the end if it was paid in the ledger without our knowledge", async () => {
    const created = await withTwoMore();
    const [change] = await builder.invoices(created.own, created.id);
    await builder.pay(created.own, change, change.total);
    await ended(created, voids);
    expect(await builder.standing(created.own, created.id)).toEqual([
      ["INV-0003 change", halfOfApril, allOfMay],
    ]);
    expect(await credits(created)).toEqual([[credited]]);
    await builder.expectEqualDocuments(created.own);
  });
});

describe.concurrent("a volume credit of the next period", () => {
  test("is charged back by an invoice of type change", async () => {
    const created = await inWindow("draft", { plan_code: "bands", price: undefined });
    const { own, id } = created;
    const { credit_note } = await changed(created, { units: 11, ...separate });
    expect(credit_note).not.toBeNull();
    expect(await credits(created)).toEqual([
      [expect.stringContaining("11 seats"), expect.stringMatching(/^12\.0000 10 to 11/)],
    ]);
    await ended(created, periodEnd);
    const back = `12.0000 Reverses CN-0001 for ${may}`;
    expect(await builder.standing(own, id)).toEqual([
      ["INV-0001 first", ten],
      ["INV-0003 change", back],
    ]);
    const [invoice] = await builder.invoices(own, id);
    expect(invoice).toMatchObject({
      period: { start: "2026-04-01", end: "2026-05-01" },
      lines: [
        {
          kind: "proration",
          period: { start: "2026-05-01", end: "2026-06-01" },
          proration: { from_units: 11, to_units: 10, days_remaining: 31, days_in_period: 31 },
        },
      ],
    });
    // Ten of April, of which the second half cost 6.00 less.
    expect(await paid(created)).toBe(94);
    await builder.expectEqualDocuments(own);
  });
});

describe.concurrent("a renewal invoice that a person removed", () => {
  /** Both the ledger and we show it as voided. */
  async function voided({ own, id }: Endable): Promise<void> {
    const renewal = (await builder.invoices(own, id)).find(({ type }) => type === "renewal");
    await tables(system.pool).invoice.updateMany({
      where: { id: renewal.id },
      data: { status: "voided", amountDue: 0 },
    });
    const text =
      "UPDATE demo_ledger.invoices SET status = 'VOIDED' WHERE tenant_id = $1 AND number = $2";
    await system.pool.query(text, [own.tenantId, renewal.number]);
  }

  test("is followed by the bill of a raise since, once it is restored", async () => {
    const created = await inWindow();
    const { own, id } = created;
    await voided(created);
    await ended(created, periodEnd);
    await changed(created, { units: 12, ...half });
    expect(await paid(created)).toBe(110);
    await restored(created);
    const standing = await builder.standing(own, id);
    expect(standing).toEqual([
      ["INV-0001 first", ten],
      ["INV-0003 change", halfOfApril],
      ["INV-0004 change", allOfMay],
    ]);
    await changed(created, { units: 13, ...separate });
    await builder.setClock(own, "2026-05-02");
    await builder.posted(own);
    expect(await paid(created)).toBe(110 + 20 + 5 + 10);
    await builder.expectEqualDocuments(own);
  });
});
