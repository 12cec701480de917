/**
 * The books of both sides: what is open here, and the lines of the receivable account in Tryton,
 * which is somebody else's double entry.
 */
import { expect } from "vitest";
import { rpcAt } from "../../../packages/dev/src/tryton/company.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { tables } from "../../support/rows.ts";
import type { TestSystem } from "../../support/system.ts";

/** What is open, in cents: of each document by its number, and of each customer by its contact. */
interface OpenAmounts {
  readonly documents: ReadonlyMap<string, bigint>;
  readonly customers: ReadonlyMap<string, bigint>;
}

/**
 * Asserts that the books are equal to the cent, document by document and over all lines of a
 * customer. Returns what is open of each document.
 */
export async function expectEqualBooks(
  system: TestSystem,
  access: TrytonAccess,
  organisationId: string,
  when = "in the end",
): Promise<ReadonlyMap<string, bigint>> {
  const ours = await ourOpenAmounts(system, organisationId);
  expect(ours, when).toEqual(await openInTryton(access));
  return ours.documents;
}

/** What is open of invoices, and what credit notes have left, which is below zero. */
async function ourOpenAmounts(system: TestSystem, organisationId: string): Promise<OpenAmounts> {
  const { invoice, creditNote, customer } = tables(system.pool);
  const where = { organisationId, status: "approved" } as const;
  const invoices = await invoice.findMany({ where });
  const notes = await creditNote.findMany({ where });
  const contacts = await customer.findMany({ where: { organisationId } });
  const contactOf = new Map(contacts.map(({ id, ledgerContactId }) => [id, ledgerContactId]));
  return openAmounts(
    [
      ...invoices.map(({ amountDue, ...one }) => ({ ...one, open: cents(amountDue.toFixed(2)) })),
      ...notes.map((one) => ({ ...one, open: -cents(one.remainingCredit.toFixed(2)) })),
    ].map(({ number, customerId, open }) => ({
      document: number,
      customer: contactOf.get(customerId) ?? "",
      open,
    })),
  );
}

/** An amount of Tryton. */
export interface Decimal {
  readonly decimal: string;
}

/** The context of calls as the administrator of the company. */
export const rpcContext = { company: 1, companies: [1], _skip_warnings: true };

type Row = Readonly<Record<string, unknown>>;

/** Rows of Tryton as a person sees them, by id. */
export async function readTryton(
  { databaseUrl, password }: TrytonAccess,
  model: string,
  domain: readonly unknown[],
  fields: readonly string[],
): Promise<readonly Row[]> {
  const rows = await rpcAt(databaseUrl, password)(
    `model.${model}.search_read`,
    ...[domain, 0, null, [["id", "ASC"]], fields, rpcContext],
  );
  return rows as readonly Row[];
}

/**
 * What is open by the lines of posted moves. A reconciliation comes to zero, so that its lines are
 * left out of a document. A line is of the document that it pays, else of the move's own.
 */
async function openInTryton(access: TrytonAccess): Promise<OpenAmounts> {
  const posted = [
    ["account.type.receivable", "=", true],
    ["move.state", "=", "posted"],
  ];
  const fields = ["party", "debit", "credit", "reconciliation", "invoice_payment", "move.origin"];
  const lines = await readTryton(access, "account.move.line", posted, fields);
  const documents = await readTryton(access, "account.invoice", [], ["reference"]);
  const numbers = new Map(documents.map(({ id, reference }) => [String(id), String(reference)]));
  const all = lines.map((line) => {
    const origin = (line["move."] as Row).origin as string | null;
    const id = String(line.invoice_payment ?? origin?.replace("account.invoice,", ""));
    return {
      document: numbers.get(id) ?? `line ${line.id}`,
      customer: String(line.party),
      open: cents((line.debit as Decimal).decimal) - cents((line.credit as Decimal).decimal),
      isReconciled: line.reconciliation !== null,
    };
  });
  return {
    documents: openAmounts(all.filter(({ isReconciled }) => !isReconciled)).documents,
    customers: openAmounts(all).customers,
  };
}

function cents(amount: string): bigint {
  return BigInt(Number(amount).toFixed(2).replace(".", ""));
}

function openAmounts(
  parts: readonly {
    readonly document: string;
    readonly customer: string;
    readonly open: bigint;
  }[],
): OpenAmounts {
  const sumsBy = (key: "document" | "customer") => {
    const sums = new Map<string, bigint>();
    for (const part of parts) sums.set(part[key], (sums.get(part[key]) ?? 0n) + part.open);
    return new Map([...sums].filter(([, sum]) => sum !== 0n).toSorted());
  };
  return { documents: sumsBy("document"), customers: sumsBy("customer") };
}
