/**
 * BillingService over the wire: what faults of earlier versions left, planted as they left it, and
 * putting it right. ADMIN-16
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { newId } from "../../../../src/store/database/ids.ts";
import { addBands, type Json } from "../../../scenario/units-builder.ts";
import { setOrganisation, tables } from "../../../support/rows.ts";
import type { TestSystem } from "../../../support/system.ts";
import { askWith } from "../request.ts";
import { april, half, mended, reason, shown, leftoverTest as test } from "./leftovers-builder.ts";

const meter = { code: "calls", name: "API calls", unitLabel: "call" };

/** Bills usage of a first period: 50.00 on an invoice, or nothing on none. */
async function billUsage({ pool }: TestSystem, id: string, invoiceId: string | null) {
  await pool.query(
    `INSERT INTO usage_bills (organisation_id, subscription_id, bill, period_index, meter_id,
        events, quantity, priced, amount, invoice_id)
      SELECT s.organisation_id, s.id, CASE WHEN $2::uuid IS NULL THEN 1 ELSE 0 END, 0, m.id, 1, 100,
        100, CASE WHEN $2::uuid IS NULL THEN 0 ELSE 50 END, $2
      FROM subscriptions s JOIN meters m ON m.organisation_id = s.organisation_id
      WHERE s.id = $1`,
    [id, invoiceId],
  );
}

describe.concurrent("a leftover is listed once and put right once:", () => {
  test("a refused amendment is billed on a separate document", async ({
    system,
    admin,
    builder,
    ahead,
  }) => {
    const { own, id, renewal } = await ahead();
    const match = "POST /api.xro/2.0/Invoices/";
    const messages = ["A line is not there any more."];
    await system.fault({ kind: "refuse", match, messages, tenantId: own.tenantId });
    const { change } = await builder.changed(own, id, { units: 13, ...half, document: "amend" });
    expect(change.renewal_invoice.ledger.sync_status).toBe("failed");
    const documents = await mended(admin, own.organisationId, {
      kind: "LEFTOVER_KIND_UNBILLED_AMENDMENT",
      subscription: id,
      numbers: [renewal.number],
      amount: "45.0000",
      currency: "NZD",
    });
    expect(shown(documents)).toEqual([["DOCUMENT_KIND_INVOICE", "INVOICE_TYPE_CHANGE", "45.0000"]]);
    await builder.expectEqualDocuments(own);
    const [billed, left] = await builder.invoices(own, id);
    expect(billed.lines.map(({ amount }: Json) => amount)).toEqual(["15.0000", "30.0000"]);
    expect(left).toMatchObject({ id: renewal.id, subtotal: "100.0000", lines: renewal.lines });
  });

  test("a credit of an end for an invoice that the ledger refused is charged back", async ({
    system,
    admin,
    builder,
    ahead,
  }) => {
    const { own, id } = await ahead();
    const separate = { units: 13, ...half, document: "separate" };
    const { change } = await builder.changed(own, id, separate);
    await builder.posted(own);
    await builder.ended(own, id, { when: "period_end" });
    await builder.posted(own);
    const [note] = await builder.creditNotes(own, id);
    expect(note.subtotal).toBe("30.0000");
    await tables(system.pool).invoice.updateMany({
      where: { id: change.invoice.id },
      data: { status: "not_in_external", ledgerInvoiceId: null, syncError: "Refused." },
    });
    const documents = await mended(admin, own.organisationId, {
      kind: "LEFTOVER_KIND_END_WITHOUT_COUNTERPART",
      numbers: [note.number, change.invoice.number],
      amount: "30.0000",
    });
    expect(shown(documents)).toEqual([["DOCUMENT_KIND_INVOICE", "INVOICE_TYPE_CHANGE", "30.0000"]]);
    // A retry bills the half of April alone.
    const refused = (await builder.invoices(own, id)).find(
      ({ id: of }) => of === change.invoice.id,
    );
    expect(refused.lines.map(({ amount }: Json) => amount)).toEqual(["15.0000"]);
    expect(refused).toMatchObject({ status: "not_in_external", subtotal: "15.0000" });
  });

  test("a charge of an end for a credit that the ledger refused is credited", async ({
    system,
    admin,
    builder,
    aheadOf,
  }) => {
    const own = await aheadOf("approved");
    await addBands(system, own);
    const { id } = await builder.subscribe(own, { ...april, plan_code: "bands", units: 10 });
    await builder.changed(own, id, { units: 11, ...half, document: "separate" });
    await builder.posted(own);
    const [note] = await builder.creditNotes(own, id);
    await builder.ended(own, id, { when: "period_end" });
    await builder.posted(own);
    const [charge] = await builder.invoices(own, id);
    expect(charge).toMatchObject({ type: "change", subtotal: "12.0000" });
    await system.pool.query(
      `WITH gone AS (DELETE FROM allocations WHERE credit_note_id = $1)
        UPDATE credit_notes SET status = 'not_in_external', ledger_credit_note_id = NULL,
          remaining_credit = total, applied_elsewhere = 0, sync_error = 'Refused.' WHERE id = $1`,
      [note.id],
    );
    const documents = await mended(admin, own.organisationId, {
      kind: "LEFTOVER_KIND_END_WITHOUT_COUNTERPART",
      numbers: [charge.number, note.number],
      amount: "-12.0000",
    });
    expect(shown(documents)).toEqual([["DOCUMENT_KIND_CREDIT_NOTE", undefined, "12.0000"]]);
    const refused = (await builder.creditNotes(own, id)).find(({ id: of }) => of === note.id);
    expect(refused).toMatchObject({ status: "not_in_external", subtotal: "6.0000" });
  });

  test("a removed invoice that stood again is removed, and issued again if missing", async ({
    system,
    admin,
    builder,
    ahead,
  }) => {
    const { own, id, renewal } = await ahead();
    await builder.ended(own, id, { when: "period_end" });
    const lose = (id: string) =>
      tables(system.pool).invoice.updateMany({
        where: { id },
        data: { status: "not_in_external", syncError: "The ledger does not have it any more." },
      });
    await lose(renewal.id);
    const organisation = own.organisationId;
    const row = {
      kind: "LEFTOVER_KIND_REMOVED_STANDS",
      numbers: [renewal.number],
      amount: "0.0000",
    };
    expect(await mended(admin, organisation, row)).toEqual([]);
    const [again] = await builder.invoices(own, id);
    expect(again).toMatchObject({ id: renewal.id, status: "deleted" });
    // A restoration of the old version issued nothing, because the invoice counted.
    const { own: other, id: second, renewal: lost } = await ahead();
    await builder.ended(other, second, { when: "period_end" });
    await lose(lost.id);
    await system.pool.query(
      `WITH back AS (INSERT INTO restorations (id, organisation_id, seq, subscription_id,
          request_id, request_hash, job_ids)
        SELECT gen_random_uuid(), organisation_id,
          nextval(pg_get_serial_sequence('terminations', 'seq')), id, gen_random_uuid(),
          sha256('restore'), '{}' FROM subscriptions WHERE id = $1)
      UPDATE subscriptions SET cancel_at_period_end = false, end_date = NULL WHERE id = $1`,
      [second],
    );
    const missing = { ...row, numbers: [lost.number], amount: "100.0000" };
    const documents = await mended(admin, other.organisationId, missing);
    expect(shown(documents)).toEqual([
      ["DOCUMENT_KIND_INVOICE", "INVOICE_TYPE_RENEWAL", "100.0000"],
    ]);
    await builder.expectEqualDocuments(other);
  });

  test("usage billed for a period that began in Setup Mode is credited", async ({
    system,
    admin,
    builder,
    ask,
  }) => {
    const own = await system.organisation();
    const { organisationId } = own;
    const body = { customer_code: "ACME", plan_code: "team", units: 2 };
    const asked = { key: own.apiKey, idempotencyKey: randomUUID(), body };
    const { id, invoice } = (await ask("POST", "/v1/subscriptions", asked)).json;
    await builder.posted(own);
    await admin.done("MeterService/CreateMeter", { organisation: organisationId, ...meter });
    await system.pool.query(
      "UPDATE subscriptions SET created_at = start_date - interval '3 days' WHERE id = $1",
      [id],
    );
    await system.pool.query(
      `INSERT INTO audit_log (id, operator_name, operation, organisation_id, target_kind, target_id,
          before, after, created_at)
        SELECT $3, 'Olga', 'OrganisationService/SetSetupMode', $1::uuid, 'organisation', $1::uuid,
          '{"setup_mode": false}', '{"setup_mode": true}', start_date - interval '2 days'
        FROM subscriptions WHERE id = $2`,
      [organisationId, id, newId()],
    );
    await billUsage(system, id, invoice.id);
    const documents = await mended(admin, organisationId, {
      kind: "LEFTOVER_KIND_SETUP_MODE_USAGE",
      subscription: id,
      numbers: [invoice.number],
      amount: "-50.0000",
    });
    expect(shown(documents)).toEqual([["DOCUMENT_KIND_CREDIT_NOTE", undefined, "50.0000"]]);
    const first = { subscriptionId: id, index: 0 };
    expect(await tables(system.pool).period.findMany({ where: first })).toMatchObject([
      { setupMode: true },
    ]);
  });

  test("usage of a sandbox is credited by its clock at the switch", async ({
    system,
    admin,
    builder,
  }) => {
    const own = await builder.sandbox();
    const { organisationId: organisation } = own;
    await admin.done("MeterService/CreateMeter", { organisation, ...meter });
    const begun = await builder.subscribe(own, { start_date: "2026-04-05" });
    const { id, invoice } = await builder.subscribe(own, { start_date: "2026-04-10" });
    const after = await builder.subscribe(own, { start_date: "2026-04-20" });
    const switchTo = (setupMode: boolean) =>
      admin.done("OrganisationService/SetSetupMode", { id: organisation, setupMode });
    // The instant at which the first of them begins: the switch comes after it.
    await builder.setClock(own, "2026-04-04T22:00:00Z");
    await switchTo(true);
    await builder.setClock(own, "2026-04-12");
    await switchTo(false);
    await builder.setClock(own, "2026-04-21");
    await builder.changed(own, after.id, { units: 9 });
    const ids = [begun.id, id, after.id];
    await tables(system.pool).period.updateMany({
      where: { subscriptionId: { in: ids } },
      data: { setupMode: false },
    });
    for (const one of [begun, { id, invoice }, after])
      await billUsage(system, one.id, one.invoice.id);
    // What costs nothing is on no invoice.
    await billUsage(system, id, null);
    const expected = { subscription: id, numbers: [invoice.number], amount: "-50.0000" };
    const documents = await mended(admin, organisation, expected);
    expect(shown(documents)).toEqual([["DOCUMENT_KIND_CREDIT_NOTE", undefined, "50.0000"]]);
  });
});

test("leftovers are paged, and mending needs the role admin, a reason and no Setup Mode", async ({
  system,
  admin,
  builder,
  aheadOf,
}) => {
  const own = await aheadOf();
  const organisation = own.organisationId;
  for (const _ of [1, 2]) {
    const { id } = await builder.subscribe(own, april);
    const match = "POST /api.xro/2.0/Invoices/";
    await system.fault({ kind: "refuse", match, messages: ["Gone."], tenantId: own.tenantId });
    await builder.changed(own, id, { units: 13, ...half, document: "amend" });
  }
  const listed = "BillingService/ListLeftovers";
  const first = await admin.done(listed, { organisation, limit: 1 });
  expect([first.data.length, first.hasMore]).toEqual([1, true]);
  const [{ id }] = first.data;
  const second = await admin.done(listed, { organisation, limit: 1, startingAfter: id });
  expect([second.data.length, second.hasMore ?? false]).toEqual([1, false]);
  expect(second.data[0].id).not.toBe(id);
  expect(await admin.refused(listed, { organisation, startingAfter: "x" })).toBe(
    "invalid_parameter starting_after",
  );
  const mend = "BillingService/MendLeftover";
  const reader = askWith(system, await system.operator("read-only", "Rita"));
  expect(await reader.refused(mend, { organisation, id, reason })).toBe("insufficient_role");
  expect(await admin.refused(mend, { organisation, id })).toBe("invalid_parameter reason");
  const other = await system.organisation();
  expect(await admin.refused(mend, { organisation: other.organisationId, id, reason })).toBe(
    "invalid_state",
  );
  await setOrganisation(system.pool, organisation, { setupMode: true });
  expect(await admin.refused(mend, { organisation, id, reason })).toBe("invalid_state");
});
