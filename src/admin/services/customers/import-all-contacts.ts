/**
 * Imports all contacts of the ledger as customers, one page a call. Each contact is validated
 * separately. CUSTOMER-1
 */
import {
  type CustomerService,
  ImportStatus,
} from "../../../gen/proto/billing/admin/v1/customers_pb.ts";
import type { LedgerContact } from "../../../ledger/port/ledger.ts";
import type { CustomerToImport } from "../../../store/admin/customers.ts";
import type { AdminOrganisation } from "../../../store/admin/organisations/organisations.ts";
import type { OperatorCaller } from "../../../transport/rpc/caller.ts";
import type { MethodImplementation } from "../../../transport/rpc/implementation.ts";
import {
  type AdminCall,
  type AdminDependencies,
  actorOf,
  nowOf,
  requireOrganisation,
} from "../dependencies.ts";
import { askLedger } from "../ledger/ledger-answers.ts";
import { codeTaken, decide, type ImportResult, imported, isFound } from "./import-customers.ts";

type Method = MethodImplementation<typeof CustomerService.method.importAllContacts, OperatorCaller>;

/**
 * The most customers in one transaction. A page of a thousand would hold its row locks for too
 * long.
 */
const maxAtOnce = 100;

/**
 * Whether the contact is only a supplier. A new contact is neither supplier nor customer and may
 * become a customer.
 */
export function isOnlySupplier({
  isCustomer,
  isSupplier,
}: Pick<LedgerContact, "isCustomer" | "isSupplier">): boolean {
  return isSupplier && !isCustomer;
}

/**
 * Implements the method. Refuses `organisation_not_found`, `ledger_not_connected`,
 * `ledger_refused`, `ledger_unavailable`.
 */
export function importAllContacts(deps: AdminDependencies): Method {
  return async ({ organisation, cursor, search, includeSuppliers }, call) => {
    const owner = await requireOrganisation(deps, organisation);
    const query = { kind: "contacts", ...(cursor === undefined ? {} : { cursor }) } as const;
    const page = await askLedger(deps, owner.id, (ledger, options) =>
      ledger.listChanges({ ...options, isBackground: true }, query),
    );
    const wanted = distinct(page.changes).filter((contact) => isFound(contact, search));
    const known = await deps.store.customers.findByContacts(
      owner.id,
      wanted.map(({ id }) => id),
    );
    const results: ImportResult[] = [];
    const unknown = wanted.filter(({ id }) => !known.has(id));
    const fresh = unknown.filter((contact) => includeSuppliers || !isOnlySupplier(contact));
    const skipped = unknown.length - fresh.length;
    for (let from = 0; from < fresh.length; from += maxAtOnce) {
      results.push(...(await importSome(deps, call, owner, fresh.slice(from, from + maxAtOnce))));
    }
    const count = (status: ImportStatus) =>
      results.filter((result) => result.status === status).length;
    const [importedCount, rejectedCount] = [
      count(ImportStatus.IMPORTED),
      count(ImportStatus.REJECTED),
    ];
    return {
      results,
      imported: importedCount,
      alreadyImported: wanted.length - skipped - importedCount - rejectedCount,
      rejected: rejectedCount,
      skippedSuppliers: skipped,
      hasMore: page.cursor !== null,
      nextCursor: page.cursor ?? undefined,
    };
  };
}

/** A contact that changed while the page was read may be on it twice. */
function distinct(contacts: readonly LedgerContact[]): readonly LedgerContact[] {
  return [...new Map(contacts.map((contact) => [contact.id, contact])).values()];
}

async function importSome(
  deps: AdminDependencies,
  call: AdminCall,
  organisation: AdminOrganisation,
  contacts: readonly LedgerContact[],
): Promise<readonly ImportResult[]> {
  const now = nowOf(organisation);
  const decided = contacts.map((contact) => decide(contact, { ledgerContactId: contact.id }, now));
  const customers = decided.filter((one): one is CustomerToImport => "id" in one);
  const { store } = deps;
  const created = await store.customers.importMany(actorOf(call), organisation.id, customers);
  const left = customers
    .filter((customer) => !created.has(customer))
    .map(({ ledgerContactId }) => ledgerContactId);
  // Another call may have imported the contact meanwhile. Otherwise another customer has its code.
  const known = await store.customers.findByContacts(organisation.id, left);
  return decided.flatMap((one) => {
    if (!("id" in one)) return [one];
    if (created.has(one)) return [imported(one)];
    return known.has(one.ledgerContactId) ? [] : [codeTaken(one)];
  });
}
