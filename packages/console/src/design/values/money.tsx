/** An amount as text of the API: exact, never a number of the machine. */
import { minorUnitDigits } from "../../../../../src/domain/money/currency.ts";
import styles from "./values.module.css";

/**
 * Returns the decimal text with thousands apart, and with the currency's places. Further places
 * that are not zero stay.
 */
export function amountText(amount: string, currency: string): string {
  const [whole = "", fraction = ""] = amount.replace("-", "").split(".");
  const places = fraction.replace(/0+$/, "").padEnd(minorUnitDigits(currency), "0");
  const sign = amount.startsWith("-") ? "−" : "";
  return `${sign}${grouped(whole)}${places === "" ? "" : `.${places}`}`;
}

/** Returns the whole number with thousands apart. */
export function grouped(whole: string | number | bigint): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** An amount with its currency in front. */
export function Money({
  amount,
  currency,
}: {
  readonly amount: string;
  readonly currency: string;
}) {
  return (
    <span className="number">
      <span className={styles.currency}>{currency}</span>{" "}
      <span>{amountText(amount, currency)}</span>
    </span>
  );
}
