/**
 * Amends invoices that the ledger has, inside the transaction of the change that requests it. Each
 * amendment leaves a job that posts it (POSTING-1). SQL: part of the hot path of units, and each
 * statement reads and writes several rows.
 */

import type { Billed } from "../../domain/billing/billed-by.ts";
import { amendedFacts, type LineFacts } from "../../domain/explanation/facts.ts";
import type { InvoiceAmendment, InvoiceLineDraft } from "../../domain/model/invoice.ts";
import { formatDecimal, parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { columnSet } from "../database/column-set.ts";
import type { Transaction } from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import {
  type DocumentToIssue,
  decimalText,
  insertLines,
  invoiceLineColumns,
  invoiceLineRecords,
} from "./document-writes.ts";
import { factsText } from "./line-facts.ts";

/** An amendment to write. `before`: what the invoice's period was billed for before it. */
interface AmendmentToWrite {
  readonly jobId: string;
  readonly subscriptionId: string;
  readonly amendment: InvoiceAmendment;
  readonly before: Billed | null;
  /** The organisation's now. */
  readonly now: Date;
  readonly awaitedUntil: Date | null;
}

// Keeps the ledger's plan line over all amendments. Once the ledger accepts one, it is dropped. If
// the ledger accepts none any more, it is restored.
const reprice = command({
  name: "reprice_plan_line",
  text: sql`
    WITH
      line AS (
        UPDATE invoice_lines l
        SET
          units = $3,
          description = $4,
          unit_price = $5,
          amount = $6,
          amending = true,
          facts = $8
        WHERE
          l.organisation_id = $1
          AND l.invoice_id = $2
          AND l.kind = 'plan'
          AND (l.units, l.description, l.unit_price, l.amount) IS DISTINCT FROM (
            $3::int, $4::text, $5::numeric, $6::numeric
          )
        RETURNING l.id
      ),
      kept AS (
        UPDATE invoices i
        SET amending_from = jsonb_build_object(
          'units',
          l.units,
          'description',
          l.description,
          'unit_price',
          l.unit_price,
          'amount',
          l.amount,
          'billed_units',
          $7::int,
          'billed_by',
          $9::text,
          'facts',
          l.facts
        )
        FROM
          line
          JOIN invoice_lines l ON l.organisation_id = $1 AND l.id = line.id
        WHERE i.organisation_id = $1 AND i.id = $2 AND i.amending_from IS NULL
      )
    SELECT
    FROM line
  `,
});

const readPlanLine = query({
  name: "read_plan_line",
  text: sql`
    SELECT l.amount, l.facts
    FROM invoice_lines l
    WHERE l.organisation_id = $1 AND l.invoice_id = $2 AND l.kind = 'plan'
  `,
  row: pick(columns.invoiceLine, "amount", "facts"),
});

const lineSet = columnSet(invoiceLineColumns, 3);

const addLines = command({
  name: "append_lines",
  text: sql`${insertLines("invoice", invoiceLineColumns, sql`last.next + r.position`)}
  FROM ${lineSet.source(sql`r`)}, (
    SELECT coalesce(max(l.position), -1) + 1 AS next FROM invoice_lines l
    WHERE l.organisation_id = $1 AND l.invoice_id = $2) AS last`,
});

// Total and amount due stay the ledger's until it has the new lines.
const ask = command({
  name: "ask_amendment",
  text: sql`
    WITH
      amended AS (
        UPDATE invoices i
        SET subtotal = (
          SELECT sum(l.amount)
          FROM invoice_lines l
          WHERE l.organisation_id = $1 AND l.invoice_id = i.id
        )
        WHERE i.organisation_id = $1 AND i.id = $2
        RETURNING i.id
      )
    INSERT INTO ledger_jobs
      (id, organisation_id, kind, state, subscription_id, invoice_id, joins, awaited_until)
    SELECT $3, $1, 'amend_invoice', 'ready', $4, amended.id, $5, $6::timestamptz FROM amended
  `,
});

/** Returns the facts of the re-priced plan line, with what it was. */
async function repricedFacts(
  client: Transaction,
  organisationId: string,
  { subscriptionId, amendment: { invoiceId }, now }: AmendmentToWrite,
  planLine: InvoiceLineDraft,
): Promise<string | null> {
  const facts = factsText(planLine, subscriptionId);
  const [before] = await readPlanLine(client, organisationId, invoiceId);
  if (facts === null || before === undefined || before.facts === null) return facts;
  const repriced: LineFacts<string> = JSON.parse(facts);
  const line = {
    facts: JSON.parse(before.facts),
    amount: parseDecimal(before.amount),
    until: now,
    nameOf: (name: string) => name,
  };
  return JSON.stringify(amendedFacts(repriced, line));
}

/**
 * Re-prices the plan line if it differs, appends the added lines, and writes the job. False if the
 * invoice is already as decided, so that no job is needed.
 */
export async function saveAmendment(
  client: Transaction,
  organisationId: string,
  toWrite: AmendmentToWrite,
): Promise<boolean> {
  const { jobId, subscriptionId, amendment, before, awaitedUntil } = toWrite;
  const { invoiceId, planLine, added, onlyDraft } = amendment;
  let isChanged = added.length > 0;
  if (planLine !== null) {
    const { units, description, unitPrice, amount } = planLine;
    const price = [units, description, decimalText(unitPrice), formatDecimal(amount)];
    const facts = await repricedFacts(client, organisationId, toWrite, planLine);
    const billed = [before?.billedUnits, facts, before?.billedBy];
    const repriced = await reprice(client, organisationId, invoiceId, ...price, ...billed);
    isChanged ||= repriced === 1;
  }
  if (!isChanged) return false;
  if (added.length > 0)
    await appendLines(client, organisationId, { id: invoiceId, subscriptionId }, added, true);
  await ask(client, organisationId, invoiceId, jobId, subscriptionId, onlyDraft, awaitedUntil);
  return true;
}

/**
 * Appends lines to an invoice. `amending`: the ledger has the invoice already but not these lines.
 */
export async function appendLines(
  client: Transaction,
  organisationId: string,
  invoice: Pick<DocumentToIssue<unknown>, "id" | "subscriptionId">,
  lines: readonly InvoiceLineDraft[],
  amending: boolean,
): Promise<void> {
  const records = invoiceLineRecords(invoice, lines, amending);
  await addLines(client, organisationId, invoice.id, ...lineSet.arrays(records));
}
