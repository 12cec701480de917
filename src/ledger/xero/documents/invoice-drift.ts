/** Whether the amounts of an invoice in Xero mean what ours do (LEDGER-20). */
import { maxMerges } from "../../../domain/customers/sync-contact.ts";
import { hasContact, refusedDrift } from "../../port/drift.ts";
import type { LedgerAnswer, LedgerInvoice, LedgerMeaning } from "../../port/ledger.ts";
import { getContact } from "../contacts.ts";
import type { XeroCall, XeroWire } from "../wire/wire.ts";

/**
 * Returns the refusal of a change of this invoice, or ok. Only if the invoice has another contact,
 * ours is read, and those that it was merged into one after the other.
 */
export async function checkDrift(
  wire: XeroWire,
  call: XeroCall,
  invoice: LedgerInvoice,
  meaning: LedgerMeaning | undefined,
): Promise<LedgerAnswer<null>> {
  if (meaning === undefined) return { kind: "ok", value: null };
  let ours = meaning;
  for (let merge = 0; merge < maxMerges && !hasContact(invoice, ours); merge += 1) {
    const contact = await getContact(wire, call, ours.contactId);
    if (contact.kind === "refused" && contact.reason === "not_found") break;
    if (contact.kind !== "ok") return contact;
    if (contact.value.mergedInto === null) break;
    ours = { ...ours, contactId: contact.value.mergedInto };
  }
  return refusedDrift(invoice, meaning, hasContact(invoice, ours)) ?? { kind: "ok", value: null };
}
