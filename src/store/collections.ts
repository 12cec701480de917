/** The kinds of object that a tenant lists and looks up. */

import { catalogueFilters, chargeListing, planListing } from "./catalogue/catalogue.ts";
import { customerFilters, customerListing } from "./customers/customers.ts";
import { type EventLoopPace, pacedReads } from "./database/event-loop-pace.ts";
import { isId } from "./database/ids.ts";
import { joinGets } from "./database/joined-gets.ts";
import {
  type Filter,
  type Listing,
  listPage,
  type Page,
  type PageRequest,
} from "./database/page.ts";
import type { AnyRow, Pool } from "./database/pool.ts";
import { creditNoteListing } from "./documents/credit-notes.ts";
import { documentFilters, invoiceListing } from "./documents/invoices.ts";
import { subscriptionFilters, subscriptionListing } from "./subscriptions/subscriptions.ts";

/**
 * A kind of object that can be listed, newest first, and looked up. Null for an id that does not
 * exist or belongs to another organisation.
 */
export interface Collection<T, Filters, Listed = T> {
  list(filters: Filters, page: PageRequest): Promise<Page<Listed>>;
  get(id: string): Promise<T | null>;
}

/** Opens an organisation's objects of one kind. */
type OpenCollection<T, Filters> = (organisationId: string) => Collection<T, Filters>;

/** Creates the collections over a pool. What was read is presented at the pace of the process. */
export function createCollections(pool: Pool, pace: EventLoopPace) {
  const collect = <Row extends AnyRow & { readonly id: string }, T, Filters>(
    listing: Listing<Row, T>,
    toFilters: (filters: Filters) => readonly Filter[],
  ): OpenCollection<T, Filters> => {
    const getRow = joinGets(pool, listing);
    return (organisationId) => ({
      list: (filters, page) => {
        const reads = pacedReads(pool, pace, organisationId);
        return listPage(reads, organisationId, listing, toFilters(filters), page);
      },
      get: async (id) => {
        // An id that is no UUID identifies no object. REQUEST-12.
        if (!isId(id)) return null;
        const row = await getRow(organisationId, id);
        await pace.next(organisationId);
        return row === null ? null : listing.read(row);
      },
    });
  };
  return {
    customers: collect(customerListing, customerFilters),
    plans: collect(planListing, catalogueFilters),
    charges: collect(chargeListing, catalogueFilters),
    subscriptions: collect(subscriptionListing, subscriptionFilters),
    invoices: collect(invoiceListing, documentFilters),
    creditNotes: collect(creditNoteListing, documentFilters),
  };
}
