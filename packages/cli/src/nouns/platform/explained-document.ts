/** Documents of a preview and of a renewal: each line with the derivation of its amount. */
import { describeAmount } from "../../../../../src/domain/explanation/for-person.ts";
import type { Explanation, Unavailable } from "../../../../../src/domain/explanation/shown.ts";
import { type LaidDocument, type LaidLine, layDocument } from "../../output/document.ts";
import { capital } from "../../output/words.ts";
import type { Terminal } from "../../terminal.ts";
import type { Explained, ShownLine, Upcoming } from "./shown.ts";

/**
 * The lines of a document. A derivation stands below its line. A line that has none shows its text
 * on the document.
 */
export function explainedLines(
  lines: readonly ShownLine[],
  explained: Explained | undefined,
): readonly LaidLine[] {
  const explanation = explained && readExplanation(explained);
  return lines.map((line, index) => {
    const derivation = explanation?.available ? explanation.lines[index] : undefined;
    if (derivation === undefined || !explanation?.available) return statedLine(line);
    const { name: title, amount } = line;
    return { title, amount, how: describeAmount(derivation, explanation, line) };
  });
}

/** A line with its text on the document. */
export function statedLine({
  name,
  description,
  amount,
  period,
  effective_date: since,
}: ShownLine): LaidLine {
  const from = since === undefined ? "" : `, from ${since.slice(0, 10)}`;
  const days = period ? `, ${period.start} to ${period.end}` : from;
  return { title: `${name}${days}`, amount, how: description === "" ? [] : [description] };
}

/** Returns the documents of a renewal, below each other. */
export function renewalDocuments(terminal: Terminal, upcoming: Upcoming): readonly string[] {
  const { renewal_date: date, period, issued, lines, credits, currency, explanations } = upcoming;
  const when = period === undefined ? "the end" : "the renewal";
  let [line, credit] = [0, 0];
  return explanations.flatMap((explained, index) => {
    const explanation = readExplanation(explained);
    const isCredit = explanation.object === "credit_note";
    // Where one has no derivations, all that is left stands below it.
    const count = explanation.available ? explanation.lines.length : lines.length + credits.length;
    const own = isCredit ? credits.slice(credit, credit + count) : lines.slice(line, line + count);
    if (isCredit) credit += count;
    else line += count;
    const parts = [
      `${isCredit ? "credit note" : "invoice"} of ${when} on ${date}`,
      ...(issued && index === 0 ? ["issued already"] : []),
    ];
    const document: LaidDocument = {
      title: capital(parts.join(", ")),
      currency,
      lines: explainedLines(own, explained),
      sums: explanation.available ? [["without tax", explanation.subtotal]] : [],
    };
    return ["", ...layDocument(terminal, document)];
  });
}

function readExplanation({ body }: Explained): Explanation | Unavailable {
  return JSON.parse(body);
}
