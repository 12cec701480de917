/**
 * Reads every document of an organisation by an API key, checks each explanation, and holds what it
 * says against the objects that the API shows.
 */
import { type Api, NotReadable } from "./api.ts";
import { type Comparison, lookUp } from "./look-up.ts";
import type { Explanation, Listed } from "./shapes.ts";
import { verify } from "./verify.ts";

/** What was found. `faults` names each document, and what is wrong with it. */
export interface Found {
  readonly documents: number;
  readonly lines: number;
  verified: number;
  /** Lines of documents that are older than explanations. */
  unexplained: number;
  /** Lines whose amount is the document's, and documents whose subtotal is their sum. */
  amounts: number;
  sums: number;
  lookedUp: number;
  agreeing: number;
  notShown: number;
  readonly faults: string[];
}

const kinds = ["invoices", "credit_notes"] as const;

/** What was found of one document. `older`: it has no explanation and needs none. */
type Checked = Comparison & { readonly verified: number; readonly older: boolean };

const nothing = {
  amounts: 0,
  isSum: false,
  lookedUp: 0,
  agreeing: 0,
  notShown: 0,
  verified: 0,
  older: false,
};

async function check(
  api: Api,
  kind: (typeof kinds)[number],
  document: Listed,
  amounts: ReadonlyMap<string, string>,
): Promise<Checked> {
  const text = await api.text(`/v1/${kind}/${document.id}/explanation`);
  if (text === undefined) return { ...nothing, faults: ["has no explanation (404)"] };
  const explanation: Explanation & { readonly reason?: string } = JSON.parse(text);
  if (explanation.reason === "issued_before") return { ...nothing, older: true, faults: [] };
  const verdict = await verify(text);
  if (!verdict.verified)
    return { ...nothing, faults: [`does not follow at ${verdict.at}: ${verdict.why}`] };
  const comparison = await lookUp(api, explanation, document, amounts);
  return { ...comparison, verified: verdict.lines, older: false };
}

async function documentsOf(api: Api, kind: string): Promise<readonly Listed[]> {
  const documents = await api.list<Listed>(`/v1/${kind}`);
  if (documents === undefined)
    throw new NotReadable(`/v1/${kind} was not found (404): the URL is not that of the API`);
  return documents;
}

/** Returns the amounts of all lines, by their subscriptions, kinds and ids. */
export function amountsOf(documents: readonly Listed[]): ReadonlyMap<string, string> {
  return new Map(
    documents.flatMap(({ object, subscription, lines }) =>
      lines.map(({ id, amount }) => [`${subscription} ${object}_line ${id}`, amount] as const),
    ),
  );
}

/** Checks every document. */
export async function verifyAll(api: Api): Promise<Found> {
  const lists = await Promise.all(kinds.map((kind) => documentsOf(api, kind)));
  const amounts = amountsOf(lists.flat());
  const found: Found = {
    documents: lists.flat().length,
    lines: amounts.size,
    verified: 0,
    unexplained: 0,
    amounts: 0,
    sums: 0,
    lookedUp: 0,
    agreeing: 0,
    notShown: 0,
    faults: [],
  };
  for (const [index, kind] of kinds.entries())
    for (const document of lists[index] ?? []) {
      let checked = await check(api, kind, document, amounts);
      if (checked.faults.length > 0) {
        // It may have changed since the list was read.
        api.forget();
        const now = (await api.get<Listed>(`/v1/${kind}/${document.id}`)) ?? document;
        checked = await check(api, kind, now, amounts);
      }
      found.verified += checked.verified;
      found.unexplained += checked.older ? document.lines.length : 0;
      found.amounts += checked.amounts;
      found.sums += checked.isSum ? 1 : 0;
      found.lookedUp += checked.lookedUp;
      found.agreeing += checked.agreeing;
      found.notShown += checked.notShown;
      found.faults.push(...checked.faults.map((why) => `${document.number}: ${why}`));
    }
  return found;
}

/** Checks every document, and prints what was found. Returns whether nothing is wrong. */
export async function printAll(api: Api): Promise<boolean> {
  const found = await verifyAll(api);
  const { documents, lines, verified, unexplained, faults } = found;
  for (const fault of faults) console.log(fault);
  console.log(`documents: ${documents}, lines: ${lines}`);
  console.log(`lines verified: ${verified}, not verified: ${lines - verified - unexplained}`);
  console.log(`lines older than explanations: ${unexplained}`);
  console.log(`lines with the document's amount: ${found.amounts}`);
  console.log(`documents whose subtotal is their sum: ${found.sums}`);
  console.log(`facts looked up: ${found.lookedUp}, agreeing: ${found.agreeing}`);
  console.log(`facts not shown by the API: ${found.notShown}`);
  console.log(`what is wrong: ${faults.length}`);
  return faults.length === 0;
}
