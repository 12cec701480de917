/** Writes how much less is due of invoices after allocations, and queues their sync. */
import {
  add,
  compare,
  type Decimal,
  formatDecimal,
  parseDecimal,
  subtract,
  ZERO,
} from "../../domain/money/decimal.ts";
import type { Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import type { AllocationChanges } from "./compare-allocations.ts";

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
