/** The organisation behind a connection with the check of what billing needs, and mapping lists. */

import type { BegunCall } from "../port/call.ts";
import { objectOf } from "../port/exact-json.ts";
import { refused } from "../port/failures.ts";
import type {
  LedgerAnswer,
  LedgerFailure,
  LedgerMappingKind,
  LedgerMappingOption,
  LedgerOrganisation,
} from "../port/ledger.ts";
import { type Books, type BooksReader, noTaxCode, periodOf } from "./books.ts";
import type { TrytonWire } from "./wire/wire.ts";

/**
 * Returns the company. Refuses one in which billing could not do all of its work: an end must be
 * able to void (LEDGER-22).
 */
export async function describe(
  wire: TrytonWire,
  reader: BooksReader,
  tenantId: string,
  call: BegunCall,
): Promise<LedgerAnswer<LedgerOrganisation>> {
  reader.drop();
  const [answer, rights] = await Promise.all([reader.read(call), checkRights(wire, call)]);
  if (answer.kind === "refused" && answer.reason === "validation") {
    const message = `The key's user does not belong to the company of the tenant ${tenantId}.`;
    return refused("not_permitted", message);
  }
  if (answer.kind !== "ok") return answer;
  if (rights.kind !== "ok") return rights;
  const books = answer.value;
  const lack = shortcomingOf(books);
  if (lack !== null) return lack;
  const [first] = books.periods;
  return {
    kind: "ok",
    value: {
      id: tenantId,
      name: books.name,
      currency: books.currency,
      timezone: books.timezone,
      demo: false,
      periodLockDate: first === undefined ? null : dayBefore(first.start),
      yearLockDate: null,
      multicurrency: false,
    },
  };
}

/** What the key's user must be able to do, by the model. */
const neededRights = {
  "account.invoice": ["create", "write", "delete"],
  "account.move": ["create", "write", "delete"],
  "party.party": ["create"],
} as const;

async function checkRights(wire: TrytonWire, call: BegunCall): Promise<LedgerAnswer<null>> {
  const models = Object.keys(neededRights);
  const answer = await wire.ask(call, "ir.model.access", "get_access", { models });
  if (answer.kind !== "ok") return answer;
  const access = objectOf(answer.value);
  const lacking = Object.entries(neededRights).flatMap(([model, rights]) => {
    const granted = objectOf(access?.[model]);
    return rights
      .filter((right) => granted?.[right] === false || granted?.[right] === "0")
      .map((right) => `${right} ${model}`);
  });
  if (lacking.length === 0) return { kind: "ok", value: null };
  const message = `The key's user lacks rights in Tryton: ${lacking.join(", ")}.`;
  return refused("not_permitted", message);
}

function shortcomingOf(books: Books): LedgerFailure | null {
  const today = new Date().toISOString().slice(0, 10);
  const { accounts } = books;
  if (!books.canVoid) {
    return refused(
      "validation",
      "The company does not allow to cancel posted invoices, which the end of a subscription " +
        'needs: set "Cancel Customer Invoice" in the configuration of accounting.',
    );
  }
  if (periodOf(books, today) === undefined)
    return refused("period_locked", `The company has no open period for today, ${today}.`);
  if (!accounts.some(({ isOpen, isRevenue, code }) => isOpen && isRevenue && code !== null))
    return refused("account_invalid", "The company has no open revenue account with a code.");
  if (books.receivable === null)
    return refused("account_invalid", "The company has no default receivable account.");
  return books.salesJournal === null || books.generalJournal === null
    ? refused("validation", "Tryton has no journal for revenue, or none of the general type.")
    : null;
}

function dayBefore(day: string): string {
  return new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
}

/** Returns all choices of one list. Only the company's currency can be invoiced. */
export async function listMappingOptions(
  reader: BooksReader,
  call: BegunCall,
  kind: LedgerMappingKind,
): Promise<LedgerAnswer<readonly LedgerMappingOption[]>> {
  reader.drop();
  const answer = await reader.read(call);
  return answer.kind === "ok" ? { kind: "ok", value: optionsOf(answer.value, kind) } : answer;
}

function optionsOf(
  { accounts, taxes, currency }: Books,
  kind: LedgerMappingKind,
): readonly LedgerMappingOption[] {
  switch (kind) {
    case "accounts":
      return accounts.flatMap(({ code, name, isOpen, isRevenue }) =>
        code === null ? [] : [{ code, name, active: isOpen, usableForRevenue: isRevenue }],
      );
    case "tax_rates":
      return [
        { code: noTaxCode, name: "No tax", active: true, usableForRevenue: true },
        ...taxes.map(({ id, name, isActive, isSale }) => {
          return { code: id, name, active: isActive, usableForRevenue: isSale };
        }),
      ];
    case "currencies":
      return [{ code: currency, name: currency, active: true, usableForRevenue: true }];
  }
}
