/**
 * The Temporal UI answers an operator. Each query of docs/operations/mend.md runs on Temporal's
 * visibility after its work, and finds that work: what it is, its progress and its outcome in
 * words.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, Connection, type WorkflowExecutionInfo } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addDueSubscriptions } from "../../bench/support/due-subscriptions.ts";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { createWorkflowPages } from "../../src/main/api/workflow-pages.ts";
import {
  amendmentWorkflowId,
  billingScheduleId,
  billingWorkflowId,
  clockWorkflowId,
  creditWorkflowId,
  deliveriesWorkflowId,
  eventsWorkflowId,
  ledgerSyncWorkflowId,
  ledgerWorkflowId,
  terminationWorkflowId,
} from "../../workflows/contract.ts";
import { endPost, endsBuilder } from "../faults/ends-builder.ts";
import { postUntilDecided } from "../faults/processes.ts";
import { checkedAsk } from "../scenario/checked-ask.ts";
import { type ClockBuilder, clockBuilder } from "../scenario/clock-builder.ts";
import { addBands } from "../scenario/units-builder.ts";
import { billingRuns } from "../support/billing.ts";
import { newestJob, tables } from "../support/rows.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";

let system: TestSystem;
let builder: ClockBuilder;
let connection: Connection;
let client: Client;

/** The queries of docs/operations/mend.md, with `…` for an id. */
const page = readFileSync(new URL("../../docs/operations/mend.md", import.meta.url), "utf8");
const queries = [
  ...page.matchAll(/^\| [^|]+ \| `([^`|]*(?:Id|Kind|Outcome|Status) = [^`|]*)` \|$/gm),
].map(([, query = ""]) => query);

/** What a query, with this id for its `…`, has to find. */
interface Found {
  readonly id?: string;
  /** The id that distinguishes the workflow: a part of the workflow's id. */
  readonly workflowId: string;
  readonly details: RegExp;
  readonly outcome?: string;
  readonly summary?: RegExp;
  readonly memo?: object;
}

const found: Record<string, Found> = {};

/** Half of April is left. */
const half = { prorate: true, effective_date: "2026-04-16" };

async function jobOf({ organisationId }: CreatedOrganisation, kind: string): Promise<string> {
  return until(
    "the job exists",
    async () => (await newestJob(system.pool, { organisationId, kind }))?.id,
  );
}

async function amend(): Promise<void> {
  const own = await builder.sandbox({ test_clock: "2026-04-16T12:00:00Z" });
  // The longest label, of characters of four bytes.
  const label = "🏢".repeat(127);
  const { id, invoice } = await builder.subscribe(own, { start_date: "2026-04-01", label });
  await builder.changed(own, id, { units: 13, ...half });
  const jobId = await jobOf(own, "amend_invoice");
  const run = {
    workflowId: amendmentWorkflowId(jobId),
    details: /^INV-0001 done$/,
    outcome: "done",
    summary: /^amends INV-0001 of subscription “🏢+” in the ledger$/u,
    memo: { subscription: id, label, invoices: ["INV-0001"] },
  };
  found['SubscriptionId = "…"'] = { id, ...run };
  found['InvoiceId = "…"'] = { id: invoice.id, ...run };
  found['JobId = "…"'] = { id: jobId, ...run };
  found['OrganisationId = "…" AND JobKind = "post_documents"'] = {
    id: own.organisationId,
    workflowId: ledgerWorkflowId(own.organisationId),
    details: /^0 waiting, 1 posted, 0 refused$/,
    outcome: "done",
  };
}

async function amendClosed(): Promise<void> {
  const own = await builder.sandbox({ test_clock: "2026-04-16T12:00:00Z" });
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
  await system.pool.query(
    "UPDATE demo_ledger.invoices SET status = 'AUTHORISED' WHERE tenant_id = $1",
    [own.tenantId],
  );
  await builder.changed(own, id, { units: 13, ...half });
  found['JobKind = "amend_invoice" AND Outcome = "moved"'] = {
    workflowId: amendmentWorkflowId(await jobOf(own, "amend_invoice")),
    details: /^INV-0001 moved$/,
    outcome: "moved",
  };
}

async function refuseEnd(): Promise<void> {
  const ends = endsBuilder(system);
  const { own, id } = await ends.withThree();
  const [, , first] = await ends.builder.invoices(own, id);
  const match = `POST /api.xro/2.0/Invoices/${first.ledger.invoice_id}`;
  await system.fault({
    kind: "refuse",
    match,
    tenantId: own.tenantId,
    messages: ["The lock date has passed."],
  });
  expect((await postUntilDecided(system.baseUrl, endPost({ own, id }, "refused"))).status).toBe(
    409,
  );
  found['JobKind = "end_subscription" AND Outcome = "refused"'] = {
    workflowId: terminationWorkflowId(await jobOf(own, "end_subscription")),
    details: /^refused at INV-0001, 2 of 3 removed: period_locked$/,
    outcome: "refused",
    summary: /^removes INV-0001 and 2 more in the ledger, then ends subscription [0-9a-f-]{36}$/,
    memo: { subscription: id, label: "", invoices: ["INV-0001", "INV-0002", "INV-0003"] },
  };
}

async function bill(): Promise<void> {
  const { organisationId } = await system.organisation({ timezone: "UTC" });
  await addDueSubscriptions(system.pool, organisationId, 12, 2);
  const runs = await billingRuns(system);
  await runs.untilDone(organisationId);
  await runs.close();
  found['JobKind = "billing" AND Outcome = "parked"'] = {
    workflowId: billingWorkflowId(organisationId),
    details: /^10 of about 12 renewed, 2 parked$/,
    outcome: "parked",
  };
  found['JobKind = "billing_run"'] = {
    workflowId: "billing-run-",
    details: /^billing of \d+ organisations? started/,
    outcome: "done",
  };
}

async function advanceClock(): Promise<void> {
  const own = await builder.sandbox();
  await builder.subscribe(own, { start_date: "2026-04-01" });
  await builder.advanced(own, { to: "2026-06-10T12:00:00Z" });
  found['OrganisationId = "…" AND JobKind = "advance_clock"'] = {
    id: own.organisationId,
    workflowId: clockWorkflowId(own.organisationId),
    details: /^2026-06-10T12:00:00.000Z, from .*: 2 performed, 2 invoices issued, 0 parked$/,
    outcome: "done",
  };
}

async function syncLedger(): Promise<void> {
  const { organisationId } = await system.organisation();
  const asked = { key: await system.operator("admin"), body: { organisation: organisationId } };
  // A slow machine may need longer than an operator waits.
  const isRead = async () =>
    (await system.askAdmin("LedgerSyncService/SyncLedger", asked)).json.finished === true;
  await until("it is read", isRead);
  found['OrganisationId = "…" AND JobKind = "sync_ledger"'] = {
    id: organisationId,
    workflowId: ledgerSyncWorkflowId(organisationId),
    details: /^read \d+ objects in the ledger, 0 changed here$/,
    outcome: "done",
  };
}

async function publishChanges(): Promise<void> {
  const receiver = createServer((request, response) =>
    request.on("end", () => response.end()).resume(),
  );
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  receiver.unref();
  const { organisationId } = await system.organisation();
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const asked = {
    key: await system.operator("admin"),
    body: { organisation: organisationId, url },
  };
  const made = await system.askAdmin("WebhookService/CreateWebhookEndpoint", asked);
  // Three customers. What their creation published may be delivered too, if the schedule's relay
  // runs now.
  await tables(system.pool).customer.updateMany({
    where: { organisationId },
    data: { firstName: "Ada" },
  });
  await client.schedule.getHandle(billingScheduleId).trigger();
  found['OrganisationId = "…" AND JobKind = "publish_changes"'] = {
    id: organisationId,
    workflowId: eventsWorkflowId(organisationId),
    details: /^published [36] events, started deliveries to \d endpoints$/,
    outcome: "done",
  };
  found['EndpointId = "…"'] = {
    id: made.json.endpoint.id,
    workflowId: deliveriesWorkflowId(made.json.endpoint.id),
    details: /^[36] delivered, 0 attempts failed, 0 exhausted, 0 cancelled$/,
    outcome: "done",
  };
}

async function reschedule(): Promise<void> {
  const own = await system.organisation();
  const limit = {
    kind: "rate_limit",
    match: "PUT /api.xro/2.0/Invoices",
    problem: "day",
    retryAfterSeconds: 3_600,
  };
  await system.fault({ ...limit, tenantId: own.tenantId });
  const body = { customer_code: "ACME", plan_code: "team", units: 1 };
  await system.ask("POST", "/v1/subscriptions", {
    key: own.apiKey,
    idempotencyKey: "rescheduled",
    body,
  });
  found['Outcome = "rescheduled"'] = {
    workflowId: ledgerWorkflowId(own.organisationId),
    details: /^1 waiting, 0 posted, 0 refused, paused until \d\d:\d\d:\d\d UTC: day limit$/,
    outcome: "rescheduled",
  };
}

/** Held credit whose allocation the ledger does not answer: its workflow goes on trying. */
async function holdCredit(): Promise<void> {
  const own = await builder.sandbox({
    test_clock: "2026-04-16T12:00:00Z",
    first_invoice_status: "approved",
  });
  await addBands(system, own);
  const { id } = await builder.subscribe(own, { plan_code: "bands", start_date: "2026-04-01" });
  await builder.changed(own, id, { units: 11, ...half });
  await builder.posted(own);
  const match = "/Allocations";
  await system.fault({ kind: "status", status: 503, match, tenantId: own.tenantId, times: 1_000 });
  await builder.changed(own, id, { units: 20, ...half });
  found['OrganisationId = "…" AND ExecutionStatus = "Running"'] = {
    id: own.organisationId,
    workflowId: creditWorkflowId(id),
    details: /^putting .* of CN-0001 on INV-000\d, attempt \d+: /,
  };
}

beforeAll(async () => {
  system = await startSystem({ env: { WEBHOOK_ADDRESSES: "development" } });
  builder = await clockBuilder(system, checkedAsk(system));
  connection = await Connection.connect({ address: system.temporal.address });
  client = new Client({ connection, namespace: system.temporal.namespace });
  const works = [
    amend,
    amendClosed,
    refuseEnd,
    bill,
    advanceClock,
    syncLedger,
    publishChanges,
    reschedule,
    holdCredit,
  ];
  for (const work of works) await work();
});

afterAll(async () => {
  await connection?.close();
  await system?.stop();
});

/** What the Temporal UI shows as the current details of a run. */
async function detailsOf({ workflowId, runId }: WorkflowExecutionInfo): Promise<string> {
  const handle = client.workflow.getHandle(workflowId, runId);
  const shown = await handle.query<{ currentDetails?: string }>("__temporal_workflow_metadata");
  return shown.currentDetails ?? "";
}

/** The first run that the query finds of the workflow, once it says what it should. */
async function findRun(
  query: string,
  { workflowId, details, outcome }: Found,
): Promise<WorkflowExecutionInfo> {
  return until(`${query} finds ${workflowId}`, async () => {
    for await (const run of client.workflow.list({ query })) {
      if (!run.workflowId.startsWith(workflowId)) continue;
      const isEnded = outcome === undefined || run.searchAttributes.Outcome?.[0] === outcome;
      if (isEnded && details.test(await detailsOf(run))) return run;
    }
    return null;
  });
}

test("the queries of docs/operations/mend.md are those that are tested here", () => {
  // Nothing times out here, so of that query only its syntax is checked.
  expect(queries).toEqual(expect.arrayContaining([...Object.keys(found), stuck]));
  expect(queries).toHaveLength(Object.keys(found).length + 1);
});

const stuck = 'ExecutionStatus = "TimedOut" OR ExecutionStatus = "Failed"';

test("the queries of docs/workflows.md find what was refused, waits and was done", async () => {
  const text = readFileSync(new URL("../../docs/workflows.md", import.meta.url), "utf8");
  const shown = [...text.matchAll(/^\| [^|]+\? \| `([^`]+)` \|$/gm)].map(([, query = ""]) => query);
  const pages = createWorkflowPages("http://ui", "default");
  const links = [pages?.ofSubscription("…"), pages?.failed(null), pages?.waiting(null)];
  const linked = [...links, pages?.work()].map((url) =>
    new URL(url ?? "").searchParams.get("query"),
  );
  expect(shown).toEqual(linked);
  const [, failed = "", waiting = "", work = ""] = shown;
  const find = async (query: string) => {
    const ids: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
    return ids;
  };
  const idOf = (query: string) => found[query]?.workflowId ?? "";
  expect(await find(failed)).toContain(
    idOf('JobKind = "end_subscription" AND Outcome = "refused"'),
  );
  const trying = 'OrganisationId = "…" AND ExecutionStatus = "Running"';
  const waits = [idOf('Outcome = "rescheduled"'), idOf(trying)];
  expect(await find(waiting)).toEqual(expect.arrayContaining(waits));
  expect(await find(work)).not.toContainEqual(expect.stringMatching(/^billing-run/));
});

test("no workflow of these tests has failed tasks", async () => {
  expect((await client.workflow.count(stuck)).count).toBe(0);
});

test.each(
  queries.filter((query) => query !== stuck),
)("%s finds its work, described in words", async (query) => {
  const expected = found[query];
  if (expected === undefined) throw new Error("nothing was done for this query");
  const run = await findRun(query.replace("…", expected.id ?? ""), expected);
  const handle = client.workflow.getHandle(run.workflowId, run.runId);
  const described = await handle.describe();
  expect(await described.staticSummary()).toMatch(expected.summary ?? /^[a-z][a-z0-9':, -]+$/i);
  if (expected.memo) expect(described.memo).toEqual(expected.memo);
  expect(run.searchAttributes.JobKind).toHaveLength(1);
  if (expected.outcome === undefined) return;
  const words = expect.stringMatching(/[a-z]/);
  expect(await handle.result()).toEqual({ outcome: expected.outcome, words });
});
