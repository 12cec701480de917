/**
 * Reads and lists customers as rows, and saves a new customer together with the ledger job that
 * creates its contact. That save is SQL: one statement, and the server's clock says when the job is
 * due.
 */
import type { Customer } from "../../domain/customers/customer.ts";
import { columns } from "../../gen/columns.ts";
import { columnSet } from "../database/column-set.ts";
import { isDatabaseError, uniqueViolation } from "../database/errors.ts";
import { newId } from "../database/ids.ts";
import { type Filter, filter, listing } from "../database/page.ts";
import { type Pool, tracing } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { omit, pick } from "../database/sql/columns.ts";
import { columnsOf, namesOf, sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";

/** A row of `customers`. */
export const customerRow = {
  ...pick(
    columns.customer,
    "id",
    "code",
    "name",
    "companyName",
    "firstName",
    "lastName",
    "email",
    "ledgerContactId",
    "createdAt",
  ),
  status: columns.customer.status.as<Customer["status"]>(),
};

/** The columns of `customerRow`. */
export const customerColumns = columnsOf(sql`t`, customerRow);

/** The condition that a customer's contact exists in the ledger. CUSTOMER-1, CUSTOMER-3. */
export const isShown = sql`t.ledger_contact_id IS NOT NULL`;

/**
 * The filters of the list. A null filter is not applied. `email` is compared without regard to
 * case.
 */
export interface CustomerFilters {
  readonly code: string | null;
  readonly email: string | null;
  readonly status: Customer["status"] | null;
}

/** Converts the filters to SQL conditions. */
export function customerFilters({ code, email, status }: CustomerFilters): readonly Filter[] {
  return [
    ...filter(sql`t.code = ?`, code),
    ...filter(sql`lower(t.email) = lower(?)`, email),
    ...filter(sql`t.status = ?`, status),
  ];
}

/** Lists customers that are shown. */
export const customerListing = listing(
  "customers",
  {
    table: sql`customers`,
    columns: customerColumns,
    row: customerRow,
    shown: isShown,
    read: (row): Customer => row,
  },
  customerFilters({ code: "", email: "", status: "active" }),
);

/** A customer to write, and whether its contact is created or imported. */
export interface CustomerToSave {
  readonly customer: Customer;
  readonly requestHash: Uint8Array;
  readonly awaitedUntil: Date;
}

/**
 * `saved`: written and not listed yet, with the ledger job that gets its contact. `exists`: this
 * identity was used before. `code_taken`: another customer has the code.
 */
export type CustomerSave =
  | { readonly kind: "saved"; readonly jobId: string }
  | { readonly kind: "exists" }
  | { readonly kind: "code_taken" };

const newColumns = {
  ...omit(customerRow, "ledgerContactId"),
  ...pick(columns.customer, "requestHash"),
};
const newSet = columnSet(newColumns, 6);

const save = command({
  name: "save_customer",
  text: sql`
    WITH
      customer AS (
        INSERT INTO customers (organisation_id, ${namesOf(newColumns)})
        SELECT $1, ${columnsOf(sql`r`, newColumns)}
        FROM ${newSet.source(sql`r`)}
        RETURNING id
      )
    INSERT INTO ledger_jobs
      (id, organisation_id, kind, state, customer_id, contact_id, awaited_until)
    SELECT $2, $1, $3, 'ready', id, $4, $5 FROM customer
  `,
});

/**
 * Writes a new customer without a contact and its ledger job, in one statement. CUSTOMER-3,
 * CUSTOMER-4.
 */
export async function saveCustomer(
  pool: Pool,
  organisationId: string,
  { customer, requestHash, awaitedUntil }: CustomerToSave,
): Promise<CustomerSave> {
  const jobId = newId();
  const wanted = customer.ledgerContactId;
  try {
    const job = [jobId, wanted === null ? "create_contact" : "import_contact", wanted];
    const row = newSet.arrays([{ ...customer, requestHash }]);
    await save(tracing(pool), organisationId, ...job, awaitedUntil, ...row);
  } catch (error) {
    if (isDatabaseError(error, uniqueViolation, "customers_pkey")) return { kind: "exists" };
    if (isDatabaseError(error, uniqueViolation, "customers_organisation_id_code_key"))
      return { kind: "code_taken" };
    throw error;
  }
  return { kind: "saved", jobId };
}

/**
 * Returns which request created the customer with this id, listed or not, and the ledger job that
 * gets its contact. Null if there is none.
 */
export async function findCustomerCreation(pool: Pool, organisationId: string, id: string) {
  const customer = await db(pool).customer.findFirst({
    where: { organisationId, id },
    select: { requestHash: true },
  });
  if (customer === null) return null;
  const kind = { in: ["create_contact", "import_contact"] };
  const job = await db(pool).ledgerJob.findFirst({
    where: { organisationId, customerId: id, kind },
    orderBy: { seq: "desc" },
    select: { id: true },
  });
  return { requestHash: customer.requestHash, jobId: job?.id ?? null };
}

/** Returns those of these ledger contacts that are customers of the organisation already. */
export async function findImported(
  pool: Pool,
  organisationId: string,
  contactIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const customers = await db(pool).customer.findMany({
    where: { organisationId, ledgerContactId: { in: [...contactIds] } },
    select: { ledgerContactId: true },
  });
  return new Set(customers.flatMap(({ ledgerContactId: id }) => (id === null ? [] : [id])));
}
