/** Binds every service of the public contract to its implementation. */
import { ChargeService, PlanService } from "../gen/proto/billing/v1/catalogue_pb.ts";
import { CreditNoteService } from "../gen/proto/billing/v1/credit_notes_pb.ts";
import { CustomerService } from "../gen/proto/billing/v1/customers_pb.ts";
import { EventService } from "../gen/proto/billing/v1/events_pb.ts";
import { InvoiceService } from "../gen/proto/billing/v1/invoices_pb.ts";
import { OrganisationService } from "../gen/proto/billing/v1/organisation_pb.ts";
import { SubscriptionService } from "../gen/proto/billing/v1/subscriptions_pb.ts";
import { UsageService } from "../gen/proto/billing/v1/usage_pb.ts";
import { bind, type ServiceBinding } from "../transport/rpc/implementation.ts";
import { chargeService, planService } from "./catalogue.ts";
import { customerService } from "./customers/index.ts";
import type { Deps } from "./deps.ts";
import { creditNoteService, invoiceService } from "./documents.ts";
import { eventService } from "./events.ts";
import { organisationService } from "./organisation.ts";
import { subscriptionService } from "./subscriptions/index.ts";
import { usageService } from "./usage.ts";

/** Returns the bindings: those of the specification's summary in its order, then additions. */
export function services(deps: Deps): readonly ServiceBinding[] {
  return [
    bind(OrganisationService, organisationService(deps)),
    bind(CustomerService, customerService(deps)),
    bind(PlanService, planService(deps)),
    bind(ChargeService, chargeService(deps)),
    bind(SubscriptionService, subscriptionService(deps)),
    bind(InvoiceService, invoiceService(deps)),
    bind(CreditNoteService, creditNoteService(deps)),
    bind(UsageService, usageService(deps)),
    bind(EventService, eventService(deps)),
  ];
}
