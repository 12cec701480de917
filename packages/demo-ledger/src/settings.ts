/** The read-only lists of the demo ledger: organisation, accounts, tax rates, currencies. */
import { createHash } from "node:crypto";
import { numberToken } from "../../../src/ledger/port/exact-json.ts";
import { type DemoAnswer, listAnswer, xeroDate, xeroInstant } from "./api/answers.ts";
import { demoAccounts, demoCurrencies, demoTaxRates } from "./api/chart.ts";
import type { DemoTenant } from "./tenants.ts";

// Xero has its own names of time zones. A zone without a name here is shown as UTC.
const timezoneNames: Readonly<Record<string, string>> = {
  UTC: "UTC",
  "America/Chicago": "CENTRALSTANDARDTIME",
  "America/Denver": "MOUNTAINSTANDARDTIME",
  "America/Los_Angeles": "PACIFICSTANDARDTIME",
  "America/New_York": "EASTERNSTANDARDTIME",
  "Asia/Kolkata": "INDIASTANDARDTIME",
  "Asia/Singapore": "SINGAPORESTANDARDTIME",
  "Asia/Tokyo": "TOKYOSTANDARDTIME",
  "Australia/Sydney": "AUSEASTERNSTANDARDTIME",
  "Europe/Berlin": "WEUROPESTANDARDTIME",
  "Europe/London": "GMTSTANDARDTIME",
  "Europe/Paris": "ROMANCESTANDARDTIME",
  "Pacific/Auckland": "NEWZEALANDSTANDARDTIME",
};

/** `GET /Organisation`. */
export function organisationAnswer(tenant: DemoTenant): DemoAnswer {
  const organisation = {
    OrganisationID: tenant.tenantId,
    Name: tenant.name,
    LegalName: tenant.name,
    PaysTax: true,
    Version: "GLOBAL",
    OrganisationType: "COMPANY",
    BaseCurrency: tenant.currency,
    CountryCode: "GB",
    IsDemoCompany: true,
    OrganisationStatus: "ACTIVE",
    FinancialYearEndDay: numberToken("31"),
    FinancialYearEndMonth: numberToken("3"),
    DefaultSalesTax: "Tax Exclusive",
    DefaultPurchasesTax: "Tax Exclusive",
    ...(tenant.periodLockDate === null ? {} : { PeriodLockDate: xeroDate(tenant.periodLockDate) }),
    CreatedDateUTC: xeroInstant(tenant.createdAt),
    OrganisationEntityType: "COMPANY",
    Timezone: timezoneNames[tenant.timezone] ?? "UTC",
    ShortCode: `!${tenant.tenantId.slice(0, 5)}`,
    Edition: "BUSINESS",
    Class: "DEMO",
    Addresses: [],
    Phones: [],
    ExternalLinks: [],
    PaymentTerms: {},
  };
  return listAnswer("Organisations", [organisation]);
}

/** `GET /Accounts`. */
export function accountsAnswer(tenant: DemoTenant): DemoAnswer {
  const accounts = demoAccounts.map((account) => ({
    AccountID: accountId(tenant, account.code),
    Code: account.code,
    Name: account.name,
    Status: account.status,
    Type: account.type,
    TaxType: account.taxType,
    Class: account.class,
    EnablePaymentsToAccount: account.type === "BANK",
    ShowInExpenseClaims: false,
    ...(account.type === "BANK"
      ? { BankAccountNumber: "000000-00000000", BankAccountType: "BANK" }
      : {}),
    HasAttachments: false,
    UpdatedDateUTC: xeroInstant(tenant.createdAt),
  }));
  return listAnswer("Accounts", accounts);
}

/** `GET /TaxRates`. */
export function taxRatesAnswer(): DemoAnswer {
  const rates = demoTaxRates.map((rate) => ({
    Name: rate.name,
    TaxType: rate.taxType,
    ReportTaxType: rate.forRevenue ? "OUTPUT" : "INPUT",
    CanApplyToAssets: true,
    CanApplyToEquity: true,
    CanApplyToExpenses: !rate.forRevenue || rate.taxType === "NONE",
    CanApplyToLiabilities: true,
    CanApplyToRevenue: rate.forRevenue,
    DisplayTaxRate: numberToken(rate.percent),
    EffectiveRate: numberToken(rate.percent),
    Status: "ACTIVE",
    TaxComponents: [
      { Name: "VAT", Rate: numberToken(rate.percent), IsCompound: false, IsNonRecoverable: false },
    ],
  }));
  return listAnswer("TaxRates", rates);
}

/** `GET /Currencies`: the organisation's own currency first. */
export function currenciesAnswer(tenant: DemoTenant): DemoAnswer {
  const own = { [tenant.currency]: demoCurrencies[tenant.currency] ?? tenant.currency };
  const all = Object.entries({ ...own, ...demoCurrencies });
  return listAnswer(
    "Currencies",
    all.map(([Code, Description]) => ({ Code, Description })),
  );
}

// The chart is not stored, so its ids are derived. An organisation has the same ids after every
// start.
function accountId(tenant: DemoTenant, code: string): string {
  const hex = createHash("sha256").update(`${tenant.tenantId} ${code}`).digest("hex");
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(13, 16), hex.slice(17, 20)];
  return `${a}-${b}-4${c}-8${d}-${hex.slice(20, 32)}`;
}
