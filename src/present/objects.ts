/**
 * Converts domain values to messages. Every member is listed, so that nothing is exposed by
 * accident. Amounts get four places here (OBJECT-2).
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { allocationStatus } from "../domain/billing/allocation-status.ts";
import { renewalValue } from "../domain/billing/due-date.ts";
import type { PlanMeter } from "../domain/catalogue/meter.ts";
import { type Charge, type Plan, type Tier, tierBounds } from "../domain/catalogue/plan.ts";
import type { Customer } from "../domain/customers/customer.ts";
import type { CreditNote } from "../domain/model/credit-note.ts";
import type { Invoice, InvoiceLine } from "../domain/model/invoice.ts";
import type { OrganisationSettings } from "../domain/model/organisation-settings.ts";
import type { Subscription } from "../domain/model/subscription.ts";
import { type Decimal, formatDecimal } from "../domain/money/decimal.ts";
import type {
  ChargeSchema,
  PlanMeterSchema,
  PlanSchema,
  TierSchema,
} from "../gen/proto/billing/v1/catalogue_pb.ts";
import type { CreditNoteSchema } from "../gen/proto/billing/v1/credit_notes_pb.ts";
import type { CustomerSchema } from "../gen/proto/billing/v1/customers_pb.ts";
import type { InvoiceLineSchema, InvoiceSchema } from "../gen/proto/billing/v1/invoices_pb.ts";
import type { OrganisationSchema } from "../gen/proto/billing/v1/organisation_pb.ts";
import type { SubscriptionSchema } from "../gen/proto/billing/v1/subscriptions_pb.ts";
import {
  allocationStates,
  allocationStatuses,
  catalogueStatuses,
  customerStatuses,
  documentStatuses,
  invoiceTypes,
  lineKinds,
  planTypes,
  subscriptionStatuses,
  syncStatuses,
} from "./enums.ts";

/** Returns the organisation's message (OBJECT-8). */
export function presentOrganisation(
  organisation: OrganisationSettings,
): MessageInitShape<typeof OrganisationSchema> {
  return {
    id: organisation.id,
    object: "organisation",
    name: organisation.name,
    timezone: organisation.timezone,
    defaultCurrency: organisation.defaultCurrency,
    setupMode: organisation.setupMode,
    canCreateLedgerContacts: organisation.canCreateLedgerContacts,
    livemode: organisation.livemode,
  };
}

/** Returns a customer's message. Absent members are unset. */
export function presentCustomer(customer: Customer): MessageInitShape<typeof CustomerSchema> {
  return {
    id: customer.id,
    object: "customer",
    code: customer.code,
    name: customer.name,
    ...optional("companyName", customer.companyName),
    ...optional("firstName", customer.firstName),
    ...optional("lastName", customer.lastName),
    email: customer.email,
    status: customerStatuses[customer.status],
    ledgerContactId: customer.ledgerContactId ?? "",
    created: customer.createdAt.toISOString(),
  };
}

/** Returns a plan's message, with its tiers (CATALOGUE-4, CATALOGUE-6). */
export function presentPlan(plan: Plan): MessageInitShape<typeof PlanSchema> {
  return {
    id: plan.id,
    object: "plan",
    code: plan.code,
    name: plan.name,
    type: planTypes[plan.type],
    interval: plan.interval,
    currency: plan.currency,
    price: formatDecimal(plan.price),
    minimumUnits: plan.minimumUnits,
    freeUnits: plan.freeUnits,
    unitLabels: plan.unitLabels,
    allowsPriceOverride: plan.allowsPriceOverride,
    status: catalogueStatuses[plan.status],
    tiers: presentTiers(plan.tiers),
    created: plan.createdAt.toISOString(),
  };
}

/** Returns the messages of tiers, with `from` computed from the previous bound (CATALOGUE-4). */
export function presentTiers(tiers: readonly Tier[]): MessageInitShape<typeof TierSchema>[] {
  const bounds = tierBounds(tiers);
  return tiers.map((tier, index) => ({
    from: bounds[index]?.from ?? 1,
    ...optional("upTo", tier.upTo),
    ...optional("unitPrice", amount(tier.unitPrice)),
    ...optional("flatPrice", amount(tier.flatPrice)),
  }));
}

/** Returns the message of a meter on a plan, with the plan's price for it (CATALOGUE-8). */
export function presentPlanMeter(
  planId: string,
  meter: PlanMeter,
): MessageInitShape<typeof PlanMeterSchema> {
  return {
    id: meter.id,
    object: "plan_meter",
    plan: planId,
    code: meter.code,
    name: meter.name,
    unitLabel: meter.unitLabel,
    type: planTypes[meter.type],
    price: formatDecimal(meter.price),
    tiers: presentTiers(meter.tiers),
  };
}

/** Returns a charge's message (CATALOGUE-7). */
export function presentCharge(charge: Charge): MessageInitShape<typeof ChargeSchema> {
  return {
    id: charge.id,
    object: "charge",
    code: charge.code,
    name: charge.name,
    ...optional("description", charge.description),
    currency: charge.currency,
    price: formatDecimal(charge.price),
    allowsPriceOverride: charge.allowsPriceOverride,
    status: catalogueStatuses[charge.status],
    created: charge.createdAt.toISOString(),
  };
}

/** Returns a subscription's message, with its computed `renewal_value` (OBJECT-12). */
export function presentSubscription(
  subscription: Subscription,
  plan: Plan,
): MessageInitShape<typeof SubscriptionSchema> {
  return {
    id: subscription.id,
    object: "subscription",
    customer: subscription.customerId,
    customerCode: subscription.customerCode,
    plan: subscription.planId,
    status: subscriptionStatuses[subscription.status],
    currency: subscription.currency,
    interval: subscription.interval,
    timezone: subscription.timezone,
    startDate: subscription.startDate,
    renewalDate: subscription.renewalDate,
    ...optional("endDate", subscription.endDate),
    units: subscription.units,
    minimumUnits: subscription.minimumUnits,
    discountPercent: formatDecimal(subscription.discountPercent),
    cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
    ...optional("endAfterCycles", subscription.endAfterCycles),
    label: subscription.label,
    invoiceReference: subscription.invoiceReference,
    renewalValue: formatDecimal(renewalValue(subscription, plan)),
    created: subscription.createdAt.toISOString(),
  };
}

/**
 * Returns an invoice's message, with its lines (OBJECT-9, OBJECT-10). An undefined member is unset.
 * It costs less than a spread, of which a list would have hundreds.
 */
export function presentInvoice(invoice: Invoice): MessageInitShape<typeof InvoiceSchema> {
  return {
    id: invoice.id,
    object: "invoice",
    number: invoice.number,
    reference: invoice.reference ?? undefined,
    type: invoiceTypes[invoice.type],
    customer: invoice.customerId,
    subscription: invoice.subscriptionId,
    status: documentStatuses[invoice.status],
    currency: invoice.currency,
    subtotal: formatDecimal(invoice.subtotal),
    total: formatDecimal(invoice.total),
    amountDue: formatDecimal(invoice.amountDue),
    issueDate: invoice.issueDate,
    dueDate: invoice.dueDate ?? undefined,
    period: invoice.period ?? undefined,
    sent: invoice.sent,
    lines: invoice.lines.map(presentLine),
    ledger: {
      syncStatus: syncStatuses[invoice.ledger.syncStatus],
      invoiceId: invoice.ledger.invoiceId ?? undefined,
      syncError: invoice.ledger.syncError ?? undefined,
    },
    created: invoice.createdAt.toISOString(),
  };
}

function presentLine(line: InvoiceLine): MessageInitShape<typeof InvoiceLineSchema> {
  return {
    id: line.id,
    kind: lineKinds[line.kind],
    name: line.name,
    description: line.description,
    units: line.units ?? undefined,
    quantity: line.quantity === null ? undefined : formatDecimal(line.quantity),
    unitPrice: line.unitPrice === null ? undefined : formatDecimal(line.unitPrice),
    amount: formatDecimal(line.amount),
    period: line.period ?? undefined,
    proration: line.proration ?? undefined,
  };
}

/** Returns a credit note's message, with its computed `allocation_status` (OBJECT-11). */
export function presentCreditNote(note: CreditNote): MessageInitShape<typeof CreditNoteSchema> {
  return {
    id: note.id,
    object: "credit_note",
    customer: note.customerId,
    subscription: note.subscriptionId,
    number: note.number,
    ...optional("reference", note.reference),
    status: documentStatuses[note.status],
    currency: note.currency,
    creditNoteDate: note.notedAt.toISOString(),
    subtotal: formatDecimal(note.subtotal),
    total: formatDecimal(note.total),
    remainingCredit: formatDecimal(note.remainingCredit),
    allocationStatus: allocationStatuses[allocationStatus(note)],
    sent: note.sent,
    ledger: {
      syncStatus: syncStatuses[note.ledger.syncStatus],
      ...optional("creditNoteId", note.ledger.invoiceId),
      ...optional("syncError", note.ledger.syncError),
    },
    lines: note.lines.map((line) => ({
      id: line.id,
      name: line.name,
      description: line.description,
      amount: formatDecimal(line.amount),
      effectiveDate: line.effectiveAt.toISOString(),
    })),
    allocations: note.allocations.map((allocation) => ({
      id: allocation.id,
      invoice: allocation.invoiceId,
      amount: formatDecimal(allocation.amount),
      date: allocation.appliedAt.toISOString(),
      status: allocationStates[allocation.status],
      ledgerSyncStatus: syncStatuses[allocation.syncStatus],
    })),
    created: note.createdAt.toISOString(),
  };
}

/** Returns an amount with four places; null stays null. */
export function amount(value: Decimal | null): string | null {
  return value === null ? null : formatDecimal(value);
}

/** Returns the member if it has a value. An unset field is `null` on the wire. */
export function optional<Name extends string, Value>(
  name: Name,
  value: Value | null,
): { [N in Name]?: Value } {
  return (value === null ? {} : { [name]: value }) as { [N in Name]?: Value };
}
