/** Binds every service of the public contract to its implementation. */
import { ChargeService, PlanService } from "../gen/proto/billing/v1/catalogue_pb.ts";
import { CreditNoteService } from "../gen/proto/billing/v1/credit_notes_pb.ts";
import { CustomerService } from "../gen/proto/billing/v1/customers_pb.ts";
import { InvoiceService } from "../gen/proto/billing/v1/invoices_pb.ts";
import { OrganisationService } from "../gen/proto/billing/v1/organisation_pb.ts";
import { SubscriptionService } from "../gen/proto/billing/v1/subscriptions_pb.ts";
import { UsageService } from "../gen/proto/billing/v1/usage_pb.ts";
import { bind, type ServiceBinding } from "../transport/rpc/implementation.ts";
import { chargeService, planService } from "./catalogue.ts";
import { customerService } from "./customers/index.ts";
import { creditNoteService, invoiceService } from "./documents.ts";
import { organisationService } from "./organisation.ts";
import type { ServiceParts } from "./parts.ts";
import { subscriptionService } from "./subscriptions/index.ts";
import { usageService } from "./usage.ts";

/** Returns the bindings, in the order of the specification's summary. */
export function services(parts: ServiceParts): readonly ServiceBinding[] {
  return [
    bind(OrganisationService, organisationService(parts)),
    bind(CustomerService, customerService(parts)),
    bind(PlanService, planService(parts)),
    bind(ChargeService, chargeService(parts)),
    bind(SubscriptionService, subscriptionService(parts)),
    bind(InvoiceService, invoiceService(parts)),
    bind(CreditNoteService, creditNoteService(parts)),
    bind(UsageService, usageService(parts)),
  ];
}
