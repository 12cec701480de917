/**
 * Changes the settings of an organisation, and reads its record for the admin API. SQL where one
 * statement locks and writes many subscriptions.
 */

import type { FirstInvoiceStatus } from "../../../domain/model/organisation-settings.ts";
import type { Organisation } from "../../../gen/prisma/client.ts";
import { openUsage } from "../../billing/usage-sums.ts";
import { lockOrganisation } from "../../database/lock-order.ts";
import type { Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { uuid } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { holdsCredit, planHeldCredit } from "../../ledger-jobs/credit-allocations.ts";
import { type Changed, changed } from "../changes.ts";

/** An organisation as operators see it. */
export type AdminOrganisation = ReturnType<typeof readOrganisationRecord>;

/** What is read in addition to the organisation's row. */
export const withConnection = { ledgerConnection: { select: { organisationId: true } } } as const;

/** Returns the organisation, locked until the transaction ends, or null. */
export async function loadLocked(tx: Transaction, id: string): Promise<Organisation | null> {
  await lockOrganisation(tx, id);
  return db(tx).organisation.findFirst({ where: { id } });
}

/**
 * Changes settings of an organisation, which the caller has locked. If the settings decide when a
 * subscription is due, the next billing run checks all of them. Once Setup Mode is off, held credit
 * is allocated again.
 */
export async function updateOrganisation(
  tx: Transaction,
  before: Organisation,
  changes: Partial<Organisation>,
): Promise<Changed<AdminOrganisation>> {
  const { id } = before;
  const record = await db(tx).organisation.update({
    where: { id },
    data: changes,
    include: withConnection,
  });
  const { ledgerConnection: _, ...after } = record;
  const fields = Object.keys(changes) as (keyof Organisation)[];
  const isSameDue =
    before.setupMode === after.setupMode && before.invoiceCreateDays === after.invoiceCreateDays;
  if (!isSameDue) await recheckSubscriptions(tx, id);
  if (before.setupMode && !after.setupMode) await planHeldCredit(tx, id);
  const result = readOrganisationRecord(record);
  if (fields.every((field) => before[field] === after[field])) return changed(result);
  return changed(result, {
    targetKind: "organisation",
    targetId: id,
    organisationId: id,
    before,
    after,
  });
}

/** Subscriptions in a statement, far below a statement's time limit. */
const batchSize = 5_000;

// One statement for many rows, and a lock, so it is SQL.
const recheckBatch = query({
  name: "recheck_subscriptions",
  planned: "each time",
  text: sql`
    WITH
      batch AS (
        SELECT s.id
        FROM subscriptions s
        WHERE
          s.organisation_id = $1
          AND s.id > $2
          AND (
            s.due_at > 'epoch'
            OR s.due_at IS NULL
            AND s.status IN ('ended', 'complete')
            AND (
              s.id IN (
                SELECT d.subscription_id
                FROM deferred_lines d
                WHERE d.organisation_id = $1 AND d.invoice_id IS NULL
              )
              OR EXISTS (SELECT 1 FROM ${openUsage} e)
            )
            OR s.id IN (
              SELECT n.subscription_id
              FROM credit_notes n
              WHERE n.organisation_id = $1 AND ${holdsCredit(sql`n`)}
            )
          )
        ORDER BY s.id
        LIMIT $3
        FOR NO KEY UPDATE OF s
      ),
      checked AS (
        UPDATE subscriptions s
        SET due_at = 'epoch'
        FROM batch
        WHERE s.organisation_id = $1 AND s.id = batch.id
      )
    SELECT (SELECT id FROM batch ORDER BY id DESC LIMIT 1) AS last
  `,
  row: { last: uuid.orNull() },
});

/**
 * Makes the next billing run check every subscription that is not over. Setup Mode and Invoice
 * Create Days decide when a subscription is due. A subscription that ended in Setup Mode is
 * included if a deferred amount or usage was not billed then, and each that holds credit, which is
 * allocated under these locks. Subscriptions are locked by id, the common order. PERIOD-4,
 * INVARIANT-5.
 */
async function recheckSubscriptions(tx: Transaction, organisationId: string): Promise<void> {
  for (let after = "00000000-0000-0000-0000-000000000000"; ; ) {
    const [row] = await recheckBatch(tx, organisationId, after, batchSize);
    const last = row?.last ?? null;
    if (last === null) return;
    after = last;
  }
}

/** Converts a record to the organisation that the admin API shows. */
export function readOrganisationRecord({
  ledgerConnection,
  ...record
}: Organisation & { readonly ledgerConnection: object | null }) {
  const firstInvoiceStatus = record.firstInvoiceStatus as FirstInvoiceStatus;
  return { ...record, firstInvoiceStatus, ledgerConnected: ledgerConnection !== null };
}
