/**
 * What a company's documents are made of: its currency, accounts, taxes, journals and periods. They
 * change seldom, so a process reads them once in a while.
 */

import type { BegunCall } from "../port/call.ts";
import { type ExactObject, filledTextOf, objectOf } from "../port/exact-json.ts";
import { unreadable } from "../port/failures.ts";
import type { LedgerAnswer } from "../port/ledger.ts";
import { dateOf, idOf, idsOf } from "./wire/values.ts";
import type { TrytonSearch, TrytonWire } from "./wire/wire.ts";

/** The code of no tax. A document without a tax code takes those of the account. */
export const noTaxCode = "NONE";

/** A company with what its documents are made of. */
export interface Books {
  readonly name: string;
  readonly timezone: string | null;
  readonly currency: string;
  readonly currencyId: string;
  /** The decimal places of its currency. */
  readonly places: number;
  /** Whether a posted document can be cancelled. */
  readonly canVoid: boolean;
  readonly accounts: readonly Account[];
  readonly taxes: readonly Tax[];
  /** The journal of sales, and the one for everything. Null if there is none. */
  readonly salesJournal: string | null;
  readonly generalJournal: string | null;
  /** The receivable account of a party without its own. Null if there is none. */
  readonly receivable: string | null;
  /** The open periods in order. */
  readonly periods: readonly Period[];
}

/** An account. Its `taxes` are those of a line without a tax code. */
interface Account {
  readonly id: string;
  readonly code: string | null;
  readonly name: string;
  readonly isOpen: boolean;
  readonly isRevenue: boolean;
  readonly taxes: readonly string[];
}

interface Tax {
  readonly id: string;
  readonly name: string;
  readonly isActive: boolean;
  readonly isSale: boolean;
}

/** An open period. Its fiscal year has the sequence of numbers. */
export interface Period {
  readonly id: string;
  readonly fiscalYear: string;
  readonly start: string;
  readonly end: string;
}

/** Reads the books, at most once in `freshMs`. */
export interface BooksReader {
  read(call: BegunCall): Promise<LedgerAnswer<Books>>;
  /** Makes the next call read them again, because the ledger refused what they allow. */
  drop(): void;
}

/** A change of accounts or periods is seen after this time, or after the first refusal. */
const freshMs = 60_000;

/** Creates the reader of a company's books. */
export function createBooks(wire: TrytonWire): BooksReader {
  let last: { readonly books: Books; readonly readMs: number } | null = null;
  let reading: Promise<LedgerAnswer<Books>> | null = null;
  return {
    read: async (call) => {
      if (last !== null && performance.now() - last.readMs < freshMs)
        return { kind: "ok", value: last.books };
      // Calls at the same time share one read.
      reading ??= readBooks(wire, call).finally(() => {
        reading = null;
      });
      const answer = await reading;
      if (answer.kind === "ok") last = { books: answer.value, readMs: performance.now() };
      return answer;
    },
    drop: () => {
      last = null;
    },
  };
}

/** Returns the open period of a day, or undefined if there is none. */
export function periodOf({ periods }: Books, date: string): Period | undefined {
  return periods.find(({ start, end }) => start <= date && date <= end);
}

const everyState = ["active", "in", [true, false]] as const;

async function readBooks(wire: TrytonWire, call: BegunCall): Promise<LedgerAnswer<Books>> {
  const { companyId } = wire;
  const ofCompany = ["company", "=", companyId] as const;
  const searches: readonly (readonly [string, TrytonSearch])[] = [
    ["company.company", { domain: [["id", "=", companyId]], fields: companyFields }],
    ["account.account", { domain: [ofCompany, ["type", "!=", null]], fields: accountFields }],
    ["account.tax", { domain: [ofCompany, everyState], fields: taxFields }],
    ["account.configuration", { domain: [], fields: ["default_account_receivable"] }],
    ["account.journal", { domain: [], fields: ["type"], order: [["id", "ASC"]] }],
    [
      "account.period",
      {
        domain: [ofCompany, ["state", "=", "open"], ["type", "=", "standard"]],
        fields: ["start_date", "end_date", "fiscalyear"],
        order: [["start_date", "ASC"]],
      },
    ],
  ];
  const found: (readonly ExactObject[])[] = [];
  // One after the other: together they would take all calls that are allowed at once.
  for (const [model, search] of searches) {
    const answer = await wire.search(call, model, search);
    if (answer.kind !== "ok") return answer;
    found.push(answer.value);
  }
  const [companies, accounts = [], taxes = [], configurations, journals = [], periods = []] = found;
  const company = readCompany(companies?.[0]);
  if (company === undefined) return unreadable("the company cannot be read", false);
  const journalOf = (type: string) => idOf(journals.find((one) => one.type === type)) ?? null;
  return {
    kind: "ok",
    value: {
      ...company,
      accounts: accounts.map(readAccount),
      taxes: taxes.map(readTax),
      salesJournal: journalOf("revenue"),
      generalJournal: journalOf("general"),
      receivable: idOf(configurations?.[0]?.default_account_receivable) ?? null,
      periods: periods.map(readPeriod),
    },
  };
}

const companyFields = [
  "party.name",
  "timezone",
  "cancel_invoice_out",
  "currency.code",
  "currency.digits",
];

function readCompany(company: ExactObject | undefined) {
  const currency = objectOf(company?.currency);
  const code = filledTextOf(currency?.code);
  const currencyId = idOf(currency);
  if (code === undefined || currencyId === undefined) return undefined;
  return {
    name: filledTextOf(objectOf(company?.party)?.name) ?? "",
    timezone: filledTextOf(company?.timezone) ?? null,
    currency: code,
    currencyId,
    places: Number(currency?.digits),
    canVoid: company?.cancel_invoice_out === true,
  };
}

const accountFields = ["code", "name", "closed", "type.revenue", "taxes"] as const;

function readAccount(account: ExactObject): Account {
  const type = objectOf(account.type);
  return {
    id: idOf(account) ?? "",
    code: filledTextOf(account.code) ?? null,
    name: filledTextOf(account.name) ?? "",
    isOpen: account.closed !== true,
    isRevenue: type?.revenue === true,
    taxes: idsOf(account.taxes),
  };
}

const taxFields = ["name", "active", "parent", "group.kind"] as const;

function readTax(tax: ExactObject): Tax {
  return {
    id: idOf(tax) ?? "",
    name: filledTextOf(tax.name) ?? "",
    isActive: tax.active === true,
    isSale: tax.parent === null && objectOf(tax.group)?.kind !== "purchase",
  };
}

function readPeriod(period: ExactObject): Period {
  return {
    id: idOf(period) ?? "",
    fiscalYear: idOf(period.fiscalyear) ?? "",
    start: dateOf(period.start_date) ?? "",
    end: dateOf(period.end_date) ?? "",
  };
}
