/** The data for an operator's mapping: Xero's organisation, accounts, tax rates and currencies. */
import { type ExactObject, filledTextOf, objectsOf } from "../port/exact-json.ts";
import { unreadable } from "../port/failures.ts";
import type {
  LedgerAnswer,
  LedgerMappingKind,
  LedgerMappingOption,
  LedgerOrganisation,
} from "../port/ledger.ts";
import { dateOf } from "./wire/read-shapes.ts";
import type { XeroCall, XeroWire } from "./wire/wire.ts";

/** Returns Xero's organisation with its lock dates (XERO-13). */
export async function describe(
  wire: XeroWire,
  call: XeroCall,
): Promise<LedgerAnswer<LedgerOrganisation>> {
  const answer = await wire.ask(call, { method: "GET", path: "/Organisation" });
  if (answer.kind !== "ok") return answer;
  const [element] = objectsOf(answer.value.Organisations);
  const id = filledTextOf(element?.OrganisationID);
  const name = filledTextOf(element?.Name);
  const currency = filledTextOf(element?.BaseCurrency);
  if (!element || id === undefined || name === undefined || currency === undefined) {
    return unreadable("the organisation cannot be read", false);
  }
  const organisation = {
    id,
    name,
    currency,
    timezone: filledTextOf(element.Timezone) ?? null,
    demo: element.IsDemoCompany === true,
    periodLockDate: dateOf(undefined, element.PeriodLockDate) ?? null,
    yearLockDate: dateOf(undefined, element.EndOfYearLockDate) ?? null,
    multicurrency: true,
  };
  return { kind: "ok", value: organisation };
}

const lists = {
  accounts: { path: "/Accounts", member: "Accounts", read: readAccount },
  tax_rates: { path: "/TaxRates", member: "TaxRates", read: readTaxRate },
  currencies: { path: "/Currencies", member: "Currencies", read: readCurrency },
} as const satisfies Record<LedgerMappingKind, object>;

/**
 * Returns all choices of one list. Entries without a code (bank accounts) cannot be mapped and are
 * left out. An answer without the list is `unavailable`.
 */
export async function listMappingOptions(
  wire: XeroWire,
  call: XeroCall,
  kind: LedgerMappingKind,
): Promise<LedgerAnswer<readonly LedgerMappingOption[]>> {
  const { path, member, read } = lists[kind];
  const answer = await wire.ask(call, { method: "GET", path });
  if (answer.kind !== "ok") return answer;
  const elements = answer.value[member];
  if (!Array.isArray(elements)) return unreadable(`the ledger answered without ${member}`, false);
  const options = objectsOf(elements).map(read);
  return { kind: "ok", value: options.filter((option) => option !== undefined) };
}

function readAccount(element: ExactObject): LedgerMappingOption | undefined {
  const isRevenue =
    element.Class === "REVENUE" || ["REVENUE", "SALES", "OTHERINCOME"].includes(`${element.Type}`);
  return optionOf(element.Code, element.Name, (element.Status ?? "ACTIVE") === "ACTIVE", isRevenue);
}

function readTaxRate(element: ExactObject): LedgerMappingOption | undefined {
  const isActive = (element.Status ?? "ACTIVE") === "ACTIVE";
  return optionOf(element.TaxType, element.Name, isActive, element.CanApplyToRevenue === true);
}

function readCurrency(element: ExactObject): LedgerMappingOption | undefined {
  return optionOf(element.Code, element.Description, true, true);
}

function optionOf(
  code: ExactObject[string],
  name: ExactObject[string],
  active: boolean,
  usableForRevenue: boolean,
): LedgerMappingOption | undefined {
  const known = filledTextOf(code);
  return known === undefined
    ? undefined
    : { code: known, name: filledTextOf(name) ?? known, active, usableForRevenue };
}
