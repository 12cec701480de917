/**
 * Documents as they were stored once, each with the explanation that it had then. None is ever
 * changed: a new version of a rule gets an example of its own.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type LineFacts, readFacts } from "../../src/domain/explanation/facts.ts";
import type { DocumentObject } from "../../src/domain/explanation/named-facts.ts";
import { type PriceSheet, readSheet } from "../../src/domain/explanation/price-sheet.ts";
import { type DocumentToExplain, explain } from "../../src/domain/explanation/render.ts";
import type { Explanation, Unavailable } from "../../src/domain/explanation/shown.ts";
import { parseDecimal } from "../../src/domain/money/decimal.ts";
import { hash } from "./explained.ts";

/** A document as it is stored. `sheets`: the canonical texts by their names. */
interface StoredDocument {
  readonly object: DocumentObject;
  readonly id: string;
  readonly number: string;
  readonly subscriptionId: string;
  readonly currency: string;
  readonly sheets: Readonly<Record<string, string>>;
  readonly lines: readonly {
    readonly id: string;
    readonly amount: string;
    readonly facts: string;
  }[];
}

/** A stored document, with its explanation of then. */
export interface StoredExample {
  readonly name: string;
  readonly stored: StoredDocument;
  readonly explanation: Explanation;
}

const folder = join(import.meta.dirname, "examples");

/** All of them, by their names. */
export const examples: readonly StoredExample[] = readdirSync(folder)
  .toSorted()
  .map((file) => ({
    ...JSON.parse(readFileSync(join(folder, file), "utf8")),
    name: file.replace(/\.json$/, ""),
  }));

/** The facts of a stored line. */
export function factsIn(stored: StoredDocument, text: string): LineFacts {
  return readFacts(text, (name): PriceSheet => {
    const sheet = stored.sheets[name];
    if (sheet === undefined) throw new Error(`there is no sheet ${name}`);
    return readSheet(sheet);
  });
}

/** The explanation of a stored document today. */
export function explainedToday(stored: StoredDocument): Explanation | Unavailable {
  const { object, id, number, subscriptionId, currency } = stored;
  const lines = stored.lines.map(({ id, amount, facts }) => ({
    id,
    amount: parseDecimal(amount),
    facts: factsIn(stored, facts),
  }));
  const document: DocumentToExplain = { object, id, number, subscriptionId, currency, lines };
  return explain(document, hash);
}
