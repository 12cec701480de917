/** The fixtures of tests that compare protocols: an organisation with an object of each kind. */
import { perFile } from "../support/file-fixture.ts";
import { publishAll } from "../support/published-events.ts";
import { scenarioTest } from "./fixtures.ts";
import { addCreditNote } from "./row-builder.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";

/** Tests over every protocol. `ids` has an object's id by the method that reads it. */
export const protocolsTest = scenarioTest.extend(
  "ids",
  perFile,
  async ({ system, ask, own, reports }): Promise<Readonly<Record<string, string>>> => {
    const charges = [{ charge_code: "onboarding", quantity: 2, price: "99.9999" }];
    const body = {
      customer_code: "ACME",
      plan_code: "scale",
      units: 8,
      invoice_reference: "PO-1",
      charges,
    };
    const { json } = await ask("POST", "/v1/subscriptions", {
      key: own.apiKey,
      idempotencyKey: "first",
      body,
    });
    const note = {
      customerId: json.customer,
      subscriptionId: json.id,
      number: "CN-1",
      invoiceId: json.invoice.id,
    };
    const other = await ask("POST", "/v1/subscriptions", {
      key: own.apiKey,
      idempotencyKey: "set-to-end",
      body,
    });
    await ask("POST", `/v1/subscriptions/${other.json.id}/end`, {
      key: own.apiKey,
      body: { when: "period_end" },
    });
    await addMeter(system.pool, own.organisationId, { plans: ["scale"] });
    const event = usageEvent(json.id, new Date().toISOString(), { event_id: "evt-1" });
    await reports.stored(own, [event]);
    await publishAll(system.pool, own.organisationId);
    const creditNote = await addCreditNote(system.pool, own.organisationId, {
      ...note,
      remaining: "2",
    });
    return {
      ListUsage: json.id,
      ListUsageBills: json.id,
      ListUnitChanges: json.id,
      ListPeriods: json.id,
      ListPlanMeters: json.plan,
      GetUsageEvent: "evt-1",
      GetEvent: (await ask("GET", "/v1/events", { key: own.apiKey })).json.data[0].id,
      GetSubscription: json.id,
      GetUpcomingInvoice: json.id,
      PreviewChangeUnits: json.id,
      PreviewEndSubscription: json.id,
      PreviewRestoreSubscription: other.json.id,
      GetCustomer: json.customer,
      GetPlan: json.plan,
      GetInvoice: json.invoice.id,
      GetInvoiceExplanation: json.invoice.id,
      GetCreditNote: creditNote,
      GetCreditNoteExplanation: creditNote,
      GetCharge: (await ask("GET", "/v1/charges", { key: own.apiKey })).json.data[0].id,
    };
  },
);
