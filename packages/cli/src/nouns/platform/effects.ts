/** What an act on a subscription does to documents: the sentence that comes first. */
import { enumerated, money, negative } from "../../output/words.ts";
import type { Upcoming } from "./shown.ts";

/** A document that an act concerns. A preview reserves no number. */
export interface Concerned {
  readonly number?: string;
  readonly currency: string;
  readonly subtotal: string;
}

/** An amended document. `by`: by how much its subtotal changed. Null if that is not known. */
export interface Amended extends Concerned {
  readonly by: string | null;
}

/** What an act does, or would do, to documents. */
export interface Effects {
  readonly issued: readonly Concerned[];
  readonly amended: readonly Amended[];
  readonly removed: readonly Concerned[];
  readonly credited: readonly Concerned[];
  readonly deferred: readonly Concerned[];
  /** What the next renewal bills. Null if there is none. */
  readonly upcoming: Upcoming | null;
}

/**
 * Returns `INV-0005 is amended by NZD 62.50; the next renewal, on 2026-12-01, bills NZD 251.00
 * (without tax)`. What does not happen is said as well.
 */
export function effectsText(effects: Effects): string {
  const { issued, amended, removed, credited, deferred, upcoming } = effects;
  const parts = [
    ...sentences(issued, "is issued", "are issued"),
    ...amended.map(amendedText),
    ...sentences(removed, "is removed", "are removed"),
    ...credited.map((note) => `${worth(note)} is credited`),
    ...deferred.map((line) => `${worth(line)} waits for the renewal`),
  ];
  const documents = parts.length === 0 ? "no document is issued or changed" : enumerated(parts);
  const billsMore = upcoming !== null && upcoming.explanations.length > 0;
  const tax = parts.length > 0 && !billsMore ? " (without tax)" : "";
  const renewal = upcoming === null ? "nothing renews after that" : renewalText(upcoming);
  return `${documents}${tax}; ${renewal}`;
}

/** Returns `the next renewal, on 2026-12-01, bills NZD 251.00 (without tax)`. */
export function renewalText(upcoming: Upcoming): string {
  const { renewal_date: date, period, currency, subtotal, explanations, issued } = upcoming;
  const what = period === undefined ? "the end of its last period" : "the next renewal";
  if (explanations.length === 0) return `${what}, on ${date}, bills nothing`;
  const ahead = issued ? ", and its invoice is issued already" : "";
  const does = subtotal.startsWith("-")
    ? `credits ${money(currency, negative(subtotal))}`
    : `bills ${money(currency, subtotal)}`;
  return `${what}, on ${date}, ${does} (without tax)${ahead}`;
}

function sentences(documents: readonly Concerned[], one: string, many: string): readonly string[] {
  const named = documents.map((each) => `${each.number ?? "an invoice"} over ${worth(each)}`);
  return named.length === 0 ? [] : [`${enumerated(named)} ${named.length === 1 ? one : many}`];
}

function amendedText(document: Amended): string {
  const { number, currency, by } = document;
  const name = number ?? "an invoice";
  if (by === null) return `${name} is amended to ${worth(document)}`;
  if (by.startsWith("-")) return `${name} is lowered by ${money(currency, negative(by))}`;
  return `${name} is amended by ${money(currency, by)}`;
}

const worth = ({ currency, subtotal }: Concerned) => money(currency, subtotal);
