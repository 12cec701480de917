/**
 * Imports contacts of the ledger as customers: some, or all, one page a call. Each contact is
 * validated separately. CUSTOMER-1
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { customerCodeOf } from "../../../domain/customers/customer.ts";
import { Refusal } from "../../../domain/refusal.ts";
import {
  type ContactToImport,
  type CustomerService,
  type ImportResultSchema,
  ImportStatus,
} from "../../../gen/proto/billing/admin/v1/customers_pb.ts";
import type { LedgerContact } from "../../../ledger/port/ledger.ts";
import { presentCustomer } from "../../../present/objects.ts";
import type { CustomerToImport } from "../../../store/admin/customers.ts";
import type { AdminOrganisation } from "../../../store/admin/organisations/organisations.ts";
import { newId } from "../../../store/database/ids.ts";
import {
  type AdminCall,
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  nowOf,
  requireOrganisation,
} from "../dependencies.ts";
import { askLedger, refusalOf, tryLedger } from "../ledger/ledger-answers.ts";

type Methods = AdminImplementation<typeof CustomerService>;

/** The outcome of one contact. */
type ImportResult = MessageInitShape<typeof ImportResultSchema>;

/**
 * Implements the method. Refuses `organisation_not_found`, `ledger_not_connected`,
 * `ledger_refused`, `ledger_unavailable`. Refuses `invalid_parameter` if a contact is listed twice.
 */
export function importCustomers(deps: AdminDependencies): Methods["importCustomers"] {
  return async ({ organisation, contacts }, call) => {
    requireDistinct(contacts);
    const owner = await requireOrganisation(deps, organisation);
    const results: ImportResult[] = [];
    // One after the other: the ledger takes few concurrent calls. A repeat continues where an
    // interrupted call stopped.
    for (const contact of contacts) results.push(await importOne(deps, call, owner, contact));
    return countOf(results);
  };
}

function countOf(results: ImportResult[]) {
  const count = (status: ImportStatus) =>
    results.filter((result) => result.status === status).length;
  return {
    results,
    imported: count(ImportStatus.IMPORTED),
    alreadyImported: count(ImportStatus.ALREADY_IMPORTED),
    rejected: count(ImportStatus.REJECTED),
  };
}

function requireDistinct(contacts: readonly ContactToImport[]): void {
  const listed = new Set<string>();
  for (const [index, { ledgerContactId }] of contacts.entries()) {
    if (listed.has(ledgerContactId)) {
      const param = `contacts.${index}.ledger_contact_id`;
      throw new Refusal("invalid_parameter", `${param} must not occur twice`, param);
    }
    listed.add(ledgerContactId);
  }
}

async function importOne(
  deps: AdminDependencies,
  call: AdminCall,
  organisation: AdminOrganisation,
  wanted: ContactToImport,
): Promise<ImportResult> {
  const { id: organisationId } = organisation;
  const { ledgerContactId } = wanted;
  const already = await findImported(deps, organisationId, ledgerContactId);
  if (already !== null) return already;
  const answer = await tryLedger(deps, organisationId, (ledger, options) =>
    ledger.getContact(options, ledgerContactId),
  );
  if (
    answer.kind === "refused" &&
    (answer.reason === "not_found" || answer.reason === "validation")
  ) {
    return rejected(
      ledgerContactId,
      "contact_not_found",
      "The ledger has no contact with this id.",
    );
  }
  if (answer.kind !== "ok") throw refusalOf(answer);
  const customer = decide(answer.value, wanted, nowOf(organisation));
  if (!("id" in customer)) return customer;
  const { customers } = deps.store;
  const created = await customers.importMany(actorOf(call), organisationId, [customer]);
  if (created.has(customer)) return imported(customer);
  // Another call may have imported the contact meanwhile. Otherwise another customer has its code.
  return (await findImported(deps, organisationId, ledgerContactId)) ?? codeTaken(customer);
}

async function findImported(
  { store }: AdminDependencies,
  organisationId: string,
  ledgerContactId: string,
): Promise<ImportResult | null> {
  const found = (await store.customers.findByContacts(organisationId, [ledgerContactId])).get(
    ledgerContactId,
  );
  if (found === undefined) return null;
  return {
    ledgerContactId,
    status: ImportStatus.ALREADY_IMPORTED,
    customer: presentCustomer(found),
  };
}

/** Members of a customer that the request may override. The others come from the contact. */
type Wanted = Pick<ContactToImport, "ledgerContactId"> &
  Partial<Omit<ContactToImport, "ledgerContactId">>;

/** The customer to create from a contact, or the reason why it cannot be imported. */
function decide(
  contact: LedgerContact,
  wanted: Wanted,
  now: Date,
): CustomerToImport | ImportResult {
  const { ledgerContactId } = wanted;
  if (contact.status !== "active") {
    return rejected(
      ledgerContactId,
      "contact_inactive",
      `The contact is ${contact.status} in the ledger.`,
    );
  }
  const email = wanted.email ?? contact.email;
  if (!email)
    return rejected(
      ledgerContactId,
      "email_missing",
      "The contact has no e-mail address, so the request must have one.",
    );
  const id = newId();
  return {
    id,
    code: wanted.code ?? contact.code ?? customerCodeOf(id),
    name: contact.name,
    companyName: wanted.companyName ?? null,
    firstName: contact.firstName,
    lastName: contact.lastName,
    email,
    status: "active",
    ledgerContactId: contact.id,
    createdAt: now,
  };
}

/** The result of a contact that is now a customer. */
function imported(customer: CustomerToImport): ImportResult {
  const { ledgerContactId } = customer;
  return { ledgerContactId, status: ImportStatus.IMPORTED, customer: presentCustomer(customer) };
}

/** The result of a contact whose code belongs to another customer. */
function codeTaken({ ledgerContactId, code }: CustomerToImport): ImportResult {
  return rejected(ledgerContactId, "customer_code_taken", `Another customer has the code ${code}.`);
}

/** Whether a contact's name, code or e-mail address contains the text, without regard to case. */
export function isFound({ name, code, email }: LedgerContact, search: string | undefined): boolean {
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  return [name, code, email].some((text) => text?.toLowerCase().includes(wanted) ?? false);
}

function rejected(ledgerContactId: string, code: string, message: string): ImportResult {
  return { ledgerContactId, status: ImportStatus.REJECTED, error: { code, message } };
}

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
export function importAllContacts(deps: AdminDependencies): Methods["importAllContacts"] {
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
    const count = countOf(results);
    return {
      ...count,
      alreadyImported: wanted.length - skipped - count.imported - count.rejected,
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
