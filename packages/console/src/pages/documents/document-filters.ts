/** The filters of the lists of documents. */
import { type DateRange, filtersOfRange } from "../../design/table/date-filters.tsx";
import type { TypedFilter } from "../../design/table/filters.tsx";

const id = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** The filters of invoices and credit notes. A number has a digit, a customer's code may not. */
export const documentFilters: readonly TypedFilter[] = [
  { key: "subscription", label: "subscription id", looksLike: id },
  { key: "customer", label: "customer id" },
  { key: "number", label: "number", looksLike: /-?\d+$/ },
  { key: "customer_code", label: "customer" },
];

/** The days of invoices. */
export const invoiceDays: readonly DateRange[] = [
  { key: "issued", label: "Issued" },
  { key: "due", label: "Due" },
];

/** The days of credit notes. */
export const creditNoteDays: readonly DateRange[] = [{ key: "issued", label: "Issued" }];

/** The members of the address that filter invoices or credit notes. */
export const documentKeys: readonly string[] = [
  "status",
  ...documentFilters.map(({ key }) => key),
  ...invoiceDays.flatMap(filtersOfRange).map(({ key }) => key),
];
