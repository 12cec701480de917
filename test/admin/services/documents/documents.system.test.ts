/** DocumentService over the wire: credit notes and allocations that the ledger refused. ADMIN-6 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../../../packages/dev/src/demo/first-data.ts";
import type { UnitsBuilder } from "../../../scenario/units-builder.ts";
import { countJobs, tables } from "../../../support/rows.ts";
import { type TestSystem, until } from "../../../support/system.ts";
import { bookInvoice, spendCredit } from "../../../worker/activities/issue-credit.ts";
import { april, half, documentsTest as test, whole } from "./documents-fixture.ts";

describe.concurrent("a credit note that the ledger refused", () => {
  test("is listed with the invoices, and a retry takes the current mapping", async ({
    system,
    admin,
    builder,
    sandbox,
    map,
    list,
    synced,
  }) => {
    const made = await sandbox({ first_invoice_status: "approved" });
    await map(made, "999");
    const { id, invoice } = await builder.subscribe(made, { ...april, plan_code: "bands" });
    const { change } = await builder.changed(made, id, { units: 11, ...whole });
    const { change: later } = await builder.changed(made, id, { units: 12, ...half });
    await builder.posted(made);
    const ids = [later.invoice.id, change.credit_note, invoice.id];
    const documents = await list(made);
    expect(
      documents.map((document) => [document.id, document.kind, document.job, document.reason]),
    ).toEqual([
      [ids[0], "DOCUMENT_KIND_INVOICE", "DOCUMENT_JOB_CREATION", "account_invalid"],
      [ids[1], "DOCUMENT_KIND_CREDIT_NOTE", "DOCUMENT_JOB_CREATION", "account_invalid"],
      [ids[2], "DOCUMENT_KIND_INVOICE", "DOCUMENT_JOB_CREATION", "account_invalid"],
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
    // Two concurrent retries are one.
    const note = { organisation: made.organisationId, id: change.credit_note };
    await Promise.all([1, 2].map(() => admin.ask("DocumentService/RetryDocument", note)));
    const creations = { creditNoteId: change.credit_note, kind: "create_credit_note" };
    expect(await countJobs(system.pool, creations)).toBe(2);
    expect(await synced(made, change.credit_note)).toMatchObject({
      kind: "DOCUMENT_KIND_CREDIT_NOTE",
      number: "CN-0001",
      status: "DOCUMENT_STATUS_APPROVED",
    });
    const lines = tables(system.pool).creditNoteLine;
    expect(await lines.findMany({ where: { creditNoteId: change.credit_note } })).toMatchObject([
      { revenueAccount: "260" },
    ]);
    // `starting_after` may name a document that has been synced since.
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

  test("because of its number takes the next number, with the current prefix", async ({
    system,
    admin,
    builder,
    sandbox,
    list,
    get,
    retry,
    synced,
    lastRetry,
  }) => {
    const made = await sandbox();
    const issue = async (): Promise<string> => {
      const { id } = await builder.subscribe(made, { ...april, plan_code: "bands" });
      const { change } = await builder.changed(made, id, { units: 11, ...whole });
      await builder.posted(made);
      return change.credit_note;
    };
    const first = await issue();
    // The number is taken in the ledger, and here it is free again.
    await tables(system.pool).creditNote.updateMany({
      where: { id: first },
      data: { number: "OTHER" },
    });
    await tables(system.pool).documentCounter.updateMany({
      where: { organisationId: made.organisationId, kind: "credit_note" },
      data: { next: 1 },
    });
    const second = await issue();
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
    expect(await get(made, await issue())).toMatchObject({ number: "CN-NZ-0003" });
  });
});

/** A subscription with a credit of 14.40, tax included. */
async function addCredit(
  builder: UnitsBuilder,
  made: CreatedOrganisation,
): Promise<{ readonly id: string; readonly note: string }> {
  const { id } = await builder.subscribe(made, { ...april, plan_code: "bands" });
  const { change } = await builder.changed(made, id, { units: 11, ...whole });
  await builder.posted(made);
  return { id, note: change.credit_note };
}

/**
 * A charge of 4.80 that the credit is for, which the ledger refuses so many times; the id of its
 * invoice.
 */
async function addRefusedCharge(
  system: TestSystem,
  builder: UnitsBuilder,
  made: CreatedOrganisation,
  id: string,
  times = 1,
): Promise<string> {
  const messages = ["Not today."];
  await system.fault({
    kind: "refuse",
    match: "/Allocations",
    tenantId: made.tenantId,
    messages,
    times,
  });
  const { change } = await builder.changed(made, id, { units: 12, ...half });
  await builder.posted(made);
  return change.invoice.id;
}

test("a refused allocation is listed with its credit note and planned again", async ({
  system,
  builder,
  sandbox,
  list,
  retry,
  refusal,
  synced,
  lastRetry,
  setupMode,
}) => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id, note } = await addCredit(builder, made);
  const invoice = await addRefusedCharge(system, builder, made, id);
  const [document] = await list(made, { state: "DOCUMENT_STATE_FAILED" });
  expect(document).toMatchObject({
    id: note,
    kind: "DOCUMENT_KIND_CREDIT_NOTE",
    status: "DOCUMENT_STATUS_APPROVED",
    job: "DOCUMENT_JOB_ALLOCATION",
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
    const [found] = await builder.creditNotes(made, id);
    return found.allocations.length === 1 && found.remaining_credit === "9.6000";
  });
  const { before, after } = await lastRetry(made);
  const refused = { operation: "allocation", invoice_id: invoice, reason: "validation" };
  expect(before).toMatchObject({ ...refused, message: "Not today." });
  expect(after).toMatchObject({ operation: "allocation", reason: null, message: null });
  expect(await list(made)).toEqual([]);
  await builder.expectEqualDocuments(made);
});

test("an allocation that was refused five times is planned again", async ({
  system,
  builder,
  sandbox,
  list,
  retry,
}) => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id, note } = await addCredit(builder, made);
  const invoice = await addRefusedCharge(system, builder, made, id);
  // One statement, because the running workflow would plan again with fewer than five of an amount.
  await system.pool.query(
    `WITH refused AS (
       UPDATE ledger_jobs SET amount = 1
       WHERE organisation_id = $1 AND credit_note_id = $2 AND kind = 'allocate_credit' RETURNING *)
     INSERT INTO ledger_jobs (id, organisation_id, kind, state,
     subscription_id, invoice_id, credit_note_id, amount, reason,
       message, finished_at)
     SELECT gen_random_uuid(), organisation_id, kind, state,
     subscription_id, invoice_id, credit_note_id, 1 + place, reason,
       message, finished_at
     FROM refused, generate_series(1, 4) place`,
    [made.organisationId, note],
  );
  expect(await list(made, { state: "DOCUMENT_STATE_FAILED" })).toMatchObject([
    { id: note, invoice, message: "Not today." },
  ]);
  await retry(made, note);
  await builder.posted(made);
  expect(await builder.creditNotes(made, id)).toMatchObject([
    { remaining_credit: "9.6000", allocations: [{ invoice }] },
  ]);
  expect(await list(made)).toEqual([]);
});

test("a refused allocation of remaining credit is listed", async ({
  system,
  builder,
  sandbox,
  list,
  retry,
}) => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id, note } = await addCredit(builder, made);
  await bookInvoice(system.pool, made, "HAND-1");
  await spendCredit(system.pool, made, "12", "HAND-1");
  // All of the charge, and then the 2.40 that are left.
  const invoice = await addRefusedCharge(system, builder, made, id, 2);
  expect(await list(made, { state: "DOCUMENT_STATE_FAILED" })).toMatchObject([
    { id: note, invoice, message: "Not today." },
  ]);
  const shown = async () => (await builder.creditNotes(made, id))[0];
  const left = {
    total: "14.4000",
    remaining_credit: "2.4000",
    allocation_status: "partially_applied",
    allocations: [],
  };
  expect(await shown()).toMatchObject(left);
  await retry(made, note);
  await builder.posted(made);
  const used = {
    remaining_credit: "0.0000",
    allocation_status: "applied",
    allocations: [{ amount: "2.4000" }],
  };
  expect(await shown()).toMatchObject(used);
  expect(await list(made)).toEqual([]);
});
