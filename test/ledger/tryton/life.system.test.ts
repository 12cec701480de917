/**
 * The life of a subscription over Tryton. After each step what is open here of each document is
 * what the receivable account in Tryton says of it, and a webhook endpoint gets what changed.
 */
import { expect } from "vitest";
import { billingScheduleId } from "../../../workflows/contract.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { publishAll } from "../../support/published-events.ts";
import { tables } from "../../support/rows.ts";
import { stepLimitMs } from "../../support/slowness.ts";
import { until } from "../../support/system.ts";
import { startReceiver } from "../../support/webhook-receiver.ts";
import { expectEqualBooks } from "./both-books.ts";
import { personAt } from "./person.ts";
import {
  advance,
  changeUnits,
  connectToTryton,
  createCustomers,
  posted,
  subscribe,
  sync,
  trytonTest,
} from "./service-fixture.ts";
import { whyNoTryton } from "./tryton-fixture.ts";

const test = trytonTest
  .extend("settings", perFile, {
    env: { LEDGER_CALL_SECONDS: "20", WEBHOOK_ADDRESSES: "development" },
  })
  .extend(
    "receiver",
    perFile,
    started(startReceiver, (receiver) => receiver.stop()),
  )
  /** The documents with what is open of them, in one line, once both sides know all. */
  .extend("books", perFile, ({ system, admin, own, access }) => async (step: string) => {
    await posted(system, own);
    await sync(system, admin, own);
    await posted(system, own);
    const { organisation: organisationId } = own;
    const open = await expectEqualBooks(system, access, organisationId, step);
    await publishAll(system.pool, organisationId);
    const { invoice, creditNote } = tables(system.pool);
    const select = { number: true, status: true } as const;
    const all = [
      ...(await invoice.findMany({ where: { organisationId }, select })),
      ...(await creditNote.findMany({ where: { organisationId }, select })),
    ];
    const shown = all.map(
      ({ number, status }) => `${number} ${status} ${Number(open.get(number) ?? 0n) / 100}`,
    );
    return `${step}: ${shown.toSorted().join(", ")}`;
  });

/** Each of eleven steps waits for the postings and a sync of both sides, with their own limits. */
const timeout = 4 * stepLimitMs;

/** The documents after each step, with what is open of them. */
const life = [
  "created: SUB-0001 draft 0",
  "raised on the draft: SUB-0001 draft 0",
  "approved: SUB-0001 approved 46",
  "raised on an invoice of its own: SUB-0001 approved 46, SUB-0002 approved 11.5",
  "amended: SUB-0001 approved 46, SUB-0002 approved 11.5, SUB-0003 draft 0",
  "separate: SUB-0001 approved 46, SUB-0002 approved 11.5, SUB-0003 draft 0, " +
    "SUB-0004 approved 50.6",
  "cheaper: CN-SUB-0001 approved -15.18, SUB-0001 approved 46, SUB-0002 approved 11.5, " +
    "SUB-0003 draft 0, SUB-0004 approved 50.6",
  "ended: CN-SUB-0001 approved -15.18, SUB-0001 voided 0, SUB-0002 voided 0, " +
    "SUB-0003 deleted 0, SUB-0004 voided 0, SUB-0005 draft 0, SUB-0006 draft 0",
  "restored: CN-SUB-0001 approved -15.18, SUB-0001 voided 0, SUB-0002 voided 0, " +
    "SUB-0003 deleted 0, SUB-0004 voided 0, SUB-0005 draft 0, SUB-0006 draft 0, " +
    "SUB-0007 draft 0, SUB-0008 draft 0, SUB-0009 draft 0, SUB-0010 draft 0",
  "approved by a person: CN-SUB-0001 paid 0, SUB-0001 voided 0, SUB-0002 voided 0, " +
    "SUB-0003 deleted 0, SUB-0004 voided 0, SUB-0005 paid 0, SUB-0006 paid 0, " +
    "SUB-0007 approved 45.77, SUB-0008 approved 11.5, SUB-0009 approved 4.6, " +
    "SUB-0010 approved 101.2",
  "paid by a person: CN-SUB-0001 paid 0, SUB-0001 voided 0, SUB-0002 voided 0, " +
    "SUB-0003 deleted 0, SUB-0004 voided 0, SUB-0005 paid 0, SUB-0006 paid 0, SUB-0007 paid 0, " +
    "SUB-0008 paid 0, SUB-0009 paid 0, SUB-0010 paid 0",
];

/** The kinds of events that such a life has. */
const kinds = [
  "credit_note.created",
  "credit_note.updated",
  "customer.created",
  "invoice.created",
  "invoice.deleted",
  "invoice.paid",
  "invoice.updated",
  "invoice.voided",
  "subscription.created",
  "subscription.ended",
  "subscription.updated",
];

test.skipIf(whyNoTryton !== null)(
  "a subscription's life from its creation to its payment keeps Tryton's books equal to ours",
  { timeout },
  async ({ system, admin, own, key, access, receiver, books, client }) => {
    await connectToTryton(admin, own, access);
    const person = personAt(access);
    await admin.done("OrganisationService/UpdateOrganisation", {
      id: own.organisation,
      firstInvoiceStatus: "FIRST_INVOICE_STATUS_DRAFT",
      invoiceCreateDays: 7,
    });
    const endpoint = { ...own, url: receiver.url("/hook") };
    await admin.done("WebhookService/CreateWebhookEndpoint", endpoint);
    await createCustomers(system, key, 1);
    const change = async (body: object) => {
      await changeUnits(system, key, id, body);
      await posted(system, own);
    };

    // A period of thirty days.
    await advance(admin, own, { to: `${new Date().getUTCFullYear() + 1}-04-01T12:00:00Z` });
    const { id, start_date, renewal_date } = await subscribe(system, key, {
      ...{ customer_code: "C0", plan_code: "bands", units: 3 },
    });
    const steps: string[] = [];
    const step = async (name: string) => steps.push(await books(name));
    await step("created");

    const whole = { prorate: true, effective_date: start_date };
    await change({ units: 4, ...whole });
    await step("raised on the draft");
    await person.post("SUB-0001");
    await step("approved");

    await change({ units: 5, ...whole });
    await person.post("SUB-0002");
    await step("raised on an invoice of its own");

    const late = new Date(Date.parse(renewal_date) - 3 * 86_400_000).toISOString();
    await advance(admin, own, { to: late });
    const rest = { prorate: true, effective_date: late.slice(0, 10) };
    await change({ units: 6, document: "amend", ...rest });
    await step("amended");
    await change({ units: 10, document: "separate", ...rest });
    await person.post("SUB-0004");
    await step("separate");
    await change({ units: 11, document: "separate", ...rest });
    await step("cheaper");

    // A repeat with the same key gets the outcome of an end that took longer than its answer.
    const ending = {
      ...{ key, idempotencyKey: "end" },
      body: { when: "now", delete_unsent_invoices: true, void_approved_invoices: true },
    };
    await until("the subscription ends", async () => {
      const ended = await system.ask("POST", `/v1/subscriptions/${id}/end`, ending);
      expect([200, 409, 502], ended.text).toContain(ended.status);
      return ended.status === 200;
    });
    await step("ended");
    const restored = await system.ask("POST", `/v1/subscriptions/${id}/restore`, { key });
    expect(restored.status, restored.text).toBe(200);
    await step("restored");

    const { invoice, event } = tables(system.pool);
    const where = { organisationId: own.organisation };
    const withStatus = (status: string) =>
      invoice.findMany({ where: { ...where, status }, orderBy: { number: "asc" } });
    for (const { number } of await withStatus("draft")) await person.post(number);
    await step("approved by a person");
    for (const { number } of await withStatus("approved")) await person.pay(number);
    await step("paid by a person");

    await client.schedule.getHandle(billingScheduleId).trigger();
    const events = await event.findMany({ where });
    await until("each event is received", async () => {
      const got = new Set(receiver.received("/hook").map(({ body }) => JSON.parse(body).id));
      return events.every((one) => got.has(one.id));
    });
    expect(steps).toEqual(life);
    const types = events.map((one) => JSON.parse(one.body).type as string);
    expect([...new Set(types)].toSorted()).toEqual(kinds);
  },
);
