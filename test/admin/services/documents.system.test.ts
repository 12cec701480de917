/**
 * Documents of which something failed or waits, over the wire: credit notes as invoices are, amendments and
 * allocations, in one list; each is found with its reason, mended, and asked for again. decisions §§6 and 8.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { MadeOrganisation } from "../../../src/dev/local-stack/first-data.ts";
import { addCreditNote } from "../../scenario/row-builder.ts";
import {
  addBands,
  type Json,
  type UnitsBuilder,
  unitsBuilder,
} from "../../scenario/units-builder.ts";
import { sharedSystem } from "../../support/reused-system.ts";
import { type TestSystem, until } from "../../support/system.ts";
import { bookInvoice, spendCredit } from "../../worker/activities/issue-credit.ts";
import { type AdminAsk, askWith } from "./request.ts";

let system: TestSystem;
let admin: AdminAsk;
let world: UnitsBuilder;

beforeAll(async () => {
  system = await sharedSystem();
  admin = askWith(system, await system.operator("owner", "Olga"));
  world = unitsBuilder(system, system.ask);
});

const april = { start_date: "2026-04-01" };
/** Half of April is left, and all of it. */
const half = { prorate: true, effective_date: "2026-04-16" };
const whole = { prorate: true, effective_date: "2026-04-01" };

/** An organisation in the middle of April; `bands`: ten and fewer cost 10 each, from eleven on all of them 8. */
async function sandbox(changes: Record<string, unknown> = {}): Promise<MadeOrganisation> {
  const made = await world.sandbox({ test_clock: "2026-04-16T12:00:00Z", ...changes });
  await addBands(system, made);
  return made;
}

/** Maps everything of the organisation onto this account, whether the ledger has it or not. */
const map = ({ organisationId }: MadeOrganisation, revenueAccount: string) =>
  admin.done("AccountMappingService/SetAccountMapping", {
    organisation: organisationId,
    revenueAccount,
    taxType: "OUTPUT2",
    skipCheck: true,
  });

async function list(
  { organisationId }: MadeOrganisation,
  query: object = {},
): Promise<readonly Json[]> {
  return (
    (await admin.done("DocumentService/ListDocuments", { organisation: organisationId, ...query }))
      .data ?? []
  );
}

async function get({ organisationId }: MadeOrganisation, id: string): Promise<Json> {
  return (await admin.done("DocumentService/GetDocument", { organisation: organisationId, id }))
    .document;
}

async function retry({ organisationId }: MadeOrganisation, id: string): Promise<Json> {
  return (await admin.done("DocumentService/RetryDocument", { organisation: organisationId, id }))
    .document;
}

async function refusal({ organisationId }: MadeOrganisation, id: string): Promise<string> {
  return admin.refused("DocumentService/RetryDocument", { organisation: organisationId, id });
}

const synced = (made: MadeOrganisation, id: string): Promise<Json> =>
  until("the ledger has it", async () => {
    const document = await get(made, id);
    return document.state === "DOCUMENT_STATE_SYNCED" && document;
  });

/** What the log says of the last retry of a document of the organisation. */
async function lastRetry({ organisationId }: MadeOrganisation): Promise<Json> {
  const { data } = await admin.done("AuditService/ListAuditEntries", {
    organisation: organisationId,
    limit: 100,
  });
  return data.find(({ targetKind }: Json) => targetKind === "document");
}

async function setupMode({ organisationId }: MadeOrganisation, on: boolean): Promise<void> {
  await admin.done("OrganisationService/SetSetupMode", { id: organisationId, setupMode: on });
}

describe.concurrent("an amendment that the ledger refused", () => {
  test("is found by its invoice, shown to the platform, and asked for again with all that is missing", async () => {
    const made = await sandbox();
    const { id, invoice } = await world.subscribe(made, april);
    await map(made, "999");
    await world.changed(made, id, { units: 13, ...half });
    const { change } = await world.changed(made, id, { units: 14, ...half });
    const failed = { sync_status: "failed", sync_error: expect.stringContaining("999") };
    expect(change.invoice).toMatchObject({
      id: invoice.id,
      status: "draft",
      total: invoice.total,
      ledger: failed,
    });
    const shown = {
      id: invoice.id,
      kind: "DOCUMENT_KIND_INVOICE",
      number: invoice.number,
      state: "DOCUMENT_STATE_FAILED",
      status: "DOCUMENT_STATUS_DRAFT",
      operation: "DOCUMENT_OPERATION_AMENDMENT",
      reason: "account_invalid",
      message: failed.sync_error,
      attempts: 1,
    };
    expect(await list(made)).toEqual([expect.objectContaining(shown)]);
    expect(await list(made, { state: "DOCUMENT_STATE_FAILED" })).toEqual([
      expect.objectContaining(shown),
    ]);
    expect(await list(made, { state: "DOCUMENT_STATE_WAITING" })).toEqual([]);
    await setupMode(made, true);
    expect(await refusal(made, invoice.id)).toBe("invalid_state");
    await setupMode(made, false);
    await map(made, "260");
    expect(await retry(made, invoice.id)).not.toMatchObject({ state: "DOCUMENT_STATE_FAILED" });
    const settled = await synced(made, invoice.id);
    expect(settled).toMatchObject({ status: "DOCUMENT_STATUS_DRAFT", total: "144.0000" });
    expect([settled.operation, settled.reason, settled.message]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect((await world.invoices(made, id))[0].ledger).toMatchObject({
      sync_status: "synced",
      sync_error: null,
    });
    await world.expectEqualDocuments(made);
    expect(await list(made)).toEqual([]);
    expect(await refusal(made, invoice.id)).toBe("invalid_state");
    const { before, after } = await lastRetry(made);
    expect(before).toMatchObject({
      operation: "amendment",
      number: invoice.number,
      sync_error: failed.sync_error,
    });
    expect(after).toEqual({ ...before, sync_error: null });
    // Both changes of units are answered by the operation that brought their lines.
    const { rows } = await system.pool.query(
      `SELECT (SELECT o.state FROM ledger_jobs o WHERE o.id = c.job_ids[array_upper(c.job_ids, 1)]) AS state
        FROM unit_changes c WHERE c.subscription_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ state: "done" }, { state: "done" }]);
  });

  test("waits its turn while another invoice is being amended, or credit is on its way to this one", async () => {
    const made = await sandbox({ invoice_create_days: 20 });
    // Inside its invoice window: it has its renewal invoice already.
    const { id, invoice } = await world.subscribe(made, april);
    const [renewal] = await world.invoices(made, id);
    expect(renewal.id).not.toBe(invoice.id);
    await system.pool.query(
      `WITH refused AS (
         INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, reason, message,
           finished_at)
         VALUES (gen_random_uuid(), $1, 'amend_invoice', 'refused', $2, $3, 'validation', 'No.', now())
       ), failed AS (
         UPDATE invoices SET sync_error = 'No.' WHERE organisation_id = $1 AND id = $3
       )
       INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, not_before)
       VALUES (gen_random_uuid(), $1, 'amend_invoice', 'ready', $2, $4, now() + interval '1 hour')`,
      [made.organisationId, id, invoice.id, renewal.id],
    );
    const asked = { organisation: made.organisationId, id: invoice.id };
    const running = async () => (await admin.ask("DocumentService/RetryDocument", asked)).json;
    expect(await running()).toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(
        `running: invoice ${renewal.number} is being amended in the ledger.`,
      ),
    });
    expect(
      (await list(made)).map(({ number, state, operation }) => [number, state, operation]),
    ).toEqual([
      [renewal.number, "DOCUMENT_STATE_WAITING", "DOCUMENT_OPERATION_AMENDMENT"],
      [invoice.number, "DOCUMENT_STATE_FAILED", "DOCUMENT_OPERATION_AMENDMENT"],
    ]);
    const { customer: customerId } = invoice;
    const noteId = await addCreditNote(system.pool, made.organisationId, {
      customerId,
      subscriptionId: id,
      number: "CN-1",
    });
    await system.pool.query(
      `WITH ended AS (
         UPDATE ledger_jobs SET state = 'abandoned', finished_at = now()
         WHERE organisation_id = $1 AND invoice_id = $2 AND kind = 'amend_invoice'
       )
       INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, credit_note_id, amount,
         not_before)
       VALUES (gen_random_uuid(), $1, 'allocate_credit', 'ready', $3, $4, $5, 12, now() + interval '1 hour')`,
      [made.organisationId, renewal.id, id, invoice.id, noteId],
    );
    expect(await running()).toMatchObject({
      message: expect.stringContaining(
        `running: credit is being put on invoice ${invoice.number} in the ledger.`,
      ),
    });
    const [waiting] = await list(made, { state: "DOCUMENT_STATE_WAITING" });
    expect(waiting).toMatchObject({
      id: noteId,
      operation: "DOCUMENT_OPERATION_ALLOCATION",
      invoice: invoice.id,
    });
    await system.pool.query(
      `WITH ended AS (
         UPDATE ledger_jobs SET state = 'abandoned', finished_at = now() WHERE organisation_id = $1 AND credit_note_id = $3
       ) INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, not_before)
       VALUES (gen_random_uuid(), $1, 'end_subscription', 'ready', $2, now() + interval '1 hour')`,
      [made.organisationId, id, noteId],
    );
    expect((await running()).message).toContain("running: the subscription is being ended.");
  });
});

test("a charge that was to join an invoice which is approved by the retry is billed on one of its own", async () => {
  const made = await sandbox();
  const { id, invoice } = await world.subscribe(made, april);
  await map(made, "999");
  await world.changed(made, id, { units: 13, ...half });
  const approve = "UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1";
  await system.pool.query(approve, [made.tenantId]);
  await map(made, "200");
  await retry(made, invoice.id);
  await synced(made, invoice.id);
  await world.posted(made);
  const [own, first] = await world.invoices(made, id);
  expect(own).toMatchObject({
    type: "change",
    subtotal: "15.0000",
    ledger: { sync_status: "synced" },
  });
  expect(first).toMatchObject({ id: invoice.id, status: "approved", subtotal: "100.0000" });
  const named = "SELECT invoice_id FROM unit_changes WHERE subscription_id = $1";
  expect((await system.pool.query(named, [id])).rows).toEqual([{ invoice_id: own.id }]);
  await world.expectEqualDocuments(made);
});

test("an amendment that waits is listed with its next attempt, and tried at once", async () => {
  const made = await sandbox();
  const { id, invoice } = await world.subscribe(made, april);
  const pause = (until: string) =>
    system.pool.query(
      `UPDATE ledger_connections SET paused_until = ${until}, paused_reason = 'day limit' WHERE organisation_id = $1`,
      [made.organisationId],
    );
  await pause("now() + interval '1 hour'");
  await world.changed(made, id, { units: 13, ...half });
  const waiting = {
    id: invoice.id,
    state: "DOCUMENT_STATE_WAITING",
    operation: "DOCUMENT_OPERATION_AMENDMENT",
    reason: "day limit",
  };
  const [document] = await list(made, { state: "DOCUMENT_STATE_WAITING" });
  expect(document).toMatchObject(waiting);
  expect(Date.parse(document.nextAttemptAt)).toBeGreaterThan(Date.now() + 50 * 60_000);
  await pause("NULL");
  // It is under way, and Setup Mode waits for it. decisions §4.
  const on = { id: made.organisationId, setupMode: true };
  expect(await admin.refused("OrganisationService/SetSetupMode", on)).toBe("invalid_state");
  await retry(made, invoice.id);
  await synced(made, invoice.id);
  await setupMode(made, true);
  const { before, after } = await lastRetry(made);
  expect(before).toMatchObject({ operation: "amendment", next_attempt_at: document.nextAttemptAt });
  expect(Date.parse(after.next_attempt_at)).toBeLessThan(Date.parse(before.next_attempt_at));
  await world.expectEqualDocuments(made);
});

describe.concurrent("a credit note that the ledger refused", () => {
  test("is in one list with the invoices, newest first, in pages, and takes the mapping of now", async () => {
    const made = await sandbox({ first_invoice_status: "approved" });
    await map(made, "999");
    const { id, invoice } = await world.subscribe(made, { ...april, plan_code: "bands" });
    const { change } = await world.changed(made, id, { units: 11, ...whole });
    const { change: later } = await world.changed(made, id, { units: 12, ...half });
    await world.posted(made);
    const ids = [later.invoice.id, change.credit_note, invoice.id];
    const documents = await list(made);
    expect(
      documents.map((document) => [
        document.id,
        document.kind,
        document.operation,
        document.reason,
      ]),
    ).toEqual([
      [ids[0], "DOCUMENT_KIND_INVOICE", "DOCUMENT_OPERATION_CREATION", "account_invalid"],
      [ids[1], "DOCUMENT_KIND_CREDIT_NOTE", "DOCUMENT_OPERATION_CREATION", "account_invalid"],
      [ids[2], "DOCUMENT_KIND_INVOICE", "DOCUMENT_OPERATION_CREATION", "account_invalid"],
    ]);
    expect(documents[1]).toMatchObject({
      number: "CN-0001",
      status: "DOCUMENT_STATUS_NOT_IN_EXTERNAL",
      attempts: 1,
    });
    for (const [index, after] of [undefined, ...ids].entries()) {
      const page = await list(made, {
        limit: 1,
        ...(after === undefined ? {} : { startingAfter: after }),
      });
      expect(page.map((document) => document.id)).toEqual(ids.slice(index, index + 1));
    }
    await map(made, "260");
    // Two operators at once: it is asked for once.
    const note = { organisation: made.organisationId, id: change.credit_note };
    await Promise.all([1, 2].map(() => admin.ask("DocumentService/RetryDocument", note)));
    const operations =
      "SELECT state FROM ledger_jobs WHERE credit_note_id = $1 AND kind = 'create_credit_note'";
    expect((await system.pool.query(operations, [change.credit_note])).rowCount).toBe(2);
    expect(await synced(made, change.credit_note)).toMatchObject({
      kind: "DOCUMENT_KIND_CREDIT_NOTE",
      number: "CN-0001",
      status: "DOCUMENT_STATUS_APPROVED",
    });
    const lines = "SELECT revenue_account FROM credit_note_lines WHERE credit_note_id = $1";
    expect((await system.pool.query(lines, [change.credit_note])).rows).toEqual([
      { revenue_account: "260" },
    ]);
    // One that is settled by now is a place in the list like any other.
    expect(
      (await list(made, { startingAfter: change.credit_note })).map((document) => document.id),
    ).toEqual([ids[2]]);
    const elsewhere = { organisation: (await sandbox()).organisationId };
    const wrong = { ...elsewhere, startingAfter: change.credit_note };
    expect(await admin.refused("DocumentService/ListDocuments", wrong)).toBe(
      "invalid_parameter starting_after",
    );
    for (const method of ["GetDocument", "RetryDocument"]) {
      const asked = { ...elsewhere, id: change.credit_note };
      expect(await admin.refused(`DocumentService/${method}`, asked)).toBe("invoice_not_found");
    }
  });

  test("for its number takes the next one, with the prefix of now", async () => {
    const made = await sandbox();
    const raise = async (): Promise<string> => {
      const { id } = await world.subscribe(made, { ...april, plan_code: "bands" });
      const { change } = await world.changed(made, id, { units: 11, ...whole });
      await world.posted(made);
      return change.credit_note;
    };
    const first = await raise();
    // The number is taken in the ledger, and here it is free again.
    await system.pool.query("UPDATE credit_notes SET number = 'OTHER' WHERE id = $1", [first]);
    const counter =
      "UPDATE document_counters SET next = 1 WHERE organisation_id = $1 AND kind = 'credit_note'";
    await system.pool.query(counter, [made.organisationId]);
    const second = await raise();
    expect(await list(made)).toMatchObject([
      { id: second, number: "CN-0001", reason: "duplicate_number" },
    ]);
    const prefix = { id: made.organisationId, numberPrefix: "INV-NZ-" };
    await admin.done("OrganisationService/UpdateOrganisation", prefix);
    await retry(made, second);
    expect(await synced(made, second)).toMatchObject({
      number: "CN-NZ-0002",
      status: "DOCUMENT_STATUS_APPROVED",
    });
    expect((await lastRetry(made)).after).toMatchObject({
      operation: "creation",
      number: "CN-NZ-0002",
    });
    // The one that is issued next has the same form.
    expect(await get(made, await raise())).toMatchObject({ number: "CN-NZ-0003" });
  });
});

/** A subscription with a credit of 14.40, tax included. */
async function addCredit(
  made: MadeOrganisation,
): Promise<{ readonly id: string; readonly note: string }> {
  const { id } = await world.subscribe(made, { ...april, plan_code: "bands" });
  const { change } = await world.changed(made, id, { units: 11, ...whole });
  await world.posted(made);
  return { id, note: change.credit_note };
}

/** A charge of 4.80 that the credit is for, which the ledger refuses so many times; the id of its invoice. */
async function addRefusedCharge(made: MadeOrganisation, id: string, times = 1): Promise<string> {
  const messages = ["Not today."];
  await system.fault({
    kind: "refuse",
    match: "/Allocations",
    tenantId: made.tenantId,
    messages,
    times,
  });
  const { change } = await world.changed(made, id, { units: 12, ...half });
  await world.posted(made);
  return change.invoice.id;
}

test("an allocation that the ledger refused is found by its credit note, and planned anew", async () => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id, note } = await addCredit(made);
  const invoice = await addRefusedCharge(made, id);
  const [document] = await list(made, { state: "DOCUMENT_STATE_FAILED" });
  expect(document).toMatchObject({
    id: note,
    kind: "DOCUMENT_KIND_CREDIT_NOTE",
    status: "DOCUMENT_STATUS_APPROVED",
    operation: "DOCUMENT_OPERATION_ALLOCATION",
    invoice,
    reason: "validation",
    message: "Not today.",
  });
  await setupMode(made, true);
  expect(await refusal(made, note)).toBe("invalid_state");
  await setupMode(made, false);
  await retry(made, note);
  await synced(made, note);
  await until("the credit is on the invoice", async () => {
    const [found] = await world.creditNotes(made, id);
    return found.allocations.length === 1 && found.remaining_credit === "9.6000";
  });
  const { before, after } = await lastRetry(made);
  const refused = { operation: "allocation", invoice_id: invoice, reason: "validation" };
  expect(before).toMatchObject({ ...refused, message: "Not today." });
  expect(after).toMatchObject({ operation: "allocation", reason: null, message: null });
  expect(await list(made)).toEqual([]);
  await world.expectEqualDocuments(made);
});

test("an allocation that the ledger refused five times is found whatever the amounts are, and planned anew", async () => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id, note } = await addCredit(made);
  const invoice = await addRefusedCharge(made, id);
  // One statement: a moment with fewer than five, of another amount, would be planned anew by the workflow that still runs.
  await system.pool.query(
    `WITH refused AS (
       UPDATE ledger_jobs SET amount = 1 WHERE organisation_id = $1 AND credit_note_id = $2 AND kind = 'allocate_credit' RETURNING *)
     INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, credit_note_id, amount, reason,
       message, finished_at)
     SELECT gen_random_uuid(), organisation_id, kind, state, subscription_id, invoice_id, credit_note_id, 1 + place, reason,
       message, finished_at
     FROM refused, generate_series(1, 4) place`,
    [made.organisationId, note],
  );
  expect(await list(made, { state: "DOCUMENT_STATE_FAILED" })).toMatchObject([
    { id: note, invoice, message: "Not today." },
  ]);
  await retry(made, note);
  await world.posted(made);
  expect(await world.creditNotes(made, id)).toMatchObject([
    { remaining_credit: "9.6000", allocations: [{ invoice }] },
  ]);
  expect(await list(made)).toEqual([]);
});

test("an allocation of what is left after credit was used elsewhere is found where it was refused", async () => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id, note } = await addCredit(made);
  await bookInvoice(system.pool, made, "HAND-1");
  await spendCredit(system.pool, made, "12", "HAND-1");
  // All of the charge, and then the 2.40 that are left.
  const invoice = await addRefusedCharge(made, id, 2);
  expect(await list(made, { state: "DOCUMENT_STATE_FAILED" })).toMatchObject([
    { id: note, invoice, message: "Not today." },
  ]);
  const shown = async () => (await world.creditNotes(made, id))[0];
  const left = {
    total: "14.4000",
    remaining_credit: "2.4000",
    allocation_status: "partially_applied",
    allocations: [],
  };
  expect(await shown()).toMatchObject(left);
  await retry(made, note);
  await world.posted(made);
  const used = {
    remaining_credit: "0.0000",
    allocation_status: "applied",
    allocations: [{ amount: "2.4000" }],
  };
  expect(await shown()).toMatchObject(used);
  expect(await list(made)).toEqual([]);
});
