/** DocumentService over the wire: amendments that the ledger refused, or that wait. ADMIN-6 */
import { describe, expect } from "vitest";
import { addCreditNote } from "../../../scenario/row-builder.ts";
import { tables } from "../../../support/rows.ts";
import { april, half, documentsTest as test } from "./documents-fixture.ts";

describe.concurrent("an amendment that the ledger refused", () => {
  test("is listed with its invoice and retried with all missing lines", async ({
    system,
    builder,
    sandbox,
    map,
    list,
    retry,
    refusal,
    synced,
    lastRetry,
    setupMode,
  }) => {
    const made = await sandbox();
    const { id, invoice } = await builder.subscribe(made, april);
    await map(made, "999");
    await builder.changed(made, id, { units: 13, ...half });
    const { change } = await builder.changed(made, id, { units: 14, ...half });
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
      job: "DOCUMENT_JOB_AMENDMENT",
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
    const result = await synced(made, invoice.id);
    expect(result).toMatchObject({ status: "DOCUMENT_STATUS_DRAFT", total: "144.0000" });
    expect([result.job, result.reason, result.message]).toEqual([undefined, undefined, undefined]);
    expect((await builder.invoices(made, id))[0].ledger).toMatchObject({
      sync_status: "synced",
      sync_error: null,
    });
    await builder.expectEqualDocuments(made);
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
      `SELECT
      (SELECT o.state FROM ledger_jobs o WHERE o.id = c.job_ids[array_upper(c.job_ids, 1)]) AS state
        FROM unit_changes c WHERE c.subscription_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ state: "done" }, { state: "done" }]);
  });

  test("is not retried during another amendment or an allocation", async ({
    system,
    admin,
    builder,
    sandbox,
    list,
  }) => {
    const made = await sandbox({ invoice_create_days: 20 });
    // Inside its invoice window: it has its renewal invoice already.
    const { id, invoice } = await builder.subscribe(made, april);
    const [renewal] = await builder.invoices(made, id);
    expect(renewal.id).not.toBe(invoice.id);
    await system.pool.query(
      `WITH refused AS (
         INSERT INTO ledger_jobs (id, organisation_id, kind, state,
         subscription_id, invoice_id, reason, message,
           finished_at)
         VALUES (gen_random_uuid(), $1, 'amend_invoice', 'refused',
         $2, $3, 'validation', 'No.', now())
       ), failed AS (
         UPDATE invoices SET sync_error = 'No.' WHERE organisation_id = $1 AND id = $3
       )
       INSERT INTO ledger_jobs (id, organisation_id, kind, state,
       subscription_id, invoice_id, not_before)
       VALUES (gen_random_uuid(), $1, 'amend_invoice', 'ready', $2, $4, now() + interval '1 hour')`,
      [made.organisationId, id, invoice.id, renewal.id],
    );
    const request = { organisation: made.organisationId, id: invoice.id };
    const running = async () => (await admin.ask("DocumentService/RetryDocument", request)).json;
    expect(await running()).toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(
        `running: invoice ${renewal.number} is being amended in the ledger.`,
      ),
    });
    expect((await list(made)).map(({ number, state, job }) => [number, state, job])).toEqual([
      [renewal.number, "DOCUMENT_STATE_WAITING", "DOCUMENT_JOB_AMENDMENT"],
      [invoice.number, "DOCUMENT_STATE_FAILED", "DOCUMENT_JOB_AMENDMENT"],
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
       INSERT INTO ledger_jobs (id, organisation_id, kind, state,
       subscription_id, invoice_id, credit_note_id, amount,
         not_before)
       VALUES (gen_random_uuid(), $1, 'allocate_credit', 'ready',
       $3, $4, $5, 12, now() + interval '1 hour')`,
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
      job: "DOCUMENT_JOB_ALLOCATION",
      invoice: invoice.id,
    });
    await system.pool.query(
      `WITH ended AS (
         UPDATE ledger_jobs SET state = 'abandoned', finished_at = now()
         WHERE organisation_id = $1 AND credit_note_id = $3
       ) INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, not_before)
       VALUES (gen_random_uuid(), $1, 'end_subscription', 'ready', $2, now() + interval '1 hour')`,
      [made.organisationId, id, noteId],
    );
    expect((await running()).message).toContain("running: the subscription is being ended.");
  });
});

test("a charge gets a new invoice if its invoice was approved before the retry", async ({
  system,
  builder,
  sandbox,
  map,
  retry,
  synced,
}) => {
  const made = await sandbox();
  const { id, invoice } = await builder.subscribe(made, april);
  await map(made, "999");
  await builder.changed(made, id, { units: 13, ...half });
  const approve = "UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1";
  await system.pool.query(approve, [made.tenantId]);
  await map(made, "200");
  await retry(made, invoice.id);
  await synced(made, invoice.id);
  await builder.posted(made);
  const [own, first] = await builder.invoices(made, id);
  expect(own).toMatchObject({
    type: "change",
    subtotal: "15.0000",
    ledger: { sync_status: "synced" },
  });
  expect(first).toMatchObject({ id: invoice.id, status: "approved", subtotal: "100.0000" });
  const changes = await tables(system.pool).unitChange.findMany({ where: { subscriptionId: id } });
  expect(changes.map(({ invoiceId }) => invoiceId)).toEqual([own.id]);
  await builder.expectEqualDocuments(made);
});

test("a pending amendment is listed, and a retry runs it at once", async ({
  system,
  admin,
  builder,
  sandbox,
  list,
  retry,
  synced,
  lastRetry,
  setupMode,
}) => {
  const made = await sandbox();
  const { id, invoice } = await builder.subscribe(made, april);
  const pause = (until: string) =>
    system.pool.query(
      `UPDATE ledger_connections SET paused_until = ${until}, paused_reason = 'day limit'
      WHERE organisation_id = $1`,
      [made.organisationId],
    );
  await pause("now() + interval '1 hour'");
  await builder.changed(made, id, { units: 13, ...half });
  const waiting = {
    id: invoice.id,
    state: "DOCUMENT_STATE_WAITING",
    job: "DOCUMENT_JOB_AMENDMENT",
    reason: "day limit",
  };
  const [document] = await list(made, { state: "DOCUMENT_STATE_WAITING" });
  expect(document).toMatchObject(waiting);
  expect(Date.parse(document.nextAttemptAt)).toBeGreaterThan(Date.now() + 50 * 60_000);
  await pause("NULL");
  // The amendment is running, so Setup Mode cannot be switched (SETUP-4).
  const on = { id: made.organisationId, setupMode: true };
  expect(await admin.refused("OrganisationService/SetSetupMode", on)).toBe("invalid_state");
  await retry(made, invoice.id);
  await synced(made, invoice.id);
  await setupMode(made, true);
  const { before, after } = await lastRetry(made);
  expect(before).toMatchObject({ operation: "amendment", next_attempt_at: document.nextAttemptAt });
  expect(Date.parse(after.next_attempt_at)).toBeLessThan(Date.parse(before.next_attempt_at));
  await builder.expectEqualDocuments(made);
});
