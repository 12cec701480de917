/**
 * Finds removals of broken-off ends whose answer was lost and that show in the ledger later: they
 * were the end's, not a person's. What the invoice billed of the period that the subscription goes
 * on into is issued again (END-12). SQL, because it finds such removals by invoice, end and work
 * under way.
 */
import { decideLateRemoval } from "../../domain/subscriptions/reissue.ts";
import { columns } from "../../gen/columns.ts";
import { loadStates } from "../billing/billing-state.ts";
import { shareOrganisation } from "../billing/locked-subscription.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import { getThese } from "../database/page.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { pick, type RowOf } from "../database/sql/columns.ts";
import { literal, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { keepsPlace } from "../documents/document-presence.ts";
import { invoiceListing } from "../documents/invoices.ts";
import { withFacts } from "../documents/line-facts.ts";
import { answerLost } from "./break-off.ts";
import { reissueInvoices } from "./reissue-invoices.ts";
import { loadNextPeriodLines } from "./reversals.ts";

const lateRow = {
  ...pick(columns.removal, "terminationId", "step"),
  subscriptionId: columns.invoice.subscriptionId,
};

/** A removal that shows in the ledger. */
type LateRemoval = RowOf<typeof lateRow>;

// Work on the subscription comes first: it may remove or amend this invoice itself. So does a
// refused amendment of it, whose lines would be billed twice. In Setup Mode nothing can be issued,
// so these removals wait until it is off.
const late = sql`
  SELECT r.termination_id, r.step, i.subscription_id
  FROM
    removals r
    JOIN invoices i ON i.organisation_id = $1 AND i.id = r.invoice_id
    JOIN organisations o ON o.id = $1 AND NOT o.setup_mode
  WHERE
    r.organisation_id = $1
    AND r.state = 'refused'
    AND r.reason = ${literal(answerLost)}
    AND NOT ${keepsPlace(sql`i`)}
    AND NOT EXISTS (
      SELECT 1
      FROM removals e
      WHERE e.organisation_id = $1 AND e.invoice_id = r.invoice_id AND e.state = 'removed'
    )
    AND NOT EXISTS (
      SELECT 1
      FROM invoice_lines l
      WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND l.amending
    )
    AND NOT EXISTS (
      SELECT 1
      FROM ledger_jobs j
      WHERE
        j.organisation_id = $1
        AND j.subscription_id = i.subscription_id
        AND j.kind IN ('amend_invoice', 'end_subscription')
        AND j.state IN ('ready', 'sending', 'uncertain')
    )
`;

const findLate = query({
  name: "find_late_removals",
  text: sql`${late} ORDER BY r.termination_id, r.step`,
  row: lateRow,
});

/**
 * Reissues what the ledger shows as removed by now. Each removal is one transaction. The dispatcher
 * posts what was issued.
 */
export async function reissueLateRemovals(pool: Pool, organisationId: string): Promise<void> {
  for (const late of await findLate(pool, organisationId))
    await inTransaction(pool, (client) => reissue(client, organisationId, late));
}

// Deferred amounts of a renewal invoice whose period has not begun wait again, as after every
// removal. A ledger that does not keep what it deletes shows the invoice as lost.
const record = query({
  name: "record_late_removal",
  text: sql`
WITH late AS (${late} AND r.termination_id = $2 AND r.step = $3), invoice AS (
  UPDATE invoices i SET status = CASE WHEN i.status = 'not_in_external' THEN 'deleted'
    ELSE i.status END, sync_error = NULL
  FROM late, removals r WHERE r.organisation_id = $1 AND r.termination_id = $2 AND r.step = $3
    AND i.organisation_id = $1 AND i.id = r.invoice_id
  RETURNING i.id, i.subscription_id, i.type, i.period_index, i.status
), removal AS (
  UPDATE removals r SET state = 'removed', outcome = invoice.status, reason = NULL,
    message = NULL, finished_at = now()
  FROM invoice WHERE r.organisation_id = $1 AND r.termination_id = $2 AND r.step = $3
), deferred AS (
  UPDATE deferred_lines d SET invoice_id = NULL
  FROM invoice JOIN subscriptions s ON s.organisation_id = $1 AND s.id = invoice.subscription_id
  WHERE d.organisation_id = $1 AND d.invoice_id = invoice.id AND invoice.type = 'renewal'
    AND invoice.period_index > s.current_period
)
SELECT invoice.id, invoice.period_index, p.setup_mode
FROM invoice JOIN periods p ON p.organisation_id = $1
  AND p.subscription_id = invoice.subscription_id AND p.index = invoice.period_index`,
  row: {
    ...pick(columns.invoice, "id", "periodIndex"),
    /** Its period began in Setup Mode (SETUP-3). */
    setupMode: columns.period.setupMode,
  },
});

async function reissue(
  client: Transaction,
  organisationId: string,
  { terminationId, step, subscriptionId }: LateRemoval,
): Promise<void> {
  const { organisation, now } = await shareOrganisation(client, organisationId);
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  const [recorded] = await record(client, organisationId, terminationId, step);
  if (recorded === undefined || recorded.setupMode) return;
  const found = await getThese(client, organisationId, invoiceListing, [recorded.id]);
  const [invoice] = await withFacts(client, organisationId, found);
  const [state] = await loadStates(client, organisation, { ids: [subscriptionId], now });
  if (state === undefined || invoice === undefined) throw new Error(`${recorded.id} is gone`);
  const next = await loadNextPeriodLines(client, state);
  const again = decideLateRemoval(state, { ...invoice, ...recorded }, next);
  if (again.invoices.length === 0) return;
  await reissueInvoices(client, state, again, { createdAt: now, awaitedUntil: null });
  const removal = { organisationId, terminationId, step };
  await db(client).removal.updateMany({ where: removal, data: { reissued: true } });
}
