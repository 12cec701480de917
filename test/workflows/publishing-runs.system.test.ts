/**
 * The relay in the real service: the events of each operation and of each change in the ledger,
 * over HTTP; what an operator sees of the runs, and their histories, which must replay. With
 * RECORD_HISTORIES set they are stored for `replay.test.ts`.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { billingRunType, billingScheduleId, eventsWorkflowId } from "../../workflows/contract.ts";
import { at, closed, document, schemaFaults } from "../contract/answer-check.ts";
import { checkedAsk } from "../scenario/checked-ask.ts";
import { type ClockBuilder, clockBuilder } from "../scenario/clock-builder.ts";
import { addBands } from "../scenario/units-builder.ts";
import { bookkeeper } from "../support/bookkeeper.ts";
import { eventsOf, expectAllPublished, type PublishedEvent } from "../support/published-events.ts";
import { tables } from "../support/rows.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { addEndpoint } from "../support/webhook-builder.ts";
import { expectReplayable } from "./recorded-history.ts";

let system: TestSystem;
let builder: ClockBuilder;
let connection: Connection;
let client: Client;
let receiver: Server;
/** The events that the receiver got, by id. */
const received = new Map<string, PublishedEvent>();

const schedule = () => client.schedule.getHandle(billingScheduleId);

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const event = JSON.parse(body) as PublishedEvent;
      received.set(event.id, event);
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  system = await startSystem({
    env: { WEBHOOK_ADDRESSES: "development", WEBHOOK_RETRY_MILLISECONDS: "100" },
  });
  builder = await clockBuilder(system, checkedAsk(system));
  connection = await Connection.connect({ address: system.temporal.address });
  client = new Client({ connection, namespace: system.temporal.namespace });
  // Windows end when a test says so.
  await until("the schedule is there", () =>
    schedule()
      .pause("windows end by hand")
      .then(
        () => true,
        () => false,
      ),
  );
});

afterAll(async () => {
  await connection?.close();
  await system?.stop();
  receiver?.close();
});

let scans = 0;

/**
 * A run of the scan, as the schedule starts it; returns once it has ended. The schedule's own could
 * begin in the next window.
 */
async function scan(): Promise<void> {
  scans += 1;
  await client.workflow.execute(billingRunType, {
    workflowId: `scan-${scans}`,
    taskQueue: "billing",
  });
}

/** The time between two scans. What a scan started ends in it. */
const againMs = 1_000;

/** Publishes every outbox entry. */
async function publishOutbox(): Promise<void> {
  let scannedAt = -againMs;
  await until("the outbox is empty", async () => {
    if ((await tables(system.pool).outboxEntry.count()) === 0) return true;
    if (performance.now() - scannedAt >= againMs) {
      await scan();
      scannedAt = performance.now();
    }
    return false;
  });
}

/** An organisation with an endpoint that takes no kind: its events are written all the same. */
async function listening(changes: Record<string, unknown>): Promise<CreatedOrganisation> {
  const own = await builder.sandbox(changes);
  await addEndpoint(system.pool, own.organisationId, ["customer.deleted"]);
  return own;
}

const names = new Map<string, string>();
const eventCounts = new Map<string, number>();

/** Ends the window; its events as `type object`, with the members that were otherwise before. */
async function newEvents({ organisationId }: CreatedOrganisation): Promise<readonly string[]> {
  await publishOutbox();
  const events = await eventsOf(system.pool, organisationId);
  const fresh = events.slice(eventCounts.get(organisationId) ?? 0);
  eventCounts.set(organisationId, events.length);
  return fresh
    .map(({ type, data: { object, previous_attributes: previous } }) => {
      const name = names.get(object.id) ?? object.number ?? object.code;
      return `${type} ${name}${previous === null ? "" : ` ${Object.keys(previous)}`}`;
    })
    .sort();
}

test("each operation on a subscription is published as the contract's table says", async () => {
  const own = await listening({});
  expect(await newEvents(own)).toEqual(
    ["ACME", "GLOBEX", "INITECH"].map((code) => `customer.created ${code}`),
  );
  const subscribe = async (name: string) => {
    const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
    names.set(id, name);
    return id as string;
  };
  const long = await subscribe("long");
  const short = await subscribe("short");
  await builder.ended(own, short, { when: "now", delete_unsent_invoices: true });
  expect(await newEvents(own)).toEqual([
    "invoice.created INV-0001",
    "invoice.created INV-0002",
    "invoice.deleted INV-0002",
    "subscription.created long",
    "subscription.created short",
    "subscription.ended short",
  ]);
  for (const units of [12, 14]) await builder.changed(own, long, { units });
  await builder.restored(own, short);
  expect(await newEvents(own)).toEqual([
    "invoice.created INV-0003",
    "subscription.updated long units,renewal_value",
    "subscription.updated short status,end_date,renewal_value",
  ]);
  await builder.ended(own, long, { when: "period_end" });
  await builder.ended(own, short, { when: "now" });
  await builder.restored(own, short);
  expect(await newEvents(own)).toEqual([
    "subscription.updated long end_date,cancel_at_period_end,renewal_value",
    "subscription.updated short ",
  ]);
  await builder.restored(own, long);
  await builder.ended(own, short, { when: "now" });
  expect(await newEvents(own)).toEqual([
    "subscription.ended short status,end_date,renewal_value",
    "subscription.updated long end_date,cancel_at_period_end,renewal_value",
  ]);
  await builder.restored(own, short);
  await builder.ended(own, short, { when: "period_end" });
  expect(await newEvents(own)).toEqual([
    "subscription.updated short status,end_date,cancel_at_period_end",
  ]);
  await builder.advanced(own, { to: "2026-05-01T12:00:00Z" });
  await builder.posted(own);
  expect(await newEvents(own)).toEqual([
    "invoice.created INV-0004",
    "subscription.ended short status",
    "subscription.updated long renewal_date",
  ]);
  await expectInOrder(own);
});

test("each change in the ledger is published for documents and customers", async () => {
  const own = await listening({
    first_invoice_status: "approved",
    can_create_ledger_contacts: true,
  });
  await addBands(system, own);
  const hand = bookkeeper(system.pool, system.demoUrl, own.tenantId);
  const sync = () =>
    until("the ledger is read again", async () => {
      const order = { organisation: own.organisationId };
      return (await builder.operator.done("LedgerSyncService/SyncLedger", order)).finished === true;
    });
  for (let count = 0; count < 3; count++)
    await builder.subscribe(own, { start_date: "2026-04-01" });
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01", plan_code: "bands" });
  names.set(id, "banded");
  await newEvents(own);
  const customer = { name: "New", email: "n@new.example", code: "NEW" };
  const made = await system.ask("POST", "/v1/customers", { key: own.apiKey, body: customer });
  expect(made.status, made.text).toBe(201);
  await builder.changed(own, id, { units: 11, prorate: true, effective_date: "2026-04-16" });
  await builder.posted(own);
  await hand.pay("INV-0001");
  await hand.pay("INV-0002", "10");
  await hand.setStatus("INV-0003", "VOIDED");
  await hand.changeContact("ACME", { Name: "Acme renamed" });
  await sync();
  expect(await newEvents(own)).toEqual([
    "credit_note.created CN-0001",
    "customer.created NEW",
    "customer.updated ACME name",
    "invoice.paid INV-0001 status,amount_due",
    "invoice.updated INV-0002 amount_due",
    "invoice.voided INV-0003 status,amount_due",
    "subscription.updated banded units,renewal_value",
  ]);
  await hand.allocate("CN-0001", "INV-0002", "2");
  await sync();
  expect(await newEvents(own)).toEqual([
    "credit_note.updated CN-0001 remaining_credit,allocation_status,allocations",
    "invoice.updated INV-0002 amount_due",
  ]);
  await hand.takeBack("CN-0001");
  await hand.setStatus("CN-0001", "VOIDED");
  await sync();
  expect(await newEvents(own)).toEqual([
    "credit_note.voided CN-0001 status,remaining_credit,allocation_status,allocations",
    "invoice.updated INV-0002 amount_due",
  ]);
  await expectInOrder(own);
});

/**
 * Asserts that events are as documented, that each object's are numbered without a gap, and that
 * the last one has it as it is retrieved now, byte for byte.
 */
async function expectInOrder({ organisationId, apiKey }: CreatedOrganisation): Promise<void> {
  await expectAllPublished(system.pool, [organisationId]);
  const last = new Map<string, PublishedEvent>();
  for (const event of await eventsOf(system.pool, organisationId)) {
    const path = [
      "webhooks",
      event.type,
      "post",
      "requestBody",
      "content",
      "application/json",
      "schema",
    ];
    expect(schemaFaults(closed(at(document, ...path) ?? {}), event)).toEqual([]);
    expect(event.sequence).toBe((last.get(event.data.object.id)?.sequence ?? 0) + 1);
    last.set(event.data.object.id, event);
  }
  for (const { data } of last.values()) {
    const { id, object } = data.object;
    const { text } = await system.ask("GET", `/v1/${object}s/${id}`, { key: apiKey });
    expect(JSON.stringify(data.object)).toBe(text);
  }
}

test("a change reaches its endpoint; runs show progress, are found, and replay", async () => {
  const own = await builder.sandbox();
  const { organisationId } = own;
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await publishOutbox();
  // The events of an organisation without an endpoint are sent to none that comes later.
  const earlier = await eventsOf(system.pool, organisationId);
  await builder.operator.done("WebhookService/CreateWebhookEndpoint", {
    organisation: organisationId,
    url,
  });
  const { id } = await builder.subscribe(own, { plan_code: "site", units: undefined });
  await publishOutbox();
  const events = (await eventsOf(system.pool, organisationId)).slice(earlier.length);
  expect(events.map(({ type }) => type)).toEqual(["subscription.created", "invoice.created"]);
  expect(events[0]?.data.object.id).toBe(id);
  await until(
    "the receiver has them",
    async () => {
      if (events.every((event) => received.has(event.id))) return true;
      // If Temporal was too slow to take a start, the next scan repeats it.
      await scan();
      return false;
    },
    againMs,
  );
  expect(events.map((event) => received.get(event.id))).toEqual(events);

  const publishing = await run(
    `WorkflowId = '${eventsWorkflowId(organisationId)}'`,
    /^published 2 events, started deliveries to \d endpoints$/,
  );
  expect(publishing.attributes).toMatchObject({
    OrganisationId: [organisationId],
    JobKind: ["publish_changes"],
    Outcome: ["done"],
  });
  await expectReplayable(client, publishing.workflowId, "publishing", publishing.runId);
  const started = /publishing of \d+ organisations? started/;
  const found = await run(`WorkflowType = '${billingRunType}'`, started);
  expect(found.attributes).toMatchObject({ Outcome: ["done"] });
});

/** A run that has ended, by a query and by what its current details say. */
async function run(query: string, details: RegExp) {
  return until(`a run says ${details}`, async () => {
    for await (const found of client.workflow.list({
      query: `${query} AND ExecutionStatus = 'Completed'`,
    })) {
      const { workflowId, runId, searchAttributes: attributes } = found;
      const shown = await client.workflow
        .getHandle(workflowId, runId)
        .query<{ currentDetails?: string }>("__temporal_workflow_metadata");
      if (details.test(shown.currentDetails ?? "")) return { workflowId, runId, attributes };
    }
    return null;
  });
}
