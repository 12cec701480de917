/**
 * Every reason of a refusal with the ledger's words for it, and what each ends in. A new reason
 * does not compile until it is here.
 */
import type { LedgerRefusalReason } from "../../src/ledger/port/ledger.ts";

/**
 * How work ends that was refused once, for a cause that is gone afterwards.
 * - `repeated`: it is repeated by itself.
 * - `retried`: it waits for an operator, whose retry succeeds.
 * - `elsewhere`: it can never succeed there. An amendment is billed on a separate document, credit
 *   goes to a later invoice.
 * - `ends`: an end is refused and leaves the invoice as it is.
 */
interface Refused {
  /** The ledger's words, or the status of its answer. Null: no text of the ledger says so. */
  readonly says: string | number | null;
  readonly amendment: "repeated" | "retried" | "elsewhere";
  readonly removal: "repeated" | "ends";
}

const retried = { amendment: "retried", removal: "ends" } as const;
const repeated = { amendment: "repeated", removal: "repeated" } as const;

/** Every reason. */
export const refusals: Readonly<Record<LedgerRefusalReason, Refused>> = {
  has_payment_or_credit: {
    says: "This document cannot be edited as it has a payment or credit note allocated to it.",
    amendment: "elsewhere",
    removal: "ends",
  },
  wrong_status: { says: "Invoice not of valid status for modification", ...repeated },
  // Decided by what is read, in changed-by-hand.system.test.ts. An end does not compare it.
  drift: { says: null, amendment: "elsewhere", removal: "ends" },
  stale: { says: 412, ...repeated },
  not_found: { says: 404, ...repeated },
  // Of documents and contacts that are created. A text like it may come with any change.
  duplicate_number: { says: "Invoice # must be unique.", ...retried },
  duplicate_contact: { says: "Another contact has this contact number", ...retried },
  contact_name_invalid: { says: "The name must not have angle brackets", ...retried },
  contact_email_invalid: { says: "The email address is not valid", ...retried },
  // A person restores the contact, the account or the tax type, or an operator maps another one.
  contact_inactive: { says: "The contact ACME has been archived.", ...retried },
  account_invalid: { says: "Account must be valid.", ...retried },
  tax_invalid: { says: "Tax rate must be valid.", ...retried },
  currency_not_enabled: { says: "Organisation is not subscribed to currency NZD", ...retried },
  // A person moves the lock date, waits for the next month, or gives the connection the right.
  period_locked: { says: "The document date cannot be before the period lock date", ...retried },
  approval_limit: { says: "You have reached the limit of invoices you can approve", ...retried },
  not_permitted: { says: "You do not have permission to change this", ...retried },
  amount_exceeds: { says: "The amount is greater than the amount outstanding", ...retried },
  validation: { says: "Something is wrong", ...retried },
};

/** The reasons that the ledger gives in words or by a status. */
export const spokenRefusals = Object.entries(refusals).flatMap(([reason, { says, ...ends }]) =>
  says === null ? [] : [{ reason, says, ...ends }],
);

/** The fault of the demo ledger that refuses once. */
export function refusalFault(says: string | number, match: string): object {
  return typeof says === "string"
    ? { kind: "refuse", match, messages: [says] }
    : { kind: "status", match, status: says };
}
