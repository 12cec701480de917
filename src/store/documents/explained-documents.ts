/** Loads documents with the facts of their lines. SQL: one read has lines with their sheets. */
import type { DocumentToExplain } from "../../domain/explanation/render.ts";
import { formatDecimal, isNegative, parseDecimal, subtract } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { isId } from "../database/ids.ts";
import { bool, jsonRows, pick, text, uuid } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { type DocumentKind, documentKinds, ofKinds } from "./document-kinds.ts";
import { factsColumns, factsRow, readLineFacts } from "./line-facts.ts";

const row = {
  ...pick(columns.invoice, "id", "number", "subscriptionId", "currency", "subtotal", "total"),
  hasLedgerTotal: bool,
  allocations: jsonRows({ invoice: uuid, amount: text, isDecided: bool }).orNull(),
  lines: jsonRows({ id: uuid, amount: text, ...factsRow }).orNull(),
};

const notAmending = sql`AND NOT EXISTS (SELECT FROM invoice_lines l WHERE l.organisation_id = $1
  AND l.invoice_id = d.id AND l.amending)`;

// Whoever removes an allocation in the ledger and makes the same one again is not seen.
const allocations = sql`(SELECT json_agg(r) FROM (
    SELECT a.invoice_id AS invoice, a.amount::text AS amount, EXISTS (SELECT FROM ledger_jobs j
      WHERE j.organisation_id = $1 AND j.credit_note_id = d.id AND j.kind = 'allocate_credit'
        AND j.state = 'done' AND j.invoice_id = a.invoice_id AND j.amount = a.amount) AS is_decided
    FROM allocations a
    WHERE a.organisation_id = $1 AND a.credit_note_id = d.id AND a.status = 'active'
    ORDER BY a.date, a.id) r)`;

// A total counts other lines than ours while an amendment is on its way, and after a drift.
const reading = ofKinds((kind) => {
  const of = documentKinds[kind];
  return query({
    name: `load_${kind}_to_explain`,
    text: sql`SELECT d.id, d.number, d.subscription_id, d.currency, d.subtotal, d.total,
      d.${of.ledgerId} IS NOT NULL AND coalesce(d.ledger_subtotal, d.subtotal) = d.subtotal
        ${kind === "invoice" ? notAmending : sql``} AS has_ledger_total,
      ${kind === "invoice" ? sql`NULL::json` : allocations} AS allocations,
      (SELECT json_agg(r) FROM (SELECT l.id, l.amount::text AS amount, ${factsColumns(sql`l`)}
        FROM ${of.lines} l WHERE l.organisation_id = $1 AND l.${of.id} = d.id
        ORDER BY l.position) r) AS lines
    FROM ${of.table} d WHERE d.organisation_id = $1 AND d.id = $2`,
    row,
  });
});

/**
 * Loads a document as `explain` takes it. Null if it does not exist or belongs to another
 * organisation. Tax and total are the ledger's once it has the document.
 */
export async function loadDocumentToExplain(
  executor: Executor,
  organisationId: string,
  kind: DocumentKind,
  id: string,
): Promise<DocumentToExplain | null> {
  if (!isId(id)) return null;
  const [found] = await reading[kind](executor, organisationId, id);
  if (found === undefined) return null;
  const { number, subscriptionId, currency, hasLedgerTotal, allocations } = found;
  const total = parseDecimal(found.total);
  const tax = subtract(total, parseDecimal(found.subtotal));
  return {
    object: kind,
    id: found.id,
    number,
    subscriptionId,
    currency,
    lines: (found.lines ?? []).map(({ id: line, amount, ...stored }) => {
      const read = readLineFacts(stored);
      const isSheetMissing = stored.facts !== null && read.facts === undefined;
      return { id: line, amount: parseDecimal(amount), ...read, isSheetMissing };
    }),
    ...(hasLedgerTotal &&
      !isNegative(tax) && { ledger: { tax: formatDecimal(tax), total: formatDecimal(total) } }),
    ...(allocations && {
      allocations: allocations.map(({ invoice, amount, isDecided }) => ({
        ...{ invoice, amount, by: isDecided ? "service" : "ledger" },
      })),
    }),
  };
}
