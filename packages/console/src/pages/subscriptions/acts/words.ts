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

/** What becomes of documents: what the button says, and what is said once it was done. */
type Phrase = readonly [effect: string, done: string];

/** Returns what the preview does to documents: `raise invoice INV-7 by NZD 48.39`. */
function phrasesOf(preview: SubscriptionPreview, subtotals: Subtotals): readonly Phrase[] {
  const { issuedInvoices: issued, amendedInvoices, creditNotes, removedInvoices } = preview;
  const currency = preview.subscription?.currency ?? "";
  const sumOf = (all: readonly { readonly subtotal: string }[]) => moneyText(total(all), currency);
  const credit = sumOf(creditNotes);
  const deferred = sumOf(preview.deferredLines.map(({ amount }) => ({ subtotal: amount })));
  return [
    ...(issued.length > 0 ? [issuePhrase(issued, sumOf(issued))] : []),
    ...amendedInvoices.map((invoice) => amendPhrase(invoice, subtotals)),
    ...(creditNotes.length > 0 ? [[`credit ${credit}`, `${credit} was credited`] as const] : []),
    ...(preview.deferredLines.length > 0
      ? [[`add ${deferred} to the renewal`, `${deferred} was added to the renewal`] as const]
      : []),
    ...(removedInvoices.length > 0 ? [removePhrase(removedInvoices)] : []),
  ];
}

function issuePhrase(issued: readonly PreviewInvoice[], sum: string): Phrase {
  const count = issued.length;
  const what = count === 1 ? "an invoice" : `${count} invoices`;
  const [{ number = undefined } = {}] = issued;
  const named = number === undefined ? capital(what) : `Invoice ${number}`;
  return [`issue ${what} of ${sum}`, `${named} of ${sum} ${count === 1 ? "was" : "were"} issued`];
}

function amendPhrase(
  { invoice, number, subtotal, currency }: PreviewInvoice,
  subtotals: Subtotals,
): Phrase {
  const named = `invoice ${number ?? ""}`.trim();
  const amended: Phrase = [`amend ${named}`, `${capital(named)} was amended`];
  const was = subtotals.get(invoice ?? "");
  const sign = was === undefined ? 0 : compare(parseDecimal(subtotal), parseDecimal(was));
  if (was === undefined || sign === 0) return amended;
  const by = formatDecimal(subtract(parseDecimal(subtotal), parseDecimal(was)));
  const size = moneyText(by.replace("-", ""), currency);
  const [act, done] = sign > 0 ? ["raise", "raised"] : ["lower", "lowered"];
  return [`${act} ${named} by ${size}`, `${capital(named)} was ${done} by ${size}`];
}

function removePhrase(removed: SubscriptionPreview["removedInvoices"]): Phrase {
  const numbers = list(removed.map(({ number }) => number ?? "the new one"));
  const [what, were] = removed.length === 1 ? ["invoice", "was"] : ["invoices", "were"];
  const unless = removed.some(({ onlyIfUnsent }) => onlyIfUnsent) ? ", unless it was sent" : "";
  return [`remove ${what} ${numbers}`, `${capital(what)} ${numbers} ${were} removed${unless}`];
}

const list = (texts: readonly string[]) => new Intl.ListFormat("en-GB").format(texts);

/** Returns the act with what it does to documents: `Change to 12 seats and issue an invoice …`. */
export function effectOf(
  act: string,
  preview: SubscriptionPreview | undefined,
  subtotals: Subtotals = new Map(),
): string {
  const phrases = preview === undefined ? [] : phrasesOf(preview, subtotals);
  return list([act, ...phrases.map(([effect]) => effect)]);
}

/**
 * Returns what was done: `Raised to 12 seats. Invoice INV-7 was raised by NZD 48.39`. The invoices
 * that came take the place of the previewed ones.
 */
export function doneOf(
  act: string,
  preview: SubscriptionPreview | undefined,
  came: readonly (Invoice | undefined)[] = [],
  subtotals: Subtotals = new Map(),
): string {
  if (preview === undefined) return act;
  const { amendedInvoices: amended, issuedInvoices: issued } = preview;
  const invoices = came.filter((invoice) => invoice !== undefined);
  const news = invoices.find(({ id }) => amended.every(({ invoice }) => invoice !== id));
  const happened = {
    ...preview,
    amendedInvoices: amended.map((each) =>
      asCame(
        each,
        invoices.find(({ id }) => id === each.invoice),
      ),
    ),
    issuedInvoices: issued.length === 1 ? issued.map((each) => asCame(each, news)) : issued,
  };
  return [act, ...phrasesOf(happened, subtotals).map(([, done]) => done)].join(". ");
}

const asCame = (previewed: PreviewInvoice, came: Invoice | undefined): PreviewInvoice =>
  came === undefined ? previewed : { ...previewed, number: came.number, subtotal: came.subtotal };

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
