/**
 * Payments that somebody records in the demo ledger, as a bookkeeper would: the only way in which money comes onto an
 * invoice.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { decimalTextOf, isDecimalText, scaledOf } from "../decimal-text.ts";
import { inTransaction } from "./database.ts";
import { amountDueOf, type InvoiceRow } from "./invoice-rows.ts";

/** What became of a payment: the invoice's new status and what is still due, or why it was refused. */
export type Paid =
  | { readonly kind: "paid"; readonly paymentId: string; readonly status: string; readonly amountDue: string }
  | { readonly kind: "not_found" }
  | { readonly kind: "refused"; readonly message: string };

/**
 * Records a payment on an approved invoice; without an amount all that is due. What leaves nothing due makes it PAID.
 */
export async function recordPayment(
  pool: pg.Pool,
  tenantId: string,
  invoiceId: string,
  amount: string | null,
  paidOn: string,
): Promise<Paid> {
  return inTransaction(pool, async (client): Promise<Paid> => {
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
    if (amount !== null && !isDecimalText(amount)) return { kind: "refused", message: "The amount is no number." };
    const paid = amount === null ? due : scaledOf(amount, 2);
    if (paid <= 0n) return { kind: "refused", message: "The payment amount must be above zero." };
    if (paid > due)
      return { kind: "refused", message: "Payment amount exceeds the amount outstanding on this document." };
    const paymentId = randomUUID();
    const status = paid === due ? "PAID" : "AUTHORISED";
    await client.query(
      `insert into demo_ledger.payments (payment_id, tenant_id, invoice_id, amount, paid_on)
       values ($1, $2, $3, $4, $5)`,
      [paymentId, tenantId, invoiceId, decimalTextOf(paid, 2), paidOn],
    );
    await client.query(
      `update demo_ledger.invoices set amount_paid = amount_paid + $3, status = $4, fully_paid_on = $5,
         updated_at = date_trunc('milliseconds', clock_timestamp()) where tenant_id = $1 and invoice_id = $2`,
      [tenantId, invoiceId, decimalTextOf(paid, 2), status, status === "PAID" ? paidOn : null],
    );
    return { kind: "paid", paymentId, status, amountDue: decimalTextOf(due - paid, 2) };
  });
}
