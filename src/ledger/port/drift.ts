/** Compares what gives a document's amounts their meaning with what ours mean (LEDGER-20). */
import { maxMerges } from "../../domain/customers/sync-contact.ts";
import type { LedgerContact } from "./contacts.ts";
import type { LedgerInvoice, LedgerMeaning } from "./documents.ts";
import { isMissing, type LedgerAnswer, type LedgerFailure, refused } from "./failures.ts";

type ComparedInvoice = Pick<LedgerInvoice, "number" | "contactId" | "currency" | "lineAmounts">;

/**
 * Returns the refusal of a change of an invoice whose amounts mean something else in the ledger, or
 * ok. Only if the invoice has another contact, ours is read, and those that it was merged into one
 * after the other.
 */
export async function checkDrift(
  invoice: ComparedInvoice,
  meaning: LedgerMeaning | undefined,
  getContact: (id: string) => Promise<LedgerAnswer<LedgerContact>>,
): Promise<LedgerAnswer<null>> {
  if (meaning === undefined) return { kind: "ok", value: null };
  let ours = meaning;
  for (let merge = 0; merge < maxMerges && !hasContact(invoice, ours); merge += 1) {
    const contact = await getContact(ours.contactId);
    if (isMissing(contact)) break;
    if (contact.kind !== "ok") return contact;
    if (contact.value.mergedInto === null) break;
    ours = { ...ours, contactId: contact.value.mergedInto };
  }
  return refusedDrift(invoice, meaning, hasContact(invoice, ours)) ?? { kind: "ok", value: null };
}

/**
 * Returns the same refusal or null. `isMerged`: our contact was merged into the invoice's. What the
 * ledger did not report is not compared.
 */
export function refusedDrift(
  invoice: ComparedInvoice,
  meaning: LedgerMeaning,
  isMerged: boolean,
): LedgerFailure | null {
  const { currency, lineAmounts } = invoice;
  const differing = [
    ...(currency === meaning.currency ? [] : [`its currency is ${currency}`]),
    ...(lineAmounts === null || lineAmounts === meaning.lineAmounts
      ? []
      : [`its amounts are ${taxWords[lineAmounts]}`]),
    ...(hasContact(invoice, meaning) || isMerged ? [] : ["it is for another contact"]),
  ];
  return differing.length === 0
    ? null
    : refused(
        "drift",
        `Invoice ${invoice.number} was changed in the ledger: ${differing.join(", ")}.`,
      );
}

/** Whether the document's contact is ours, without a merge. */
function hasContact(
  { contactId }: Pick<LedgerInvoice, "contactId">,
  meaning: LedgerMeaning,
): boolean {
  return contactId.toLowerCase() === meaning.contactId.toLowerCase();
}

const taxWords = {
  exclusive: "without tax",
  inclusive: "inclusive of tax",
  none: "without any tax",
} as const satisfies Record<LedgerMeaning["lineAmounts"], string>;
