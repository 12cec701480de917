/** Facts and requests of a creation that succeeds, for tests to change one thing of. */
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { Charge } from "../../../src/domain/catalogue/plan.ts";
import type { Customer } from "../../../src/domain/customers/customer.ts";
import type { OrganisationSettings } from "../../../src/domain/model/organisation-settings.ts";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import type { CreationFacts, CreationRequest } from "../../../src/domain/subscriptions/create.ts";
import { planOf } from "../catalogue/catalogue.ts";

const createdAt = new Date("2026-01-01T00:00:00Z");

/** A live organisation in Paris; invoices 14 days ahead, due in 30. */
export const organisation: OrganisationSettings = {
  id: "0198c0de-0000-7000-8000-0000000000aa",
  name: "Acme",
  timezone: "Europe/Paris",
  defaultCurrency: "EUR",
  setupMode: false,
  canCreateLedgerContacts: true,
  livemode: true,
  invoiceCreateDays: 14,
  firstInvoiceStatus: "draft",
  dueDays: 30,
  numberPrefix: "INV-",
  revenueAccount: "200",
  taxType: "OUTPUT",
};

/** An active customer. */
export const customer: Customer = {
  id: "0198c0de-0000-7000-8000-0000000000bb",
  code: "cust",
  name: "Customer",
  companyName: null,
  firstName: null,
  lastName: null,
  email: "billing@example.com",
  status: "active",
  ledgerContactId: "contact",
  createdAt,
};

/** An active charge of 50.00 EUR that takes another price. */
export const setupCharge: Charge = {
  id: "0198c0de-0000-7000-8000-0000000000cc",
  code: "setup",
  name: "Setup",
  description: "Setting up",
  currency: "EUR",
  price: parseDecimal("50"),
  allowsPriceOverride: true,
  status: "active",
  createdAt,
  revenueAccount: null,
  taxType: null,
};

/** A per unit plan at 10.00 EUR, 2 units at least. */
export const seatPlan = planOf("per_unit", {
  name: "Seats",
  price: parseDecimal("10"),
  minimumUnits: 2,
  allowsPriceOverride: true,
});

/** Noon of 10 June 2026 in UTC, the customer, the seat plan and the charge. */
export function factsOf(differs: Partial<CreationFacts> = {}): CreationFacts {
  return {
    organisation,
    customer,
    plan: seatPlan,
    charges: new Map([[setupCharge.code, setupCharge]]),
    now: new Date("2026-06-10T12:00:00Z"),
    ...differs,
  };
}

/** Five seats from today, with these differences. Dates may be text. */
export function requestOf(
  differs: Partial<Omit<CreationRequest, "startDate">> & { startDate?: string | null } = {},
): CreationRequest {
  const { startDate = null, ...rest } = differs;
  return {
    customerCode: "cust",
    planCode: "plan",
    units: 5,
    discountPercent: null,
    timezone: null,
    billingDay: null,
    price: null,
    minimumUnits: null,
    endAfterCycles: null,
    label: "",
    invoiceReference: "",
    charges: [],
    ...rest,
    startDate: startDate === null ? null : civilDate(startDate),
  };
}
