/** Whether an invoice can be amended in a ledger or removed from it (LEDGER-3, LEDGER-20). */
import { presenceOf } from "../../domain/billing/document-presence.ts";
import { isUnsent } from "../../domain/billing/issued-invoices.ts";
import type { LedgerContact } from "./contacts.ts";
import type {
  LedgerInvoice,
  LedgerInvoiceAmendment,
  LedgerInvoiceStatus,
  LedgerRemoval,
} from "./documents.ts";
import { checkDrift } from "./drift.ts";
import { isMissing, type LedgerAnswer, type LedgerFailure, refused } from "./failures.ts";

/** An invoice to remove. One that is issued is voided, another is deleted. */
interface Removable {
  readonly kind: "removable";
  readonly invoice: LedgerInvoice;
  readonly isIssued: boolean;
}

/**
 * Returns the answer to a removal of the invoice that was read, unless there is something to
 * remove. One that is not there or already removed counts as done. Money on it is refused, and with
 * `onlyUnsent` an approved or sent one too.
 */
export function checkRemoval(
  read: LedgerAnswer<LedgerInvoice>,
  { onlyUnsent } = { onlyUnsent: false },
): LedgerAnswer<LedgerRemoval> | Removable {
  if (isMissing(read)) return { kind: "ok", value: { outcome: "not_found", invoice: null } };
  if (read.kind !== "ok") return read;
  const invoice = read.value;
  const { number, status } = invoice;
  if (presenceOf(invoice) === "nowhere")
    return { kind: "ok", value: { outcome: "already_removed", invoice } };
  const fault = refusedMoney(invoice);
  if (fault !== null) return fault;
  if (onlyUnsent && !isUnsent(invoice))
    return refused("wrong_status", `Invoice ${number} was approved or sent.`);
  return { kind: "removable", invoice, isIssued: status === "approved" || status === "paid" };
}

const statusWords = {
  draft: "a draft",
  awaiting_approval: "awaiting approval",
  approved: "approved",
  paid: "paid",
  voided: "voided",
  deleted: "deleted",
} as const satisfies Record<LedgerInvoiceStatus, string>;

/** Returns the refusal of an amendment by the invoice that was read, in the port's order, or ok. */
export async function checkAmendment(
  invoice: LedgerInvoice,
  { allowed, meaning }: Pick<LedgerInvoiceAmendment, "allowed" | "meaning">,
  getContact: (id: string) => Promise<LedgerAnswer<LedgerContact>>,
): Promise<LedgerAnswer<null>> {
  const { number, status } = invoice;
  if (!allowed.includes(status)) {
    const open = allowed.map((one) => statusWords[one]).join(" or ");
    const is = `Invoice ${number} is ${statusWords[status]}`;
    return refused("wrong_status", `${is}; its lines can be changed while it is ${open}.`);
  }
  return refusedMoney(invoice) ?? checkDrift(invoice, meaning, getContact);
}

/**
 * Returns the refusal of a change because of money on the invoice, or null. The status does not
 * decide: an invoice with total zero is `paid` once approved, and has no money on it.
 */
export function refusedMoney({
  number,
  amountPaid,
  amountCredited,
}: LedgerInvoice): LedgerFailure | null {
  return Number(amountPaid) === 0 && Number(amountCredited) === 0
    ? null
    : refused(
        "has_payment_or_credit",
        `Invoice ${number} has payments or credit notes allocated to it.`,
      );
}
