/**
 * The accounts, tax rates and currencies of every organisation in the demo ledger. They cannot be
 * changed.
 */

/** An account of the chart. `taxType` is the default of a line without a tax type. */
interface DemoAccount {
  readonly code: string;
  readonly name: string;
  readonly type: "REVENUE" | "OTHERINCOME" | "EXPENSE" | "CURRENT" | "BANK";
  readonly class: "REVENUE" | "EXPENSE" | "ASSET";
  readonly status: "ACTIVE" | "ARCHIVED";
  readonly taxType: string;
}

/** A tax rate in percent. `forRevenue` says whether sales may have it. */
interface DemoTaxRate {
  readonly taxType: string;
  readonly name: string;
  readonly percent: string;
  readonly forRevenue: boolean;
}

/** The chart of accounts. Account 205 is archived, to show the refusal of an archived account. */
export const demoAccounts: readonly DemoAccount[] = [
  {
    code: "090",
    name: "Business Bank Account",
    type: "BANK",
    class: "ASSET",
    status: "ACTIVE",
    taxType: "NONE",
  },
  {
    code: "200",
    name: "Sales",
    type: "REVENUE",
    class: "REVENUE",
    status: "ACTIVE",
    taxType: "OUTPUT2",
  },
  {
    code: "201",
    name: "Subscriptions",
    type: "REVENUE",
    class: "REVENUE",
    status: "ACTIVE",
    taxType: "OUTPUT2",
  },
  {
    code: "202",
    name: "Usage",
    type: "REVENUE",
    class: "REVENUE",
    status: "ACTIVE",
    taxType: "OUTPUT2",
  },
  {
    code: "205",
    name: "Sales (old)",
    type: "REVENUE",
    class: "REVENUE",
    status: "ARCHIVED",
    taxType: "OUTPUT2",
  },
  {
    code: "260",
    name: "Other Revenue",
    type: "OTHERINCOME",
    class: "REVENUE",
    status: "ACTIVE",
    taxType: "OUTPUT2",
  },
  {
    code: "400",
    name: "Advertising",
    type: "EXPENSE",
    class: "EXPENSE",
    status: "ACTIVE",
    taxType: "INPUT2",
  },
  {
    code: "610",
    name: "Accounts Receivable",
    type: "CURRENT",
    class: "ASSET",
    status: "ACTIVE",
    taxType: "NONE",
  },
];

/** The tax rates of every organisation. */
export const demoTaxRates: readonly DemoTaxRate[] = [
  { taxType: "OUTPUT2", name: "20% (VAT on Income)", percent: "20", forRevenue: true },
  { taxType: "RROUTPUT", name: "5% (VAT on Income)", percent: "5", forRevenue: true },
  { taxType: "ZERORATEDOUTPUT", name: "Zero Rated Income", percent: "0", forRevenue: true },
  { taxType: "EXEMPTOUTPUT", name: "Exempt Income", percent: "0", forRevenue: true },
  { taxType: "INPUT2", name: "20% (VAT on Expenses)", percent: "20", forRevenue: false },
  { taxType: "NONE", name: "No VAT", percent: "0", forRevenue: true },
];

/** The enabled currencies in addition to an organisation's own. Others are refused, as in Xero. */
export const demoCurrencies: Readonly<Record<string, string>> = {
  AUD: "Australian Dollar",
  CAD: "Canadian Dollar",
  CHF: "Swiss Franc",
  EUR: "Euro",
  GBP: "British Pound",
  JPY: "Japanese Yen",
  NZD: "New Zealand Dollar",
  SEK: "Swedish Krona",
  SGD: "Singapore Dollar",
  USD: "United States Dollar",
};

const accountsByCode = new Map(demoAccounts.map((account) => [account.code, account]));
const ratesByType = new Map(demoTaxRates.map((rate) => [rate.taxType, rate]));

/** Returns the account of a code, or undefined. */
export function accountOf(code: string): DemoAccount | undefined {
  return accountsByCode.get(code);
}

/** Returns the tax rate of a type, or undefined. */
export function taxRateOf(taxType: string): DemoTaxRate | undefined {
  return ratesByType.get(taxType);
}
