/** The kinds of object that a tenant lists and looks up. */

import { catalogueFilters, chargeListing, planListing } from "./catalogue/catalogue.ts";
import { customerFilters, customerListing } from "./customers/customers.ts";
import { isId } from "./database/ids.ts";
import {
  type Filter,
  getOne,
  type Listing,
  listPage,
  type Page,
  type PageRequest,
} from "./database/page.ts";
import type { Pool } from "./database/pool.ts";
import type { Shape } from "./database/sql/columns.ts";
import { creditNoteListing } from "./documents/credit-notes.ts";
import { documentFilters, invoiceListing } from "./documents/invoices.ts";
import { subscriptionFilters, subscriptionListing } from "./subscriptions/subscriptions.ts";

/**
 * A kind of object that can be listed, newest first, and looked up. Null for an id that does not
 * exist or belongs to another organisation.
 */
export interface Collection<T, Filters> {
  list(filters: Filters, page: PageRequest): Promise<Page<T>>;
  get(id: string): Promise<T | null>;
}

/** Opens an organisation's objects of one kind. */
type OpenCollection<T, Filters> = (organisationId: string) => Collection<T, Filters>;

/** Creates the collections over a pool. */
export function createCollections(pool: Pool) {
  const collect = <S extends Shape, T, Filters>(
    listing: Listing<S, T>,
    toFilters: (filters: Filters) => readonly Filter[],
  ): OpenCollection<T, Filters> => {
    return (organisationId) => ({
      list: (filters, page) => listPage(pool, organisationId, listing, toFilters(filters), page),
      // An id that is no UUID identifies no object. REQUEST-12.
      get: async (id) => (isId(id) ? getOne(pool, organisationId, listing, id) : null),
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
