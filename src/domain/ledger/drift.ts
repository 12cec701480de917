/** What a document is in the ledger otherwise than here, in words (LEDGER-20). */

/**
 * The ledger's value of each member that differs. `amounts` is how the amounts of lines are meant
 * there, `contact` the ledger's id of the contact, `issue_date` a date `YYYY-MM-DD`.
 */
export type LedgerDrift = Readonly<
  Partial<
    Record<"currency" | "amounts" | "contact" | "number" | "issue_date" | "reference", string>
  >
>;

/** Returns each difference in words, those first that change what amounts mean. */
export function describeDrift(drift: LedgerDrift): readonly string[] {
  const { currency, amounts, contact, number, issue_date: issueDate, reference } = drift;
  return [
    ...(currency === undefined ? [] : [`its currency is ${currency}`]),
    ...(amounts === undefined ? [] : [amounts === "none" ? "its amounts have no tax" : withTax]),
    ...(contact === undefined ? [] : [`it is for another contact: ${contact}`]),
    ...(number === undefined ? [] : [`its number is ${number}`]),
    ...(issueDate === undefined ? [] : [`it is dated ${issueDate}`]),
    ...(reference === undefined ? [] : [`its reference is ${JSON.stringify(reference)}`]),
  ];
}

const withTax = "its amounts contain tax";
