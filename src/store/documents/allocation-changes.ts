/**
 * Compares a credit note's allocations here with those that the ledger reports (DOCUMENT-4), and
 * writes how much less is due of their invoices.
 */
import {
  add,
  compare,
  type Decimal,
  equals,
  formatDecimal,
  parseDecimal,
  subtract,
  ZERO,
} from "../../domain/money/decimal.ts";
import type { Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";

/** Credit on the ledger's invoice `invoiceId`. `id` is empty if the ledger reports none. */
export interface ObservedAllocation {
  readonly id: string;
  readonly invoiceId: string;
  readonly amount: string;
  readonly date: string;
}

/** An allocation here. `ledgerId` is null if the ledger did not report it. */
export interface KnownAllocation {
  readonly id: string;
  readonly ledgerId: string | null;
  readonly invoiceId: string;
  readonly invoiceLedgerId: string;
  readonly amount: Decimal;
  readonly isActive: boolean;
}

/** What turns the allocations here into the ledger's. `gone`: no longer in the ledger. */
export interface AllocationChanges {
  readonly added: readonly ObservedAllocation[];
  readonly kept: readonly {
    readonly known: KnownAllocation;
    readonly observed: ObservedAllocation;
  }[];
  readonly gone: readonly KnownAllocation[];
}

/** Matches by the ledger's id, else by invoice and amount. A removed one that is back is kept. */
export function compareAllocations(
  known: readonly KnownAllocation[],
  observed: readonly ObservedAllocation[],
): AllocationChanges {
  const open = new Set(known);
  const kept: { known: KnownAllocation; observed: ObservedAllocation }[] = [];
  const match = (
    one: ObservedAllocation,
    isSame: (candidate: KnownAllocation) => boolean,
  ): boolean => {
    const candidate = [...open].find(isSame);
    if (candidate === undefined) return false;
    open.delete(candidate);
    kept.push({ known: candidate, observed: one });
    return true;
  };
  const unnamed = observed.filter(
    (one) => one.id === "" || !match(one, ({ ledgerId }) => ledgerId === one.id),
  );
  const added = unnamed.filter(
    (one) =>
      !match(
        one,
        ({ ledgerId, invoiceLedgerId, amount, isActive }) =>
          (ledgerId === null || one.id === "") &&
          isActive &&
          invoiceLedgerId === one.invoiceId &&
          equals(amount, parseDecimal(one.amount)),
      ),
  );
  return { added, kept, gone: [...open].filter(({ isActive }) => isActive) };
}

/** By how much less is due of each invoice. */
export function changesOfDue(
  invoiceIds: ReadonlyMap<string, string>,
  { added, kept, gone }: AllocationChanges,
): ReadonlyMap<string, Decimal> {
  const changes = new Map<string, Decimal>();
  const count = (invoiceId: string, amount: Decimal) =>
    changes.set(invoiceId, add(changes.get(invoiceId) ?? ZERO, amount));
  for (const { invoiceId, amount } of added)
    count(invoiceIds.get(invoiceId) ?? "", parseDecimal(amount));
  for (const { known, observed } of kept) {
    count(
      known.invoiceId,
      subtract(parseDecimal(observed.amount), known.isActive ? known.amount : ZERO),
    );
  }
  for (const { invoiceId, amount } of gone) count(invoiceId, subtract(ZERO, amount));
  return new Map([...changes].filter(([, amount]) => compare(amount, ZERO) !== 0));
}

const reduceDueOf = command({
  name: "reduce_due",
  text: sql`
    UPDATE invoices i
    SET
      amount_due = due.left,
      status = CASE WHEN due.left = 0 THEN 'paid' ELSE 'approved' END,
      ledger_reported_at = now()
    FROM
      (
        SELECT j.id, greatest(0, least(j.total, j.amount_due - r.amount)) AS left
        FROM
          jsonb_to_recordset($2) AS r (id uuid, amount numeric)
          JOIN invoices j
            ON j.organisation_id = $1 AND j.id = r.id AND j.status IN ('approved', 'paid')
      ) AS due
    WHERE i.organisation_id = $1 AND i.id = due.id
  `,
});

/** Writes what is due of invoices after their allocations changed. */
export async function reduceDue(
  client: Transaction,
  organisationId: string,
  changes: ReadonlyMap<string, Decimal>,
): Promise<void> {
  if (changes.size === 0) return;
  const records = [...changes].map(([id, amount]) => ({ id, amount: formatDecimal(amount) }));
  await reduceDueOf(client, organisationId, JSON.stringify(records));
}

const queueInvoices = command({
  name: "queue_invoice_sync",
  text: sql`
    INSERT INTO ledger_notifications (organisation_id, kind, ledger_id)
    SELECT $1, 'invoices', ledger_invoice_id
    FROM invoices
    WHERE organisation_id = $1 AND id = ANY ($2::uuid[]) AND ledger_invoice_id IS NOT NULL
    ORDER BY ledger_invoice_id
    ON CONFLICT (organisation_id, kind, ledger_id) DO UPDATE
      SET
        changed_at = NULL,
        received_at = clock_timestamp()
  `,
});

/** Queues these invoices for the ledger sync. */
export async function queueSync(
  client: Transaction,
  organisationId: string,
  invoiceIds: readonly string[],
): Promise<void> {
  if (invoiceIds.length > 0) await queueInvoices(client, organisationId, invoiceIds);
}
