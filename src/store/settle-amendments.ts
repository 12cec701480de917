/**
 * What becomes of a taken amendment, of its invoice and of the lines that were to be changed: each outcome is written
 * at once with the operation, and told to those who wait.
 */
import { strict as assert } from "node:assert";
import type pg from "pg";
import { civilDate, todayIn } from "../domain/civil-date.ts";
import { parseDecimal } from "../domain/decimal.ts";
import type { DocumentStatus, InvoiceDraft } from "../domain/invoice.ts";
import { draftInvoice } from "../domain/invoice-draft.ts";
import { planAllocations } from "./allocations.ts";
import { lockSubscriptions } from "./billing-state.ts";
import { newId } from "./ids.ts";
import { doneMark, outcomesChannel } from "./outcomes.ts";
import { inTransaction } from "./pool.ts";
import { type Client, raiseInvoices } from "./raise-documents.ts";
import {
  isUnwritable,
  type NamedLine,
  plain,
  settleOperations,
  type UndoneSettlement,
  unwritableAnswer,
} from "./settle-operations.ts";

/**
 * The invoice as the ledger told it. `not_in_external`: the ledger no longer has it; then its amounts stay what they
 * were.
 */
export interface MirroredInvoice {
  readonly status: DocumentStatus;
  readonly total: string | null;
  readonly amountDue: string | null;
  readonly sent: boolean | null;
}

/**
 * What becomes of a taken amendment. `done`: the lines stand in the ledger. `refused`: they do not, and stay to be sent
 * by another amendment. `moved`: the invoice takes no lines any more, so that those to be added go on an invoice of
 * their own; `message` says why. `invoice` is null where the ledger told nothing of it. The rest as in
 * `UndoneSettlement`.
 */
export type AmendmentSettlement =
  | { readonly kind: "done"; readonly invoice: MirroredInvoice; readonly lines: readonly NamedLine[] }
  | {
      readonly kind: "refused";
      readonly reason: string;
      readonly message: string;
      readonly invoice: MirroredInvoice | null;
    }
  | { readonly kind: "moved"; readonly message: string; readonly invoice: MirroredInvoice }
  | Extract<UndoneSettlement, { readonly kind: "again" | "uncertain" }>;

/** Which attempt at which amendment is settled. */
export interface SettledAmendment {
  readonly id: string;
  readonly attempts: number;
  readonly subscription_id: string;
}

/** The reason of a done amendment whose lines are on an invoice of their own. */
export const movedReason = "moved";

// Only the round that holds the operation may settle it.
const closeOperation = `UPDATE operations o SET state = $4, reason = $5, message = coalesce($6, o.message),
    lease_until = NULL, settled_at = now()
  WHERE o.organisation_id = $1 AND o.id = $2 AND o.attempts = $3 AND o.state IN ('sending', 'uncertain')`;

const mirror = `status = coalesce($7, i.status), total = coalesce($8, i.total), amount_due = coalesce($9, i.amount_due),
    sent = coalesce($10, i.sent)`;

const decideText = `
WITH op AS (
  ${closeOperation} RETURNING o.id, o.state, o.invoice_id
), line AS (
  UPDATE invoice_lines l SET ledger_line_id = r.ledger_line_id, amending = false
  FROM op, jsonb_to_recordset($11) AS r(id uuid, ledger_line_id text)
  WHERE l.organisation_id = $1 AND l.invoice_id = op.invoice_id AND l.id = r.id
), invoice AS (
  UPDATE invoices i SET ${mirror}, sync_error = CASE WHEN op.state = 'refused' THEN $6 END
  FROM op WHERE i.organisation_id = $1 AND i.id = op.invoice_id
)
SELECT pg_notify('${outcomesChannel}', CASE WHEN op.state = 'done' THEN '${doneMark}' ELSE '' END || op.id) FROM op`;

/**
 * Writes what became of a taken amendment; nothing where another attempt has it by now. What the ledger answered and no
 * record fits is refused, so that an operator sees it. True where held credit of the subscription can now be put on an
 * invoice: it was left alone while one was amended; that is planned in the same transaction, its workflow still to be
 * started. decisions §6.
 */
export async function settleAmendment(
  pool: pg.Pool,
  organisationId: string,
  amendment: SettledAmendment,
  settlement: AmendmentSettlement,
): Promise<boolean> {
  try {
    return await write(pool, organisationId, amendment, settlement);
  } catch (error) {
    if (!isUnwritable(error) || settlement.kind === "again" || settlement.kind === "uncertain") throw error;
    return write(pool, organisationId, amendment, { kind: "refused", ...unwritableAnswer, invoice: null });
  }
}

async function write(
  pool: pg.Pool,
  organisationId: string,
  amendment: SettledAmendment,
  settlement: AmendmentSettlement,
): Promise<boolean> {
  if (settlement.kind === "again" || settlement.kind === "uncertain") {
    await settleOperations(pool, organisationId, [settlement]);
    return false;
  }
  const { subscription_id: subscriptionId } = amendment;
  return inTransaction(pool, async (client) => {
    // A change of units that is judged at this moment waits, and then sees the whole of it.
    await lockSubscriptions(client, organisationId, [subscriptionId]);
    const isWritten =
      settlement.kind === "moved"
        ? await move(client, organisationId, amendment, settlement)
        : await decide(client, organisationId, amendment, settlement);
    if (!isWritten) return false;
    const planned = await planAllocations(client, organisationId, [subscriptionId]);
    return planned.length > 0;
  });
}

async function decide(
  client: Client,
  organisationId: string,
  { id, attempts }: SettledAmendment,
  settlement: AmendmentSettlement & { readonly kind: "done" | "refused" },
): Promise<boolean> {
  const [reason, message, lines] =
    settlement.kind === "done"
      ? [null, null, settlement.lines]
      : [plain(settlement.reason), plain(settlement.message), []];
  const { rowCount } = await client.query({
    name: "settle_amendment",
    text: decideText,
    values: [
      organisationId,
      id,
      attempts,
      settlement.kind,
      reason,
      message,
      ...mirrorValues(settlement.invoice),
      JSON.stringify(lines.map((line) => ({ id: line.id, ledger_line_id: line.ledgerLineId }))),
    ],
  });
  return rowCount === 1;
}

function mirrorValues(invoice: MirroredInvoice | null): readonly [string | null, ...unknown[]] {
  return [invoice?.status ?? null, invoice?.total ?? null, invoice?.amountDue ?? null, invoice?.sent ?? null];
}

/** The lines to be added: never a plan line, which an amendment only re-prices. */
const addedLines = "l.amending AND l.ledger_line_id IS NULL AND l.kind <> 'plan'";

interface MovedRow {
  currency: string;
  reference: string;
  period_index: number;
  period_start: string | null;
  period_end: string | null;
  start_date: string;
  timezone: string;
  due_days: number;
  now: Date;
  subtotal: string | null;
}

const movedText = `
SELECT i.currency, i.reference, i.period_index, i.period_start, i.period_end, s.start_date, s.timezone, o.due_days,
  coalesce(o.test_clock, now()) AS now, (SELECT sum(l.amount)::text FROM invoice_lines l
    WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND ${addedLines}) AS subtotal
FROM invoices i JOIN subscriptions s ON s.organisation_id = $1 AND s.id = i.subscription_id
  JOIN organisations o ON o.id = $1
WHERE i.organisation_id = $1 AND i.id = $2`;

const moveLinesText = `
WITH moved AS (
  SELECT l.id, row_number() OVER (ORDER BY l.position) - 1 AS position FROM invoice_lines l
  WHERE l.organisation_id = $1 AND l.invoice_id = $2 AND ${addedLines}
)
UPDATE invoice_lines l SET invoice_id = $3, position = moved.position, amending = false
FROM moved WHERE l.organisation_id = $1 AND l.id = moved.id`;

// What an earlier amendment could not bring into the ledger stays told of the invoice, as long as there is such a line.
const leaveText = `
WITH left_behind AS (
  UPDATE invoices i SET ${mirror},
    subtotal = (SELECT coalesce(sum(l.amount), 0) FROM invoice_lines l
      WHERE l.organisation_id = $1 AND l.invoice_id = i.id),
    sync_error = CASE WHEN $7 = 'not_in_external' THEN $6 WHEN EXISTS (SELECT 1 FROM invoice_lines l
      WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND l.amending) THEN i.sync_error END
  WHERE i.organisation_id = $1 AND i.id = $2
), change AS (
  UPDATE unit_changes c SET invoice_id = $3, operation_ids = c.operation_ids || $4::uuid
  WHERE c.organisation_id = $1 AND c.subscription_id = $11 AND c.invoice_id = $2 AND $5::uuid = ANY (c.operation_ids)
)
SELECT pg_notify('${outcomesChannel}', '${doneMark}' || $5::text)`;

/**
 * The lines that were to be added go on an invoice of their own, which bills the same period and is dated today. The
 * change of units that asked for them names that invoice from now on, and the operation by which the ledger hears of
 * it. decisions §§3 and 6.
 */
async function move(
  client: Client,
  organisationId: string,
  { id, attempts, subscription_id: subscriptionId }: SettledAmendment,
  { message, invoice }: AmendmentSettlement & { readonly kind: "moved" },
): Promise<boolean> {
  const { rows: closed } = await client.query<{ invoice_id: string; awaited_until: Date | null }>({
    name: "close_moved_amendment",
    text: `${closeOperation} RETURNING o.invoice_id, o.awaited_until`,
    values: [organisationId, id, attempts, "done", movedReason, plain(message)],
  });
  if (closed[0] === undefined) return false;
  const { invoice_id: invoiceId, awaited_until: awaitedUntil } = closed[0];
  const { rows } = await client.query<MovedRow>({
    name: "load_moved",
    text: movedText,
    values: [organisationId, invoiceId],
  });
  assert(rows[0], "an amended invoice is there");
  const { draft, now: createdAt } = draftMoved(rows[0]);
  const own = { id: newId(), operationId: newId() };
  const toRaise = { ...own, subscriptionId, draft, deferredIds: [] };
  await raiseInvoices(client, organisationId, [toRaise], { createdAt, awaitedUntil });
  await client.query({ name: "move_lines", text: moveLinesText, values: [organisationId, invoiceId, own.id] });
  await client.query({
    name: "leave_invoice",
    text: leaveText,
    values: [
      organisationId,
      invoiceId,
      own.id,
      own.operationId,
      id,
      plain(message),
      ...mirrorValues(invoice),
      subscriptionId,
    ],
  });
  return true;
}

/** The invoice that takes the lines: without them, since they come over with their ids; its subtotal counts them. */
function draftMoved(row: MovedRow): { readonly draft: InvoiceDraft; readonly now: Date } {
  assert(row.subtotal && row.period_start && row.period_end, "what is moved was added to the invoice of a period");
  const subscription = {
    startDate: civilDate(row.start_date),
    currency: row.currency,
    invoiceReference: row.reference,
  };
  const period = { index: row.period_index, start: civilDate(row.period_start), end: civilDate(row.period_end) };
  const defaults = { dueDays: row.due_days, revenueAccount: null, taxType: null };
  const today = todayIn(row.timezone, row.now);
  const draft = draftInvoice(subscription, defaults, { type: "change", period, lines: [], today });
  return { draft: { ...draft, subtotal: parseDecimal(row.subtotal) }, now: row.now };
}
