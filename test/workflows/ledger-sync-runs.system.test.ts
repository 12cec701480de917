/**
 * The ledger sync in the real service: a change by a person in the ledger arrives by a webhook, and
 * is found without one; what an operator sees of its runs, and their histories, which must replay.
 * With RECORD_HISTORIES set they are stored for `replay.test.ts`.
 */
import type { Client } from "@temporalio/client";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import {
  billingRunType,
  billingScheduleId,
  ledgerSyncWorkflowId,
} from "../../workflows/contract.ts";
import { codeOf } from "../admin/services/request.ts";
import { bookkeeper } from "../support/bookkeeper.ts";
import { perFile } from "../support/file-fixture.ts";
import { systemTest } from "../support/fixtures.ts";
import { tables } from "../support/rows.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import { expectReplayable } from "./recorded-history.ts";

const key = "a webhook's signing key";
const path = "/ledger/webhooks/xero";

let orders = 0;

const test = systemTest
  .extend("settings", perFile, { env: { XERO_WEBHOOK_KEY: key } })
  .extend("operator", perFile, async ({ system }) => system.operator("admin"));

/** An organisation with an approved invoice, INV-0001. */
async function withInvoice(system: TestSystem): Promise<CreatedOrganisation> {
  const made = await system.organisation({}, { first_invoice_status: "approved" });
  const body = { customer_code: "ACME", plan_code: "team", units: 10 };
  orders += 1;
  const answer = await system.ask("POST", "/v1/subscriptions", {
    key: made.apiKey,
    idempotencyKey: `order-${orders}`,
    body,
  });
  expect(answer.json.invoice, answer.text).toMatchObject({
    number: "INV-0001",
    status: "approved",
  });
  return made;
}

async function invoice(
  system: TestSystem,
  { apiKey }: CreatedOrganisation,
): Promise<Answered["json"]> {
  return (await system.ask("GET", "/v1/invoices", { key: apiKey })).json.data[0];
}

/** Reads the organisation's ledger again, as an operator asks for it. */
async function sync(
  system: TestSystem,
  operator: string,
  { organisationId }: CreatedOrganisation,
): Promise<Answered["json"]> {
  const asked = { key: operator, body: { organisation: organisationId } };
  const answer = await system.askAdmin("LedgerSyncService/SyncLedger", asked);
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

async function detailsOf(client: Client, workflowId: string, runId?: string): Promise<string> {
  const shown = await client.workflow
    .getHandle(workflowId, runId)
    .query<{ currentDetails?: string }>("__temporal_workflow_metadata");
  return shown.currentDetails ?? "";
}

test("a payment in the ledger arrives by its webhook, and the invoice is paid here", async ({
  system,
  client,
}) => {
  const made = await withInvoice(system);
  const hand = bookkeeper(system.pool, system.demoUrl, made.tenantId);
  // Asks first whether webhooks are meant, by bodies that are signed rightly and wrongly.
  await hand.setWebhook({ url: `${system.baseUrl}${path}`, key });
  await hand.pay("INV-0001");
  const paid = await until("the payment is synced", async () => {
    const current = await invoice(system, made);
    return current.status === "paid" && current;
  });
  expect(paid.amount_due).toBe("0.0000");
  const workflowId = ledgerSyncWorkflowId(made.organisationId);
  // A webhook that anyone may have sent is refused.
  const forged = await system.ask("POST", path, {
    body: {},
    headers: { "x-xero-signature": "bm9ib2R5" },
  });
  expect([forged.status, forged.text]).toEqual([401, ""]);
  await expectReplayable(client, workflowId, "ledger-sync");
  expect(await detailsOf(client, workflowId)).toMatch(
    /^read \d+ objects in the ledger, \d+ changed here$/,
  );
  expect((await client.workflow.getHandle(workflowId).describe()).searchAttributes).toMatchObject({
    OrganisationId: [made.organisationId],
    JobKind: ["sync_ledger"],
    Outcome: ["done"],
  });
});

test("a payment without a webhook is found by a sync of an operator or the schedule", async ({
  system,
  client,
  operator,
}) => {
  const made = await withInvoice(system);
  await bookkeeper(system.pool, system.demoUrl, made.tenantId).setStatus("INV-0001", "VOIDED");
  expect((await invoice(system, made)).status).toBe("approved");
  const first = await sync(system, operator, made);
  const asked = { key: operator, body: { organisation: made.organisationId } };
  // A slow machine may need longer than an operator waits.
  const read = await until("it is read again", async () => {
    const got = await system.askAdmin("LedgerSyncService/GetLedgerSync", asked);
    return got.json.sync.waiting === undefined && got.json.sync;
  });
  expect(read).toMatchObject({ invoicesChanged: 1 });
  expect(Object.keys(read).sort()).toEqual([
    "beganAt",
    "endedAt",
    "invoicesChanged",
    "organisation",
  ]);
  expect(await invoice(system, made)).toMatchObject({ status: "voided", amount_due: "0.0000" });
  if (first.finished) expect(first.sync).toEqual(read);
  else
    await until(
      "it is read while an operator waits",
      async () => (await sync(system, operator, made)).finished === true,
    );

  // An incremental sync is due, and no signal comes: the schedule's run starts the sync.
  await tables(system.pool).ledgerSyncCursor.updateMany({
    where: { organisationId: made.organisationId },
    data: { nextSyncAt: new Date() },
  });
  const schedule = client.schedule.getHandle(billingScheduleId);
  await schedule.trigger();
  await until("it is read again", async () => {
    const { rows } = await system.pool.query(
      "SELECT 1 FROM ledger_sync_cursors WHERE organisation_id = $1 AND next_sync_at > now()",
      [made.organisationId],
    );
    return rows.length > 0;
  });
  const query = `WorkflowType = '${billingRunType}' AND ExecutionStatus = 'Completed'`;
  await until("a run that started it has ended", async () => {
    // Two starts of one second have the same workflow id.
    for await (const { workflowId, runId } of client.workflow.list({ query })) {
      const details = await detailsOf(client, workflowId, runId);
      if (/ledger sync of [1-9]\d* organisations? started/.test(details)) return true;
    }
    return false;
  });
});

test("the ledger sync waits, and shows it, if too little of the ledger's day is left", async ({
  system,
  client,
  operator,
}) => {
  const made = await withInvoice(system);
  await tables(system.pool).ledgerBudget.updateMany({
    where: { organisationId: made.organisationId },
    data: { dayRemaining: 20, dayObservedAt: new Date() },
  });
  const calls = await system.ledgerCalls(made.tenantId);
  // An answer does not wait for ever for the run that finds it.
  const answered = await until("it says why it waits", async () => {
    const answer = await sync(system, operator, made);
    return answer.sync.problem !== undefined && answer;
  });
  expect(answered).toMatchObject({
    sync: { waiting: true, problem: "our calls to the ledger are used up: day" },
  });
  expect(answered.finished).toBeUndefined();
  const ask = async (key: string, organisation: string) =>
    codeOf(await system.askAdmin("LedgerSyncService/SyncLedger", { key, body: { organisation } }));
  expect(await ask(operator, crypto.randomUUID())).toBe("organisation_not_found");
  expect(await ask(await system.operator("read-only"), made.organisationId)).toBe(
    "insufficient_role",
  );
  expect(await system.ledgerCalls(made.tenantId)).toEqual(calls);
  const workflowId = ledgerSyncWorkflowId(made.organisationId);
  await expectReplayable(client, workflowId, "ledger-sync-waits");
  expect(await detailsOf(client, workflowId)).toBe(
    "waits: our calls to the ledger are used up: day",
  );
  expect((await client.workflow.getHandle(workflowId).describe()).searchAttributes).toMatchObject({
    Outcome: ["rescheduled"],
  });
});
