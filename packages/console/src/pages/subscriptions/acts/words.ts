/** What an act on a subscription does, in words: on its button, and where it came otherwise. */
import {
  compare,
  formatDecimal,
  parseDecimal,
  subtract,
  sum,
} from "../../../../../../src/domain/money/decimal.ts";
import { dayText } from "../../../design/values/instant.tsx";
import { amountText, grouped } from "../../../design/values/money.tsx";
import { LedgerSyncStatus } from "../../../gen/billing/v1/common_pb.ts";
import type { Invoice } from "../../../gen/billing/v1/invoices_pb.ts";
import type { PreviewInvoice } from "../../../gen/billing/v1/previews_pb.ts";
import type {
  Subscription,
  SubscriptionPreview,
} from "../../../gen/billing/v1/subscriptions_pb.ts";
import { subscriptionStates, wordsOf } from "../../../words/states.ts";
import type { Subtotals } from "./amended.ts";

/** Returns `NZD 48.39`, which stays on one line. */
export const moneyText = (amount: string, currency: string) =>
  `${currency}\u00a0${amountText(amount, currency)}`;

const total = (documents: readonly { readonly subtotal: string }[]) =>
  formatDecimal(sum(documents.map(({ subtotal }) => parseDecimal(subtotal))));

/** Returns what the preview does to documents, as phrases: `raise invoice INV-7 by NZD 48.39`. */
function documentPhrases(preview: SubscriptionPreview, subtotals: Subtotals): readonly string[] {
  const {
    issuedInvoices: issued,
    amendedInvoices: amended,
    creditNotes,
    removedInvoices,
  } = preview;
  const currency = preview.subscription?.currency ?? "";
  const deferred = preview.deferredLines.map(({ amount }) => ({ subtotal: amount }));
  const removed = removedInvoices.map(({ number }) => number ?? "the new one");
  return [
    issued.length > 0 &&
      `issue ${issued.length === 1 ? "an invoice" : `${issued.length} invoices`} of ` +
        moneyText(total(issued), currency),
    ...amended.map((invoice) => amendPhrase(invoice, subtotals)),
    creditNotes.length > 0 && `credit ${moneyText(total(creditNotes), currency)}`,
    deferred.length > 0 && `add ${moneyText(total(deferred), currency)} to the renewal`,
    removed.length > 0 &&
      `remove ${removed.length === 1 ? "invoice" : "invoices"} ${list(removed)}`,
  ].filter((phrase) => phrase !== false);
}

function amendPhrase(
  { invoice, number, subtotal, currency }: PreviewInvoice,
  subtotals: Subtotals,
): string {
  const named = `invoice ${number ?? ""}`.trim();
  const was = subtotals.get(invoice ?? "");
  const by = was === undefined ? null : subtract(parseDecimal(subtotal), parseDecimal(was));
  if (was === undefined || by === null) return `amend ${named}`;
  const sign = compare(parseDecimal(subtotal), parseDecimal(was));
  if (sign === 0) return `amend ${named}`;
  const size = moneyText(formatDecimal(by).replace("-", ""), currency);
  return `${sign > 0 ? "raise" : "lower"} ${named} by ${size}`;
}

const list = (texts: readonly string[]) => new Intl.ListFormat("en-GB").format(texts);

/** Returns the act with what it does to documents: `Change to 12 seats and issue an invoice …`. */
export function effectOf(
  act: string,
  preview: SubscriptionPreview | undefined,
  subtotals: Subtotals = new Map(),
): string {
  return list([act, ...(preview === undefined ? [] : documentPhrases(preview, subtotals))]);
}

/** A fact of a subscription that acts change, in words. */
const facts: readonly (readonly [name: string, of: (subscription: Subscription) => string])[] = [
  ["units", ({ units }) => grouped(units)],
  ["the value at renewal", ({ renewalValue, currency }) => moneyText(renewalValue, currency)],
  ["the state", (subscription) => stateText(subscription)],
  ["the renewal", ({ renewalDate }) => dayText(renewalDate)],
  ["the end", ({ endDate }) => (endDate === undefined ? "none" : dayText(endDate))],
];

/** Returns the state in words: one that is set to end says so. */
export function stateText({ status, cancelAtPeriodEnd }: Subscription): string {
  const { word } = wordsOf(subscriptionStates, status);
  return cancelAtPeriodEnd && word === "Active" ? "Ends with its period" : word;
}

/** Returns where a subscription is not as it was previewed. */
export function subscriptionDifferences(
  became: Subscription | undefined,
  preview: SubscriptionPreview | undefined,
): readonly string[] {
  const previewed = preview?.subscription;
  if (became === undefined || previewed === undefined) return [];
  return facts.flatMap(([name, of]) =>
    of(became) === of(previewed)
      ? []
      : [`${capital(name)}: ${of(became)}, and ${of(previewed)} was previewed.`],
  );
}

/** Returns where an invoice came otherwise: another sum, or refused by the ledger. */
export function invoiceDifferences(
  invoice: Invoice | undefined,
  previewed: readonly PreviewInvoice[],
): readonly string[] {
  const wanted = previewed.find(({ invoice: id }) => id === invoice?.id) ?? previewed.at(-1);
  if (invoice === undefined)
    return wanted === undefined ? [] : ["An invoice was previewed, and there is none."];
  const { number, subtotal, currency, ledger } = invoice;
  return [
    wanted === undefined && `Invoice ${number} was issued, and none was previewed.`,
    wanted !== undefined &&
      compare(parseDecimal(wanted.subtotal), parseDecimal(subtotal)) !== 0 &&
      `Invoice ${number} comes to ${moneyText(subtotal, currency)}, and ` +
        `${moneyText(wanted.subtotal, currency)} was previewed.`,
    ledger?.syncStatus === LedgerSyncStatus.FAILED &&
      `The ledger refused invoice ${number}: ${ledger.syncError ?? "no reason"}`,
  ].filter((difference) => difference !== false);
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
