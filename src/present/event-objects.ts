/** Renders an object in an event with the same bytes as its retrieval (EVENT-3). */

import { CreditNoteSchema } from "../gen/proto/billing/v1/credit_notes_pb.ts";
import { CustomerSchema } from "../gen/proto/billing/v1/customers_pb.ts";
import { InvoiceSchema } from "../gen/proto/billing/v1/invoices_pb.ts";
import { SubscriptionSchema } from "../gen/proto/billing/v1/subscriptions_pb.ts";
import type { ShownObject } from "../store/events/shown-objects.ts";
import { compileWriter } from "../transport/rest/write-json.ts";
import {
  presentCreditNote,
  presentCustomer,
  presentInvoice,
  presentSubscription,
} from "./objects.ts";

const writeCustomer = compileWriter(CustomerSchema);
const writeSubscription = compileWriter(SubscriptionSchema);
const writeInvoice = compileWriter(InvoiceSchema);
const writeCreditNote = compileWriter(CreditNoteSchema);

/** Returns the object's JSON, as `GET /v1/…/{id}` answers it. */
export function writeObject(object: ShownObject): string {
  switch (object.kind) {
    case "customer":
      return writeCustomer(presentCustomer(object.shown));
    case "subscription":
      return writeSubscription(presentSubscription(object.shown.subscription, object.shown.plan));
    case "invoice":
      return writeInvoice(presentInvoice(object.shown));
    case "credit_note":
      return writeCreditNote(presentCreditNote(object.shown));
  }
}
