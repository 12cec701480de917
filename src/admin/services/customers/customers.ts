/**
 * CustomerService of the admin API: lists the ledger's contacts, imports them, and activates or
 * deactivates customers. CUSTOMER-1
 */
import type {
  CustomerService,
  ListLedgerContactsRequest,
} from "../../../gen/proto/billing/admin/v1/customers_pb.ts";
import type { LedgerContact } from "../../../ledger/port/ledger.ts";
import { customerStatuses, wordOf } from "../../../present/enums.ts";
import { presentCustomer } from "../../../present/objects.ts";
import { contactStatuses } from "../../present/enums.ts";
import { membersOf } from "../../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  pageOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";
import { askLedger } from "../ledger/ledger-answers.ts";
import { importAllContacts, importCustomers, isFound } from "./import-customers.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `customer_not_found`,
 * `ledger_not_connected`, `ledger_refused`, `ledger_unavailable`, `invalid_state`.
 */
export function customerService(
  deps: AdminDependencies,
): AdminImplementation<typeof CustomerService> {
  const { customers } = deps.store;
  return {
    listLedgerContacts: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const query = {
        kind: "contacts",
        ...(request.cursor === undefined ? {} : { cursor: request.cursor }),
      } as const;
      const page = await askLedger(deps, id, (ledger, call) => ledger.listChanges(call, query));
      const known = await customers.findByContacts(
        id,
        page.changes.map((contact) => contact.id),
      );
      const data = page.changes.filter((contact) =>
        isWanted(contact, known.has(contact.id), request),
      );
      return {
        data: data.map((contact) => ({
          ...membersOf(contact),
          status: contactStatuses[contact.status],
          customer: known.get(contact.id)?.id,
        })),
        hasMore: page.cursor !== null,
        nextCursor: page.cursor ?? undefined,
      };
    },
    importCustomers: importCustomers(deps),
    importAllContacts: importAllContacts(deps),
    listCustomers: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const filters = {
        code: request.code ?? null,
        email: request.email ?? null,
        status: wordOf(customerStatuses, request.status),
        search: request.search ?? null,
      };
      const { data, hasMore } = await customers.list(id, filters, pageOf(request));
      return { data: data.map(presentCustomer), hasMore };
    },
    getCustomer: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      return {
        customer: presentCustomer(
          required(await customers.get(owner.id, id), "customer_not_found"),
        ),
      };
    },
    deactivateCustomer: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const customer = await customers.setStatus(actorOf(call), owner.id, id, "inactive");
      return { customer: presentCustomer(required(customer, "customer_not_found")) };
    },
    activateCustomer: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const customer = await customers.setStatus(actorOf(call), owner.id, id, "active");
      return { customer: presentCustomer(required(customer, "customer_not_found")) };
    },
    eraseCustomer: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const customer = await customers.erase(actorOf(call), owner.id, id);
      return { customer: presentCustomer(required(customer, "customer_not_found")) };
    },
  };
}

function isWanted(
  contact: LedgerContact,
  isCustomer: boolean,
  { search, importable }: Pick<ListLedgerContactsRequest, "search" | "importable">,
): boolean {
  if (importable && (isCustomer || contact.status !== "active")) return false;
  return isFound(contact, search);
}
