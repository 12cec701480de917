/**
 * Changes of units while the ledger loses requests and answers, fails, refuses or is down: the
 * change is made and answered. Every document and line is in the ledger once, or the answer has the
 * reason. UNITS-8, UNITS-10, POSTING-4.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { aloneTest as test } from "../scenario/fixtures.ts";
import { addBands, type Json, type UnitsBuilder } from "../scenario/units-builder.ts";
import { type TestSystem, until } from "../support/system.ts";
import { endPause, scheduled, synced } from "./ledger-documents.ts";
import { lateAnswerMs, promptAnswerMs } from "./processes.ts";

const april = { start_date: "2026-04-01" };
const half = { prorate: true, effective_date: "2026-04-16" };
const amendments = "POST /api.xro/2.0/Invoices/";
const creations = "PUT /api.xro/2.0/Invoices";
const notes = "PUT /api.xro/2.0/CreditNotes";

/** A new organisation on 16 April, with a subscription of ten units. */
async function prepared(
  system: TestSystem,
  builder: UnitsBuilder,
  changes: Record<string, unknown> = {},
  body: object = {},
): Promise<{ readonly own: CreatedOrganisation; readonly id: string; readonly first: Json }> {
  const own = await builder.sandbox(changes);
  await addBands(system, own);
  await builder.setClock(own, "2026-04-16");
  const { id, invoice: first } = await builder.subscribe(own, { ...april, ...body });
  return { own, id, first };
}

const amounts = ({ lines }: Json) => lines.map(({ kind, amount }: Json) => [kind, amount]);

const lost = [
  ["the request never came", { kind: "drop_before" }],
  ["the answer was cut off", { kind: "drop_after" }],
  // The system's calls to the ledger may take two seconds.
  ["the answer came too late", { kind: "slow_after", delayMs: 3_000 }],
  ["it was done after we had given up", { kind: "slow_before", delayMs: 2_500 }],
  ["a gateway answered 503 in HTML", { kind: "status", status: 503 }],
  ["it answered 500", { kind: "status", status: 500, body: "{}" }],
  ["it asked for patience", { kind: "rate_limit", retryAfterSeconds: 2 }],
] as const;

describe.concurrent("a charge that joins a draft is one line of it if", () => {
  test.for(lost)("%s", async ([_, fault], { system, builder }) => {
    const { own, id } = await prepared(system, builder);
    await system.fault({ ...fault, match: amendments, tenantId: own.tenantId });
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.units).toBe(13);
    await builder.expectEqualDocuments(own);
    const [invoice, ...others] = await builder.invoices(own, id);
    expect(others).toEqual([]);
    expect(invoice).toMatchObject({ ...synced, subtotal: "115.0000", total: "138.0000" });
    expect(amounts(invoice)).toEqual([
      ["plan", "100.0000"],
      ["proration", "15.0000"],
    ]);
    expect(invoice.id).toBe(change.invoice.id);
  });
});

describe.concurrent("a renewal invoice is amended once if", () => {
  test.for(lost)("%s", async ([_, fault], { system, builder }) => {
    const { own, id } = await prepared(system, builder, {
      invoice_create_days: 20,
      first_invoice_status: "approved",
    });
    await system.fault({ ...fault, match: amendments, tenantId: own.tenantId });
    await builder.changed(own, id, { units: 13, ...half, document: "amend" });
    await builder.expectEqualDocuments(own);
    const [renewal] = await builder.invoices(own, id);
    expect(amounts(renewal)).toEqual([
      ["plan", "130.0000"],
      ["proration", "15.0000"],
    ]);
  });
});

describe("with the ledger down", () => {
  test("every change is answered in time, and its documents are posted afterwards", async ({
    system,
    builder,
  }) => {
    const joining = await prepared(system, builder);
    const separate = await prepared(system, builder, { first_invoice_status: "approved" });
    const credit = await prepared(
      system,
      builder,
      { first_invoice_status: "approved" },
      { plan_code: "bands" },
    );
    await system.stopLedger();
    const started = performance.now();
    const [joined, issued, credited] = await Promise.all([
      builder.changed(joining.own, joining.id, { units: 13, ...half }),
      builder.changed(separate.own, separate.id, { units: 13, ...half }),
      builder.changed(credit.own, credit.id, { units: 11, ...half }),
    ]);
    expect(performance.now() - started).toBeLessThan(lateAnswerMs);
    // In the ledger without its new line: shown as what it is, wherever it is read.
    const ledger = {
      ...joining.first.ledger,
      sync_status: "failed",
      sync_error: scheduled.ledger.sync_error,
    };
    expect(joined.change).toMatchObject({
      units: 13,
      invoice: { subtotal: "115.0000", status: "draft", ledger },
    });
    expect(await builder.invoices(joining.own, joining.id)).toEqual([joined.change.invoice]);
    expect(issued.change).toMatchObject({ units: 13, invoice: { ...scheduled, total: "15.0000" } });
    expect(await builder.creditNotes(credit.own, credit.id)).toMatchObject([
      {
        id: credited.change.credit_note,
        status: "scheduled",
        ledger: { sync_status: "failed", credit_note_id: null },
      },
    ]);
    // What needs no ledger goes on.
    await builder.changed(separate.own, separate.id, { units: 4 });
    await system.startLedger();
    for (const { own } of [joining, separate, credit]) await builder.expectEqualDocuments(own);
    expect(await builder.invoices(joining.own, joining.id)).toMatchObject([
      { ...synced, total: "138.0000" },
    ]);
    const shown = await builder.invoices(separate.own, separate.id);
    expect(shown[0]).toMatchObject({
      id: issued.change.invoice.id,
      status: "approved",
      total: "18.0000",
    });
    expect(await builder.creditNotes(credit.own, credit.id)).toMatchObject([
      { status: "approved", total: "7.2000" },
    ]);
  });
});

/** Changes an invoice in the ledger, as a person would. */
async function alterLedgerInvoice(
  system: TestSystem,
  own: CreatedOrganisation,
  number: string,
  set: string,
): Promise<void> {
  const text = `UPDATE demo_ledger.invoices SET ${set} WHERE tenant_id = $1 AND number = $2`;
  expect((await system.pool.query(text, [own.tenantId, number])).rowCount).toBe(1);
}

describe.concurrent("an invoice that someone changed in the ledger", () => {
  test.for([
    "AUTHORISED",
    "SUBMITTED",
    "VOIDED",
  ])("to %s is not joined by a charge, which gets a separate invoice", async (status, {
    system,
    builder,
  }) => {
    const { own, id } = await prepared(system, builder);
    const [first] = await builder.invoices(own, id);
    await alterLedgerInvoice(system, own, first.number, `status = '${status}'`);
    await builder.changed(own, id, { units: 13, ...half });
    // A slow machine may answer before the ledger has decided.
    await builder.expectEqualDocuments(own);
    const [newest, before] = await builder.invoices(own, id);
    expect(newest).toMatchObject({
      ...synced,
      type: "change",
      subtotal: "15.0000",
      total: "18.0000",
    });
    expect(before).toMatchObject({ id: first.id, subtotal: "100.0000", lines: first.lines });
    // The next charge joins that one: it is the newest, and a draft.
    const { change: next } = await builder.changed(own, id, { units: 14, ...half });
    expect(next.invoice).toMatchObject({ id: newest.id, subtotal: "20.0000" });
    await builder.expectEqualDocuments(own);
  });

  test("keeps a line that was added by hand, and our total is the ledger's", async ({
    system,
    builder,
  }) => {
    const { own, id } = await prepared(system, builder);
    const [first] = await builder.invoices(own, id);
    const hand = {
      id: crypto.randomUUID(),
      description: "By hand",
      quantity: "1",
      unitAmount: "7.00",
      accountCode: "200",
      taxType: "NONE",
      taxAmount: "0.00",
      lineAmount: "7.00",
    };
    const added = JSON.stringify([hand]);
    await alterLedgerInvoice(
      system,
      own,
      first.number,
      `lines = lines || '${added}', sub_total = 107, total = 127`,
    );
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ ...synced, subtotal: "115.0000", total: "145.0000" });
    const [booked] = await builder.inLedger(own);
    expect(booked?.lines.map(([, amount]) => amount)).toEqual(["100.00", "7.00", "15.00"]);
  });

  test("a separate invoice refused by the ledger has its reason; the change stands", async ({
    system,
    builder,
  }) => {
    const { own, id } = await prepared(system, builder, { first_invoice_status: "approved" });
    await system.fault({
      kind: "refuse",
      match: creations,
      tenantId: own.tenantId,
      messages: ["No more today."],
    });
    const { change, ...after } = await builder.changed(own, id, { units: 13, ...half });
    expect(after.units).toBe(13);
    expect(change.invoice).toMatchObject({
      status: "not_in_external",
      ledger: { sync_status: "failed", invoice_id: null, sync_error: "No more today." },
    });
    // It was billed: what the ledger refuses is an operator's matter, not a second charge.
    expect((await builder.changed(own, id, { units: 12 })).change.invoice).toBeNull();
    expect((await builder.changed(own, id, { units: 13, ...half })).change.invoice).toBeNull();
  });

  test("a credit note that the ledger refuses has its reason", async ({ system, builder }) => {
    const { own, id } = await prepared(
      system,
      builder,
      { first_invoice_status: "approved" },
      { plan_code: "bands" },
    );
    await system.fault({
      kind: "refuse",
      match: notes,
      tenantId: own.tenantId,
      messages: ["No credit."],
    });
    const { change } = await builder.changed(own, id, { units: 11, ...half });
    expect(await builder.creditNotes(own, id)).toMatchObject([
      {
        id: change.credit_note,
        status: "not_in_external",
        allocation_status: "unapplied",
        ledger: { sync_status: "failed", credit_note_id: null, sync_error: "No credit." },
      },
    ]);
  });
});

test("an answer comes in time while the amendment waits; a repeat has its outcome", async ({
  system,
  builder,
}) => {
  const { own, id } = await prepared(system, builder);
  const pause = { kind: "rate_limit", match: amendments, problem: "day", retryAfterSeconds: 3_600 };
  await system.fault({ ...pause, tenantId: own.tenantId });
  const started = performance.now();
  const first = await builder.change(own, id, { units: 13, ...half }, "waits");
  expect(performance.now() - started).toBeLessThan(promptAnswerMs);
  expect([first.status, first.json.change.invoice.subtotal]).toEqual([200, "115.0000"]);
  expect(first.json.change.invoice.ledger).toMatchObject({
    sync_status: "failed",
    sync_error: scheduled.ledger.sync_error,
  });
  await endPause(system, own.organisationId);
  await builder.expectEqualDocuments(own);
  const again = await builder.change(own, id, { units: 13, ...half }, "waits");
  expect([again.text, again.headers.get("Idempotent-Replayed")]).toEqual([first.text, "true"]);
  await until(
    "the invoice shows it",
    async () => (await builder.invoices(own, id))[0]?.total === "138.0000",
  );
});
