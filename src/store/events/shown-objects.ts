/** Loads the objects whose changes are published, and writes them as a retrieval returns them. */

import type { Customer } from "../../domain/customers/customer.ts";
import type { ObjectKind } from "../../domain/events/event.ts";
import type { CreditNote } from "../../domain/model/credit-note.ts";
import type { Invoice } from "../../domain/model/invoice.ts";
import { customerListing } from "../customers/customers.ts";
import { getThese } from "../database/page.ts";
import type { Transaction } from "../database/pool.ts";
import { creditNoteListing } from "../documents/credit-notes.ts";
import { invoiceListing } from "../documents/invoices.ts";
import { type PlannedSubscription, subscriptionListing } from "../subscriptions/subscriptions.ts";

/** An object as it is loaded for its retrieval. */
export type ShownObject =
  | { readonly kind: "customer"; readonly shown: Customer }
  | { readonly kind: "subscription"; readonly shown: PlannedSubscription }
  | { readonly kind: "invoice"; readonly shown: Invoice }
  | { readonly kind: "credit_note"; readonly shown: CreditNote };

/** Writes the JSON text of an object, as a retrieval returns it. */
export type WriteObject = (object: ShownObject) => string;

/** The key of an object. */
export interface ObjectKey {
  readonly kind: ObjectKind;
  readonly id: string;
}

/**
 * The JSON texts of the objects by id, which is unique over all kinds. An object that is no longer
 * shown has none.
 */
export async function loadTexts(
  tx: Transaction,
  organisationId: string,
  objects: readonly ObjectKey[],
  write: WriteObject,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const idsOf = (kind: ObjectKind) =>
    objects.filter((object) => object.kind === kind).map(({ id }) => id);
  const [customers, subscriptions] = [idsOf("customer"), idsOf("subscription")];
  for (const shown of await getThese(tx, organisationId, customerListing, customers)) {
    texts.set(shown.id, write({ kind: "customer", shown }));
  }
  for (const shown of await getThese(tx, organisationId, subscriptionListing, subscriptions)) {
    texts.set(shown.subscription.id, write({ kind: "subscription", shown }));
  }
  const [invoices, creditNotes] = [idsOf("invoice"), idsOf("credit_note")];
  for (const shown of await getThese(tx, organisationId, invoiceListing, invoices)) {
    texts.set(shown.id, write({ kind: "invoice", shown }));
  }
  for (const shown of await getThese(tx, organisationId, creditNoteListing, creditNotes)) {
    texts.set(shown.id, write({ kind: "credit_note", shown }));
  }
  return texts;
}
