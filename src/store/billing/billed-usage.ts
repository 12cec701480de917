/**
 * Stores which usage each bill billed, and on which document. Written in the transaction that
 * closes the bill (INVARIANT-4). SQL, because one statement writes the rows of a chunk.
 */

import type { BilledUsage } from "../../domain/model/usage.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { Transaction } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";

/** Usage of a subscription on one bill. Both ids are null if no document bills it. */
export interface UsageBillToSave {
  readonly subscriptionId: string;
  readonly billed: BilledUsage;
  readonly invoiceId: string | null;
  readonly creditNoteId: string | null;
}

const insertBills = command({
  name: "save_usage_bills",
  text: sql`
    INSERT INTO usage_bills
      (
        organisation_id, subscription_id, bill, period_index, meter_id, events, quantity, priced,
        amount, invoice_id, credit_note_id
      )
    SELECT
      $1, r.subscription_id, r.bill, r.period_index, r.meter_id, r.events, r.quantity, r.priced,
      r.amount, r.invoice_id, r.credit_note_id
    FROM
      jsonb_to_recordset($2) AS r (
        subscription_id uuid, bill int, period_index int, meter_id uuid, events bigint,
        quantity numeric, priced numeric, amount numeric, invoice_id uuid, credit_note_id uuid
      )
  `,
});

/**
 * Inserts the rows after their documents. The primary key refuses a second row for the same usage,
 * so nothing is billed twice.
 */
export async function saveUsageBills(
  client: Transaction,
  organisationId: string,
  bills: readonly UsageBillToSave[],
): Promise<void> {
  if (bills.length === 0) return;
  const records = bills.map(
    ({ subscriptionId, billed: { usage, amount, priced }, invoiceId, creditNoteId }) => ({
      subscription_id: subscriptionId,
      bill: usage.bill,
      period_index: usage.period.index,
      meter_id: usage.meter.id,
      events: String(usage.events),
      quantity: formatDecimal(usage.quantity),
      priced: formatDecimal(priced),
      amount: formatDecimal(amount),
      invoice_id: invoiceId,
      credit_note_id: creditNoteId,
    }),
  );
  await insertBills(client, organisationId, JSON.stringify(records));
}
