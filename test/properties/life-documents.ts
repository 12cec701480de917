/** What documents do to the life of a subscription in memory. */
import type { CreditNoteDraft } from "../../src/domain/model/credit-note.ts";
import type { InvoiceAmendment, InvoiceLineDraft } from "../../src/domain/model/invoice.ts";
import type { Life, Paper } from "./life.ts";

/** Adds lines to an invoice, and re-prices its plan line. */
export function amend(life: Life, { invoiceId, planLine, added }: InvoiceAmendment): Life {
  const lines = (paper: Paper) => [
    ...paper.lines.map((line) => (line.kind === "plan" ? (planLine ?? line) : line)),
    ...added,
  ];
  return {
    ...life,
    papers: life.papers.map((paper) =>
      paper.id === invoiceId ? { ...paper, lines: lines(paper) } : paper,
    ),
  };
}

/** Defers a line, or records on which invoice it is billed. */
export function defer(
  life: Life,
  { name, description, amount, facts, period, proration }: InvoiceLineDraft,
  paperId: string | null,
): Life {
  if (period === null || proration === null) throw new Error("what is deferred is a proration");
  const line = {
    id: `deferred ${life.deferred.length}`,
    name,
    description,
    amount,
    ...(facts?.r === "proration/1" && { facts }),
    period,
    ...proration,
  };
  return { ...life, deferred: [...life.deferred, { line, paperId }] };
}

/** Adds the lines of a credit note. */
export function creditIn(life: Life, { lines }: CreditNoteDraft): Life {
  return { ...life, credits: [...life.credits, ...lines] };
}

/** A person removes an invoice in the ledger: nothing else bills what was on it. */
export function removeByHand(life: Life, id: string): Life {
  const papers = life.papers.map((paper) =>
    paper.id === id ? { ...paper, isRemoved: true, byHand: true } : paper,
  );
  return { ...life, papers };
}

/** Deferred lines of a removed renewal invoice are pending again. */
export function remove(life: Life, id: string): Life {
  const papers = life.papers.map((paper) =>
    paper.id === id ? { ...paper, isRemoved: true } : paper,
  );
  const isAhead = papers.some(
    (one) => one.id === id && one.type === "renewal" && one.periodIndex > life.current,
  );
  const deferred = life.deferred.map((one) =>
    isAhead && one.paperId === id ? { ...one, paperId: null } : one,
  );
  return { ...life, papers, deferred };
}
