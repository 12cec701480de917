/** The books of both sides: what is open here, and the receivable account in Tryton. */
import { rpcAt } from "../../../packages/dev/src/tryton/company.ts";
import type { TrytonAccess } from "../../../packages/dev/src/tryton/server.ts";
import { tables } from "../../support/rows.ts";
import type { TestSystem } from "../../support/system.ts";

/** What is open here, by the customer's contact: of invoices, less what credit notes have left. */
export async function ourOpenAmounts(system: TestSystem, organisationId: string) {
  const { invoice, creditNote, customer } = tables(system.pool);
  const open = await invoice.findMany({
    where: { organisationId, status: "approved" },
    select: { customerId: true, amountDue: true },
  });
  const notes = await creditNote.findMany({
    where: { organisationId, status: "approved" },
    select: { customerId: true, remainingCredit: true },
  });
  const contacts = await customer.findMany({ where: { organisationId } });
  const contactOf = new Map(contacts.map(({ id, ledgerContactId }) => [id, ledgerContactId]));
  const cents = (amount: { toFixed(places: number): string }) =>
    BigInt(amount.toFixed(2).replace(".", ""));
  return sums([
    ...open.map((one) => [contactOf.get(one.customerId), cents(one.amountDue)] as const),
    ...notes.map((one) => [contactOf.get(one.customerId), -cents(one.remainingCredit)] as const),
  ]);
}

/** An amount of Tryton. */
export interface Decimal {
  readonly decimal: string;
}

/** The context of calls as the administrator of the company. */
export const rpcContext = { company: 1, companies: [1], _skip_warnings: true };

/** The balance of the receivable account by party, of posted moves. */
export async function receivables({ databaseUrl, password }: TrytonAccess) {
  const rpc = rpcAt(databaseUrl, password);
  const domain = [
    ["account.type.receivable", "=", true],
    ["move.state", "=", "posted"],
  ];
  const fields = ["party", "debit", "credit"];
  const lines = (await rpc(
    "model.account.move.line.search_read",
    ...[domain, 0, null, null, fields, rpcContext],
  )) as readonly { readonly party: number; readonly debit: Decimal; readonly credit: Decimal }[];
  const cents = ({ decimal }: Decimal) => BigInt(Number(decimal).toFixed(2).replace(".", ""));
  return sums(lines.map((one) => [String(one.party), cents(one.debit) - cents(one.credit)]));
}

function sums(amounts: readonly (readonly [string | null | undefined, bigint])[]) {
  const all = new Map<string, bigint>();
  for (const [contact, amount] of amounts)
    all.set(contact ?? "none", (all.get(contact ?? "none") ?? 0n) + amount);
  return new Map([...all].filter(([, amount]) => amount !== 0n).toSorted());
}
