/**
 * Amendments and held credit in the real service: the calls to a slow, changed or refusing ledger,
 * nothing billed twice, and the histories of both workflows, which must replay. With
 * RECORD_HISTORIES set they are stored for `replay.test.ts`.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { amendmentWorkflowId, creditWorkflowId } from "../../workflows/contract.ts";
import { promptAnswerMs } from "../faults/processes.ts";
import { aloneTest as test } from "../scenario/fixtures.ts";
import { addBands, type Json, type UnitsBuilder } from "../scenario/units-builder.ts";
import { amendmentCrashPoints } from "../support/crash-points.ts";
import { newestJob, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { expectReplayable } from "./recorded-history.ts";

/** Half of April is left. */
const half = { prorate: true, effective_date: "2026-04-16" };

/**
 * The lines of the first invoice of ten seats and of the change to thirteen, as the ledger has
 * them.
 */
const planLine = ["Team: 10 × 10.0000", "100.00"];
const changeLine = ["Team: 10 to 13 seats, 15 of 30 days: (130 − 100) × 15 ÷ 30", "15.00"];

/**
 * An organisation in the middle of April with a subscription of ten seats, whose draft invoice of
 * 100.00 the ledger has.
 */
async function subscribed(builder: UnitsBuilder, changes: Record<string, unknown> = {}) {
  const organisation = await builder.sandbox({ test_clock: "2026-04-16T12:00:00Z", ...changes });
  const subscription = await builder.subscribe(organisation, { start_date: "2026-04-01" });
  return { organisation, id: subscription.id as string, first: subscription.invoice as Json };
}

async function amendmentOf(system: TestSystem, { organisationId }: CreatedOrganisation) {
  const job = await newestJob(system.pool, { organisationId, kind: "amend_invoice" });
  if (job === null) throw new Error("there is no amendment");
  return job;
}

/** Changes the organisation's only invoice in the ledger, as a person would. */
const inLedger = (system: TestSystem, { tenantId }: CreatedOrganisation, change: string) =>
  system.pool.query(`UPDATE demo_ledger.invoices SET ${change} WHERE tenant_id = $1`, [tenantId]);

const anInvoice = "/api.xro/2.0/Invoices/";

describe.concurrent("an amendment", () => {
  test("adds its line to the draft, is shown to operators, and its history replays", async ({
    system,
    builder,
    client,
  }) => {
    const { organisation, id } = await subscribed(builder);
    const { change } = await builder.changed(organisation, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({
      status: "draft",
      total: "138.0000",
      ledger: { sync_status: "synced" },
    });
    expect(await builder.inLedger(organisation)).toMatchObject([
      { subtotal: "115.00", lines: [planLine, changeLine] },
    ]);
    const { id: jobId } = await amendmentOf(system, organisation);
    await expectReplayable(client, amendmentWorkflowId(jobId), "amendment");
    const { searchAttributes } = await client.workflow
      .getHandle(amendmentWorkflowId(jobId))
      .describe();
    expect(searchAttributes).toMatchObject({
      OrganisationId: [organisation.organisationId],
      SubscriptionId: [id],
      InvoiceId: [change.invoice.id],
      JobId: [jobId],
      JobKind: ["amend_invoice"],
      Outcome: ["done"],
    });
  });

  test("waits for a limit of the ledger, and its history replays", async ({
    system,
    builder,
    client,
  }) => {
    const { organisation, id } = await subscribed(builder);
    const limit = { kind: "rate_limit", match: `POST ${anInvoice}`, retryAfterSeconds: 2 };
    await system.fault({ ...limit, tenantId: organisation.tenantId });
    const { change } = await builder.changed(organisation, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ status: "draft", total: "138.0000" });
    const { id: jobId } = await amendmentOf(system, organisation);
    await expectReplayable(client, amendmentWorkflowId(jobId), "amendment-pause");
  });

  test.for([
    "drop_before",
    "drop_after",
  ])("whose answer was lost by %s adds its line once", async (kind, { system, builder }) => {
    const { organisation, id } = await subscribed(builder);
    await system.fault({ kind, match: `POST ${anInvoice}`, tenantId: organisation.tenantId });
    const { change } = await builder.changed(organisation, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ status: "draft", total: "138.0000" });
    expect(await builder.inLedger(organisation)).toMatchObject([{ lines: [planLine, changeLine] }]);
  });

  test("whose answer was lost is not billed again if the invoice was approved since", async ({
    system,
    builder,
  }) => {
    const { organisation, id, first } = await subscribed(builder);
    const { tenantId } = organisation;
    await system.fault({ kind: "drop_after", match: `POST ${anInvoice}`, tenantId });
    // With the line, so that no look-up of ours comes before.
    await system.pool.query(
      `CREATE FUNCTION approve() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW.status := 'AUTHORISED'; RETURN NEW; END $$;
       CREATE TRIGGER approve BEFORE UPDATE ON demo_ledger.invoices FOR EACH ROW
         WHEN (NEW.tenant_id = '${tenantId}' AND jsonb_array_length(NEW.lines) = 2)
         EXECUTE FUNCTION approve()`,
    );
    const { change } = await builder.changed(organisation, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ id: first.id, status: "approved", total: "138.0000" });
    expect(await builder.inLedger(organisation)).toMatchObject([{ lines: [planLine, changeLine] }]);
    expect(await amendmentOf(system, organisation)).toMatchObject({ state: "done", reason: null });
  });
});

/**
 * Adds three seats from now on. Returns the newest invoice once the ledger has decided: a slow
 * machine may answer before.
 */
async function chargedOn(
  builder: UnitsBuilder,
  organisation: CreatedOrganisation,
  id: string,
): Promise<Json> {
  await builder.changed(organisation, id, { units: 13, ...half });
  await builder.posted(organisation);
  return (await builder.invoices(organisation, id))[0];
}

describe.concurrent("a charge that was to join an invoice", () => {
  test("is billed on a separate invoice if that one was approved", async ({
    system,
    builder,
    client,
  }) => {
    const { organisation, id, first } = await subscribed(builder);
    await inLedger(system, organisation, "status = 'AUTHORISED'");
    expect(await chargedOn(builder, organisation, id)).toMatchObject({
      type: "change",
      status: "draft",
      subtotal: "15.0000",
      issue_date: "2026-04-16",
      period: { start: "2026-04-01", end: "2026-05-01" },
      ledger: { sync_status: "synced" },
    });
    expect(await builder.inLedger(organisation)).toMatchObject([
      { lines: [planLine] },
      { lines: [changeLine] },
    ]);
    const [, old] = await builder.invoices(organisation, id);
    expect(old).toMatchObject({
      id: first.id,
      status: "approved",
      subtotal: "100.0000",
      total: "120.0000",
    });
    await builder.expectEqualDocuments(organisation);
    const { id: jobId } = await amendmentOf(system, organisation);
    await expectReplayable(client, amendmentWorkflowId(jobId), "amendment-moved");
  });

  test("is billed on a separate invoice if that one was deleted", async ({ system, builder }) => {
    const { organisation, id } = await subscribed(builder);
    await inLedger(system, organisation, "status = 'DELETED'");
    const invoice = await chargedOn(builder, organisation, id);
    expect(invoice).toMatchObject({ type: "change", status: "draft", subtotal: "15.0000" });
    const [, old] = await builder.invoices(organisation, id);
    expect(old).toMatchObject({ status: "deleted", subtotal: "100.0000" });
  });

  test("is billed on a separate invoice if the ledger lost that one", async ({
    system,
    builder,
  }) => {
    const { organisation, id } = await subscribed(builder);
    await system.pool.query("DELETE FROM demo_ledger.invoices WHERE tenant_id = $1", [
      organisation.tenantId,
    ]);
    const invoice = await chargedOn(builder, organisation, id);
    expect(invoice).toMatchObject({ type: "change", status: "draft", subtotal: "15.0000" });
    const [, old] = await builder.invoices(organisation, id);
    expect(old).toMatchObject({ status: "not_in_external", ledger: { sync_status: "failed" } });
  });

  test("is not billed separately if the ledger cannot find any invoice", async ({
    system,
    builder,
  }) => {
    const { organisation, id, first } = await subscribed(builder);
    const { tenantId } = organisation;
    await system.fault({
      kind: "status",
      status: 404,
      match: "/api.xro/2.0/Invoices",
      times: 4,
      tenantId,
    });
    const { change } = await builder.changed(organisation, id, { units: 13, ...half });
    expect(change.invoice.id).toBe(first.id);
    await builder.expectEqualDocuments(organisation);
    expect(await builder.inLedger(organisation)).toMatchObject([{ lines: [planLine, changeLine] }]);
  });
});

/** A pending subscription whose first invoice was paid in the ledger by hand. */
async function paid(
  system: TestSystem,
  builder: UnitsBuilder,
): Promise<{ organisation: CreatedOrganisation; id: string; first: Json }> {
  const organisation = await builder.sandbox({ first_invoice_status: "approved" });
  const { id, invoice: first } = await builder.subscribe(organisation, {
    start_date: "2026-05-01",
  });
  const payments = `tenants/${organisation.tenantId}/invoices/${first.ledger.invoice_id}/payments`;
  const headers = { "content-type": "application/json" };
  const payment = await fetch(`${system.demoUrl}/demo/${payments}`, {
    method: "POST",
    headers,
    body: "{}",
  });
  expect(payment.status).toBe(200);
  return { organisation, id, first };
}

/** Of the price of thirteen units ten are on the invoice, and three on a separate one, once. */
async function expectBilledOnce(
  builder: UnitsBuilder,
  organisation: CreatedOrganisation,
  id: string,
  first: Json,
): Promise<void> {
  await builder.expectEqualDocuments(organisation);
  const [own, old, ...others] = await builder.invoices(organisation, id);
  expect(others).toEqual([]);
  expect(own).toMatchObject({
    type: "change",
    subtotal: "30.0000",
    ledger: { sync_status: "synced" },
  });
  expect(old).toMatchObject({
    id: first.id,
    status: "paid",
    amount_due: "0.0000",
    subtotal: "100.0000",
  });
}

test("an amendment of a paid invoice is billed separately, as its answer shows", async ({
  system,
  builder,
}) => {
  const { organisation, id, first } = await paid(system, builder);
  const began = performance.now();
  const { change } = await builder.changed(organisation, id, { units: 13 });
  const isPrompt = performance.now() - began < promptAnswerMs;
  await expectBilledOnce(builder, organisation, id, first);
  const [newest] = await builder.invoices(organisation, id);
  if (isPrompt) expect(newest).toEqual(change.invoice);
  expect(await amendmentOf(system, organisation)).toMatchObject({ state: "done", reason: "moved" });
});

describe.concurrent("a refused amendment", () => {
  test("keeps its line for the next one, with the ledger's reason", async ({ system, builder }) => {
    const { organisation, id } = await subscribed(builder);
    const { organisationId, tenantId } = organisation;
    await system.fault({
      kind: "refuse",
      match: `POST ${anInvoice}`,
      messages: ["The lock date has passed."],
      tenantId,
    });
    await builder.changed(organisation, id, { units: 13, ...half });
    expect(await builder.inLedger(organisation)).toMatchObject([{ lines: [planLine] }]);
    const invoices = await tables(system.pool).invoice.findMany({ where: { organisationId } });
    expect(invoices).toMatchObject([{ status: "draft", syncError: "The lock date has passed." }]);
    await builder.changed(organisation, id, { units: 15, ...half });
    await builder.expectEqualDocuments(organisation);
    const [booked] = await builder.inLedger(organisation);
    expect(booked?.lines.map(([, amount]) => amount)).toEqual(["100.00", "15.00", "10.00"]);
  });

  test("is started by the dispatcher once it is ready again", async ({ system, builder }) => {
    const { organisation, id } = await subscribed(builder);
    await system.fault({
      kind: "refuse",
      match: `POST ${anInvoice}`,
      tenantId: organisation.tenantId,
    });
    await builder.changed(organisation, id, { units: 13, ...half });
    const { id: jobId } = await amendmentOf(system, organisation);
    await tables(system.pool).ledgerJob.updateMany({
      where: { id: jobId },
      data: { state: "ready", finishedAt: null },
    });
    await builder.expectEqualDocuments(organisation);
    expect(await builder.inLedger(organisation)).toMatchObject([{ lines: [planLine, changeLine] }]);
  });
});

test("held credit is allocated by a separate workflow, and its history replays", async ({
  system,
  builder,
  client,
}) => {
  const organisation = await builder.sandbox({
    test_clock: "2026-04-16T12:00:00Z",
    first_invoice_status: "approved",
  });
  await addBands(system, organisation);
  const { id } = await builder.subscribe(organisation, {
    plan_code: "bands",
    start_date: "2026-04-01",
  });
  await builder.changed(organisation, id, { units: 11, ...half });
  await builder.posted(organisation);
  await builder.changed(organisation, id, { units: 20, ...half });
  await until("the credit is used up", async () => {
    const [note] = await builder.creditNotes(organisation, id);
    return note?.allocation_status === "applied";
  });
  await expectReplayable(client, creditWorkflowId(id), "credit");
});

// Last: it stops the worker that all others need.
test("amendments add their lines once, or separately, if a worker dies at each step", async ({
  system,
  builder,
}) => {
  const changes = [];
  for (const point of amendmentCrashPoints) {
    changes.push(
      { point, isPaid: false, ...(await subscribed(builder)) },
      { point, isPaid: true, ...(await paid(system, builder)) },
    );
  }
  await system.worker.stop();
  const answers: Promise<Json>[] = [];
  // Each worker dies of a new amendment. Later workers also meet what it left undone.
  for (const { point, isPaid, organisation, id } of changes) {
    answers.push(builder.changed(organisation, id, { units: 13, ...(isPaid ? {} : half) }));
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await system.worker.exited();
  }
  await system.worker.start();
  await Promise.all(answers);
  for (const { isPaid, organisation, id, first } of changes) {
    await builder.expectEqualDocuments(organisation);
    if (isPaid) await expectBilledOnce(builder, organisation, id, first);
    else
      expect(await builder.inLedger(organisation)).toMatchObject([
        { lines: [planLine, changeLine] },
      ]);
  }
});
