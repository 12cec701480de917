/**
 * Finds currencies with more decimal places than the connected ledger has. The ledger would
 * refuse most of their lines. CATALOGUE-10
 */
import { minorUnitDigits } from "../../../domain/money/currency.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { type LedgerKinds, ledgerKindOf } from "../../../ledger/port/ledger-kind.ts";
import type { AdminDependencies } from "../dependencies.ts";

/**
 * The refusal of a currency for a plan or charge that the organisation's ledger cannot bill. Null
 * if the currency fits. Without a connection every currency fits; `unfitCurrencies` lists the
 * others once there is a connection.
 */
export async function refusalOfCurrency(
  { store, kinds }: AdminDependencies,
  organisationId: string,
  currency: string | undefined,
): Promise<Refusal | null> {
  const connection = currency === undefined ? null : await store.connections.view(organisationId);
  if (currency === undefined || connection === null) return null;
  const [digits, places] = [minorUnitDigits(currency), placesOf(kinds, connection.kind)];
  if (digits <= places) return null;
  const message = `currency ${currency} has ${digits} decimal places, and the connected ledger has`;
  const why = `${message} ${places}: it would refuse such amounts`;
  return new Refusal("invalid_parameter", why, "currency");
}

/**
 * A sentence for each currency of the catalogue that the connected ledger cannot bill. Empty
 * without a connection.
 */
export async function unfitCurrencies(
  { store, kinds }: AdminDependencies,
  organisationId: string,
): Promise<readonly string[]> {
  const connection = await store.connections.view(organisationId);
  if (connection === null) return [];
  const places = placesOf(kinds, connection.kind);
  const unfit = (await store.currencies(organisationId)).filter(
    ({ currency }) => minorUnitDigits(currency) > places,
  );
  return unfit.map(({ currency, names, total }) => {
    const more = total > names.length ? ` and ${total - names.length} more` : "";
    const digits = `${currency} has ${minorUnitDigits(currency)}`;
    const why = `The ledger has ${places} decimal places of an amount, and ${digits}`;
    return `${why}: it would refuse such amounts of ${names.join(", ")}${more}.`;
  });
}

/** The number of decimal places that a kind of ledger keeps of an amount. */
function placesOf(kinds: LedgerKinds, kind: string): number {
  return ledgerKindOf(kinds, kind).traits.documents.amountPlaces;
}
