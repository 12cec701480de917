/** What a preview or an upcoming invoice shows to a person: each document with its arithmetic. */
import {
  describeExplanation,
  type LineHeading,
} from "../../../../../src/domain/explanation/for-person.ts";
import type { Explanation, Unavailable } from "../../../../../src/domain/explanation/shown.ts";
import type { Json } from "../../output/message-json.ts";

/** The members of a document that are read here. `explanation` is as in `Explained`. */
interface PreviewedDocument {
  readonly number?: string;
  readonly type: string;
  readonly issue_date: string;
  readonly credit_note_date: string;
  readonly lines: readonly LineHeading[];
  readonly explanation: Explained;
  readonly overdue: boolean;
}

/** An explanation, with its JSON as REST answers it. */
interface Explained {
  readonly body: string;
}

interface UpcomingInvoice {
  readonly renewal_date: string;
  readonly issued: boolean;
  readonly lines: readonly LineHeading[];
  readonly credits: readonly LineHeading[];
  readonly explanations: readonly Explained[];
}

interface SubscriptionPreview {
  readonly issued_invoices: readonly PreviewedDocument[];
  readonly amended_invoices: readonly PreviewedDocument[];
  readonly removed_invoices: readonly PreviewedDocument[];
  readonly credit_notes: readonly PreviewedDocument[];
  readonly deferred_lines: readonly { readonly name: string; readonly description: string }[];
  readonly upcoming_invoice?: UpcomingInvoice;
  readonly assumptions: readonly string[];
}

/** Returns the lines of a preview. */
export function previewLines(json: Json): readonly string[] {
  const preview = json as unknown as SubscriptionPreview;
  const { issued_invoices: issued, amended_invoices: amended, credit_notes: credited } = preview;
  const documents = [
    ...issued.flatMap((one) =>
      documentLines(one, `Issues ${kindOf(one)}, dated ${one.issue_date}${overdueOf(one)}`),
    ),
    ...amended.flatMap((one) => documentLines(one, `Amends ${kindOf(one)}`)),
    ...preview.removed_invoices.map((one) => `Removes ${kindOf(one)}`),
    ...credited.flatMap((one) =>
      documentLines(one, `Credits, dated ${one.credit_note_date.slice(0, 10)}${overdueOf(one)}`),
    ),
    ...preview.deferred_lines.map(
      ({ name, description }) => `Defers to the renewal: ${name}, ${description}`,
    ),
  ];
  const { upcoming_invoice: upcoming, assumptions } = preview;
  return [
    ...(documents.length === 0 ? ["No document is issued, amended, removed or credited."] : []),
    ...documents,
    ...(upcoming === undefined ? [] : renewalLines(upcoming)),
    ...assumptions.map((one) => `Taken for granted: ${one.replaceAll("_", " ")}`),
  ];
}

/** Returns the lines of an upcoming invoice. */
export function upcomingLines(json: Json): readonly string[] {
  return renewalLines(json as unknown as UpcomingInvoice);
}

/** The lines stand on the documents in their order, as the explanations do. */
function renewalLines(upcoming: UpcomingInvoice): readonly string[] {
  const { renewal_date: date, issued, lines, credits, explanations } = upcoming;
  if (explanations.length === 0) return [`The renewal on ${date} issues no document.`];
  const headings = [...lines, ...credits];
  let position = 0;
  return explanations.flatMap((one, index) => {
    const explanation = read(one);
    // Where one has no lines, those of the next ones cannot be found.
    const count = explanation.available ? explanation.lines.length : headings.length;
    const own = headings.slice(position, position + count);
    position += count;
    const verb = explanation.object === "credit_note" ? "credits" : "bills";
    const when = issued && index === 0 ? ", issued ahead" : "";
    return describe(explanation, own, `The renewal on ${date} ${verb}${when}`);
  });
}

function documentLines(document: PreviewedDocument, title: string): readonly string[] {
  return describe(read(document.explanation), document.lines, title);
}

function read({ body }: Explained): Explanation | Unavailable {
  return JSON.parse(body);
}

function describe(
  explanation: Explanation | Unavailable,
  headings: readonly LineHeading[],
  title: string,
): readonly string[] {
  if (explanation.available) return describeExplanation(explanation, headings, title);
  return [`${title}: no explanation (${explanation.reason})`];
}

function kindOf({ number, type }: PreviewedDocument): string {
  return number === undefined ? `an invoice (${type})` : `invoice ${number} (${type})`;
}

function overdueOf({ overdue }: PreviewedDocument): string {
  return overdue ? ", overdue" : "";
}
