/**
 * The manual's example of creating a subscription is one that the service would take, and its
 * answer the one it would give.
 */
import { expect, test } from "vitest";
import { demoCharges, demoPlans } from "../../packages/dev/src/demo/demo-catalogue.ts";
import { type CivilDate, civilDate, todayIn } from "../../src/domain/calendar/civil-date.ts";
import { formatDecimal, ZERO } from "../../src/domain/money/decimal.ts";
import { type CreationDecision, decideCreation } from "../../src/domain/subscriptions/create.ts";
import { customer, organisation } from "../domain/subscriptions/creation-builder.ts";
import { at, document, type Json } from "./answer-check.ts";

const operation = at(document, "paths", "/v1/subscriptions", "post") ?? {};
const request = at(operation, "requestBody", "content", "application/json", "example") ?? {};
const response = at(operation, "responses", "201", "content", "application/json", "example") ?? {};
const invoice = at(response, "invoice") ?? {};
const lines = invoice.lines as readonly Json[];

/**
 * What the service decides on the example request, at the instant of the example answer, with the
 * first data's catalogue.
 */
function decided(): CreationDecision {
  const now = new Date(String(response.created));
  const currency = String(response.currency);
  const plans = demoPlans(currency, now);
  const charges = demoCharges(currency, now);
  const timezone = String(response.timezone);
  const asked = request.charges as readonly { charge_code: string; quantity: number }[];
  return decideCreation(
    {
      organisation: {
        ...organisation,
        timezone,
        defaultCurrency: currency,
        invoiceCreateDays: 0,
        dueDays: 14,
      },
      customer: { ...customer, id: String(response.customer), code: String(request.customer_code) },
      plan: plans.find(({ code }) => code === request.plan_code) ?? null,
      charges: new Map(charges.map((charge) => [charge.code, charge])),
      now,
    },
    {
      customerCode: String(request.customer_code),
      planCode: String(request.plan_code),
      units: Number(request.units),
      discountPercent: null,
      startDate: null,
      timezone: null,
      billingDay: null,
      price: null,
      minimumUnits: null,
      endAfterCycles: null,
      label: String(request.label),
      invoiceReference: String(request.invoice_reference),
      charges: asked.map(({ charge_code, quantity }) => ({
        chargeCode: charge_code,
        quantity,
        price: null,
      })),
    },
  );
}

test("the example request is valid on any day, and is accepted", () => {
  expect(Object.keys(request).sort()).toEqual(
    ["charges", "customer_code", "invoice_reference", "label", "plan_code", "units"].sort(),
  );
  expect(Object.keys((request.charges as Json[])[0] ?? {}).sort()).toEqual([
    "charge_code",
    "quantity",
  ]);
  expect(() => decided()).not.toThrow();
});

test("the example answer has the subscription that the service decides on the request", () => {
  const { subscription } = decided();
  expect(response).toMatchObject({
    customer_code: request.customer_code,
    status: subscription.status,
    currency: subscription.currency,
    interval: subscription.interval,
    timezone: subscription.timezone,
    start_date: subscription.startDate,
    renewal_date: subscription.renewalDate,
    end_date: subscription.endDate,
    units: request.units,
    minimum_units: subscription.minimumUnits,
    discount_percent: formatDecimal(ZERO),
    end_after_cycles: null,
    label: request.label,
    invoice_reference: request.invoice_reference,
    renewal_value: lines[0]?.amount,
  });
});

test("the example answer's invoice has the lines, prices and dates of the service", () => {
  const draft = decided().invoice;
  expect(invoice).toMatchObject({
    type: draft?.type,
    reference: request.invoice_reference,
    customer: response.customer,
    subscription: response.id,
    status: organisation.firstInvoiceStatus,
    currency: response.currency,
    subtotal: draft && formatDecimal(draft.subtotal),
    issue_date: draft?.issueDate,
    due_date: draft?.dueDate,
    period: draft?.period,
    created: response.created,
  });
  expect(lines.map(({ id: _, ...line }) => line)).toEqual(
    draft?.lines.map((line) => ({
      kind: line.kind,
      name: line.name,
      description: line.description,
      units: line.units,
      quantity: null,
      unit_price: line.unitPrice && formatDecimal(line.unitPrice),
      amount: formatDecimal(line.amount),
      period: line.period,
      proration: null,
    })),
  );
  expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length);
});

test("a line's own example is the one of the example answer", () => {
  const description = at(
    document,
    "components",
    "schemas",
    "InvoiceLine",
    "properties",
    "description",
  );
  expect(description?.examples).toEqual([lines[0]?.description]);
});

test("the example answer is dated by the day of its time zone", () => {
  const day: CivilDate = todayIn(String(response.timezone), new Date(String(response.created)));
  expect(response.start_date).toBe(day);
  expect(civilDate(String(invoice.issue_date))).toBe(day);
});

test("the example of create customer does not also import one", () => {
  const content = at(
    document,
    "paths",
    "/v1/customers",
    "post",
    "requestBody",
    "content",
    "application/json",
  );
  expect(at(content ?? {}, "example")).not.toHaveProperty("ledger_contact_id");
});

test("the manual names the refusals of a creation that depend on values alone", () => {
  const properties =
    at(document, "components", "schemas", "CreateSubscriptionRequest", "properties") ?? {};
  const words = (name: string) => at(properties, name)?.description;
  expect(words("units")).toMatch(/`plan_has_no_units`.*1,000,000,000,000,000.*`invalid_parameter`/);
  expect(words("minimum_units")).toContain("`plan_has_no_units`");
  expect(words("end_after_cycles")).toMatch(/`invalid_parameter`.*9999/);
});

test("the manual says how to continue after a lost answer about a new customer", () => {
  const words = at(document, "paths", "/v1/customers", "post")?.description;
  expect(words).toMatch(
    /`502 ledger_unavailable`.*be created\. Retry with the same `Idempotency-Key`.*`code`/,
  );
});
