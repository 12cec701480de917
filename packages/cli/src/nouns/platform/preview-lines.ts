/** What a person reads of a preview and of an upcoming invoice: a sentence, then each document. */

import type { Work } from "../../noun.ts";
import { layDocument, layText } from "../../output/document.ts";
import type { Json } from "../../output/message-json.ts";
import { capital, differenceOf, enumerated } from "../../output/words.ts";
import { readInvoice } from "./act-lines.ts";
import { type Amended, effectsText, renewalText } from "./effects.ts";
import { explainedLines, renewalDocuments, statedLine } from "./explained-document.ts";
import type {
  PreviewedCreditNote,
  PreviewedInvoice,
  SubscriptionPreview,
  Upcoming,
} from "./shown.ts";
import { planOf, subscriptionText } from "./subscription-lines.ts";

/** Returns the lines of a preview. Reads what the invoices that it amends come to at present. */
export async function previewLines(json: Json, work: Work): Promise<readonly string[]> {
  const preview = json as unknown as SubscriptionPreview;
  const { terminal } = work;
  const { subscription, upcoming_invoice: upcoming = null, deferred_lines: deferred } = preview;
  const events = preview.events.map(({ type, count }) =>
    count === 1 ? type : `${type} × ${count}`,
  );
  const [plan, ...was] = await Promise.all([
    subscription === undefined ? null : planOf(work, subscription.plan),
    ...preview.amended_invoices.map((one) => subtotalNow(work, one)),
  ]);
  const currency = subscription?.currency ?? "";
  const effects = {
    issued: preview.issued_invoices,
    amended: preview.amended_invoices.map((one, index): Amended => {
      const before = was[index] ?? null;
      const by = before === null ? null : differenceOf(one.subtotal, before);
      return { ...one, by };
    }),
    removed: preview.removed_invoices.map((one) => ({ ...one, currency })),
    credited: preview.credit_notes,
    deferred: deferred.map(({ amount }) => ({ currency, subtotal: amount })),
    upcoming,
  };
  return [
    ...layText(terminal, `${capital(effectsText(effects))}. Nothing is changed by this preview.`),
    ...(subscription === undefined
      ? []
      : ["", ...layText(terminal, subscriptionText(subscription, plan))]),
    ...preview.issued_invoices.flatMap((one) => documentOf(work, `Issued: ${kindOf(one)}`, one)),
    ...preview.amended_invoices.flatMap((one, index) =>
      documentOf(work, `Amended: ${kindOf(one)}`, one, was[index]),
    ),
    ...preview.removed_invoices.flatMap(({ number, type, subtotal, only_if_unsent: unsent }) => [
      "",
      ...layDocument(terminal, {
        title: `Removed: ${number ?? "an invoice"} (${type})`,
        currency,
        lines: [],
        sums: [[`without tax${unsent ? ", unless the ledger has sent it by then" : ""}`, subtotal]],
      }),
    ]),
    ...preview.credit_notes.flatMap((one) =>
      documentOf(work, `Credited: a credit note${datesOf(one)}`, one),
    ),
    ...(deferred.length === 0
      ? []
      : [
          "",
          ...layDocument(terminal, {
            title: "Waits for the renewal",
            currency,
            lines: deferred.map(statedLine),
            sums: [],
          }),
        ]),
    ...(upcoming === null ? [] : renewalDocuments(terminal, upcoming)),
    ...(events.length === 0
      ? []
      : ["", ...layText(terminal, `The platform is told: ${enumerated(events)}.`)]),
    ...assumed(preview.assumptions).flatMap((text) => ["", ...layText(terminal, text)]),
  ];
}

/** Returns the lines of an upcoming invoice. */
export function upcomingLines(json: Json, { terminal }: Work): readonly string[] {
  const upcoming = json as unknown as Upcoming;
  return [
    ...layText(terminal, `${capital(renewalText(upcoming))}.`),
    ...renewalDocuments(terminal, upcoming),
  ];
}

async function subtotalNow(work: Work, { invoice }: PreviewedInvoice): Promise<string | null> {
  return invoice === undefined ? null : (await readInvoice(work, invoice)).subtotal;
}

function documentOf(
  { terminal }: Work,
  title: string,
  { currency, lines, subtotal, explanation }: PreviewedInvoice | PreviewedCreditNote,
  was: string | null = null,
): readonly string[] {
  const before = was === null ? [] : [["without tax, as it is", was] as const];
  return [
    "",
    ...layDocument(terminal, {
      title,
      currency,
      lines: explainedLines(lines, explanation),
      sums: [...before, ["without tax", subtotal]],
    }),
  ];
}

function kindOf(invoice: PreviewedInvoice): string {
  const { number, type } = invoice;
  return `${number ?? "an invoice"} (${type})${datesOf(invoice)}`;
}

function datesOf(one: PreviewedInvoice | PreviewedCreditNote): string {
  const date = "issue_date" in one ? one.issue_date : one.credit_note_date.slice(0, 10);
  const due = "due_date" in one && one.due_date !== undefined ? `, due ${one.due_date}` : "";
  return `, dated ${date}${due}${one.overdue ? ", of what is overdue" : ""}`;
}

const assumptions: Readonly<Record<string, string>> = {
  invoices_accepted: "accepts the invoices that it does not have yet",
  amendments_accepted: "still takes the amendments",
  removals_accepted: "removes the invoices",
};

function assumed(words: readonly string[]): readonly string[] {
  const texts = words.map((word) => assumptions[word] ?? word);
  if (texts.length === 0) return [];
  return [`The ledger was not asked: this takes for granted that it ${enumerated(texts)}.`];
}
