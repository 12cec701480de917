/**
 * Records and deletes payments in the demo ledger, as a bookkeeper would. Money comes onto an
 * invoice in no other way.
 */
import { randomUUID } from "node:crypto";
import {
  decimalTextOf,
  isDecimalText,
  scaledOf,
} from "../../../../src/ledger/port/decimal-text.ts";
import type { Queryable } from "../database.ts";
import { amountDueOf, type InvoiceRow } from "./invoice-rows.ts";

/** The outcome of a payment: the invoice's new status and amount due, or the refusal. */
type Paid =
  | {
      readonly kind: "paid";
      readonly paymentId: string;
      readonly status: string;
      readonly amountDue: string;
    }
  | { readonly kind: "not_found" }
  | { readonly kind: "refused"; readonly message: string };

/**
 * Records a payment on an approved invoice. Without an amount it pays all that is due. An invoice
 * with nothing due becomes PAID.
 */
export async function recordPayment(
  client: Queryable,
  tenantId: string,
  invoiceId: string,
  amount: string | null,
  paidOn: string,
): Promise<Paid> {
  const { rows } = await client.query<InvoiceRow>(
    "select * from demo_ledger.invoices where tenant_id = $1 and invoice_id = $2 for update",
    [tenantId, invoiceId],
  );
  const [invoice] = rows;
  if (!invoice) return { kind: "not_found" };
  if (invoice.status !== "AUTHORISED") {
    return { kind: "refused", message: `An invoice that is ${invoice.status} takes no payment.` };
  }
  const due = scaledOf(amountDueOf(invoice), 2);
  if (amount !== null && !isDecimalText(amount))
    return { kind: "refused", message: "The amount is no number." };
  const paid = amount === null ? due : scaledOf(amount, 2);
  if (paid <= 0n) return { kind: "refused", message: "The payment amount must be above zero." };
  if (paid > due)
    return {
      kind: "refused",
      message: "Payment amount exceeds the amount outstanding on this document.",
    };
  const paymentId = randomUUID();
  const status = paid === due ? "PAID" : "AUTHORISED";
  await client.query(
    `insert into demo_ledger.payments (payment_id, tenant_id, invoice_id, amount, paid_on)
     values ($1, $2, $3, $4, $5)`,
    [paymentId, tenantId, invoiceId, decimalTextOf(paid, 2), paidOn],
  );
  await client.query(
    `update demo_ledger.invoices set amount_paid = amount_paid + $3, status = $4,
      fully_paid_on = $5,
       updated_at = date_trunc('milliseconds', clock_timestamp()) where tenant_id = $1
         and invoice_id = $2`,
    [tenantId, invoiceId, decimalTextOf(paid, 2), status, status === "PAID" ? paidOn : null],
  );
  return { kind: "paid", paymentId, status, amountDue: decimalTextOf(due - paid, 2) };
}

/** The outcome of a deletion. */
type PaymentDeleted = "deleted" | "not_found" | "deleted_before";

/**
 * Deletes a payment. The row stays with that status, and its invoice is approved and open by that
 * amount again.
 */
export async function deletePayment(
  client: Queryable,
  tenantId: string,
  paymentId: string,
): Promise<PaymentDeleted> {
  // Locks the invoice first, as payments and allocations do, so that concurrent requests wait for
  // each other.
  const { rowCount: found } = await client.query(
    `select 1 from demo_ledger.invoices where tenant_id = $1 and invoice_id =
       (select invoice_id from demo_ledger.payments where tenant_id = $1
         and payment_id = $2) for update`,
    [tenantId, paymentId],
  );
  if (found === 0) return "not_found";
  const { rows } = await client.query<{ invoice_id: string; amount: string }>(
    `update demo_ledger.payments set status = 'DELETED'
     where tenant_id = $1 and payment_id = $2 and status = 'AUTHORISED'
       returning invoice_id, amount`,
    [tenantId, paymentId],
  );
  const [payment] = rows;
  if (!payment) return "deleted_before";
  await client.query(
    `update demo_ledger.invoices set amount_paid = amount_paid - $3, status = 'AUTHORISED',
      fully_paid_on = null,
       updated_at = date_trunc('milliseconds', clock_timestamp()) where tenant_id = $1
         and invoice_id = $2`,
    [tenantId, payment.invoice_id, payment.amount],
  );
  return "deleted";
}
