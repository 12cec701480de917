/** Imports contacts of the ledger as customers. Each contact is validated separately. CUSTOMER-1 */
import { customerCodeOf } from "../../../domain/customers/customer.ts";
import { Refusal } from "../../../domain/refusal.ts";
import {
  type ContactToImport,
  type CustomerService,
  ImportStatus,
} from "../../../gen/proto/billing/admin/v1/customers_pb.ts";
import type { LedgerContact } from "../../../ledger/port/ledger.ts";
import { presentCustomer } from "../../../present/objects.ts";
import type { CustomerToImport } from "../../../store/admin/customers.ts";
import type { AdminOrganisation } from "../../../store/admin/organisations/organisations.ts";
import { newId } from "../../../store/database/ids.ts";
import type { OperatorCaller } from "../../../transport/rpc/caller.ts";
import type { MethodImplementation } from "../../../transport/rpc/implementation.ts";
import {
  type AdminCall,
  type AdminDependencies,
  actorOf,
  nowOf,
  requireOrganisation,
} from "../dependencies.ts";
import { refusalOf, tryLedger } from "../ledger/ledger-answers.ts";

type Method = MethodImplementation<typeof CustomerService.method.importCustomers, OperatorCaller>;
/** The outcome of one contact. */
export type ImportResult = NonNullable<Awaited<ReturnType<Method>>["results"]>[number];

/**
 * Implements the method. Refuses `organisation_not_found`, `ledger_not_connected`,
 * `ledger_refused`, `ledger_unavailable`. Refuses `invalid_parameter` if a contact is listed twice.
 */
export function importCustomers(deps: AdminDependencies): Method {
  return async ({ organisation, contacts }, call) => {
    requireDistinct(contacts);
    const owner = await requireOrganisation(deps, organisation);
    const results: ImportResult[] = [];
    // One after the other: the ledger takes few concurrent calls. A repeat continues where an
    // interrupted call stopped.
    for (const contact of contacts) results.push(await importOne(deps, call, owner, contact));
    const count = (status: ImportStatus) =>
      results.filter((result) => result.status === status).length;
    return {
      results,
      imported: count(ImportStatus.IMPORTED),
      alreadyImported: count(ImportStatus.ALREADY_IMPORTED),
      rejected: count(ImportStatus.REJECTED),
    };
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
  const actor = actorOf(call);
  switch (await deps.store.customers.importOne(actor, organisationId, customer)) {
    case "imported":
      return imported(customer);
    case "exists":
      return (
        (await findImported(deps, organisationId, ledgerContactId)) ??
        rejected(
          ledgerContactId,
          "contact_not_found",
          "The contact was imported and removed meanwhile.",
        )
      );
    case "code_taken":
      return codeTaken(customer);
  }
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
export function decide(
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
export function imported(customer: CustomerToImport): ImportResult {
  const { ledgerContactId } = customer;
  return { ledgerContactId, status: ImportStatus.IMPORTED, customer: presentCustomer(customer) };
}

/** The result of a contact whose code belongs to another customer. */
export function codeTaken({ ledgerContactId, code }: CustomerToImport): ImportResult {
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
