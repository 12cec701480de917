/**
 * Subscriptions in their invoice window whose next period a separate document bills, for tests of
 * ends without a ledger: a test decides what the ledger did with each document.
 */
import { randomBytes } from "node:crypto";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { EndRequest, EndWhen } from "../../../src/domain/subscriptions/end.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createTerminations } from "../../../src/store/subscriptions/end-removals.ts";
import { tables } from "../../support/rows.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import type { UsageFixture } from "../billing/usage-fixture.ts";

const day = "2026-04-01";

/** A subscription in its window, at noon of 1 April 2026. It renews on 10 April. */
export interface InWindow {
  readonly organisation: string;
  readonly id: string;
  readonly now: Date;
}

/** Everything of a subscription that waits is in the ledger now. */
export async function postAll({ pool }: UsageFixture, { id }: Pick<InWindow, "id">): Promise<void> {
  await tables(pool).ledgerJob.updateMany({
    where: { state: "ready", subscriptionId: id },
    data: { state: "done", finishedAt: new Date() },
  });
  for (const [table, ledgerId] of [
    ["invoices", "ledger_invoice_id"],
    ["credit_notes", "ledger_credit_note_id"],
  ] as const)
    await pool.query(
      `UPDATE ${table} SET status = 'approved', ${ledgerId} = id::text
        WHERE subscription_id = $1 AND status = 'scheduled'`,
      [id],
    );
  await pool.query(
    `UPDATE invoice_lines l SET ledger_line_id = l.id::text FROM invoices i
      WHERE i.id = l.invoice_id AND i.subscription_id = $1`,
    [id],
  );
}

/** The ledger refuses everything of a subscription that waits. */
export async function refuseAll(
  { pool }: UsageFixture,
  { id }: Pick<InWindow, "id">,
): Promise<void> {
  await pool.query(
    `UPDATE ledger_jobs SET state = 'refused', finished_at = now(), reason = 'period_locked',
        message = 'The period is locked.'
      WHERE state = 'ready' AND kind LIKE 'create_%' AND subscription_id = $1`,
    [id],
  );
  for (const table of ["invoices", "credit_notes"])
    await pool.query(
      `UPDATE ${table} SET status = 'not_in_external', sync_error = 'The period is locked.'
        WHERE subscription_id = $1 AND status = 'scheduled'`,
      [id],
    );
}

/** A person removes an invoice in the ledger, and the sync has seen it. */
export async function removeByHand(
  { pool }: UsageFixture,
  { organisation }: InWindow,
  number: string,
): Promise<void> {
  await tables(pool).invoice.updateMany({
    where: { organisationId: organisation, number },
    data: { status: "voided", amountDue: 0 },
  });
}

/** A subscription with its first and its renewal invoice in the ledger. */
export async function inWindow(
  fixture: UsageFixture,
  order: { readonly planCode?: string; readonly units?: number } = {},
): Promise<InWindow> {
  const organisation = await fixture.sandbox("2026-03-10", {
    invoice_create_days: 20,
    first_invoice_status: "approved",
  });
  if (order.planCode === "scale") await addCheaperBand(fixture, organisation);
  const id = await fixture.subscribe(organisation, order);
  const at = { organisation, id, now: new Date(`${day}T12:00:00Z`) };
  await postAll(fixture, at);
  await fixture.setClock(organisation, day);
  await fixture.bill(organisation);
  await postAll(fixture, at);
  return at;
}

/** From six priced units on all cost 6.00 instead of 10.00. */
async function addCheaperBand({ pool }: UsageFixture, organisation: string): Promise<void> {
  const plan = "(SELECT id FROM plans WHERE organisation_id = $1 AND code = 'scale')";
  await pool.query(
    `DELETE FROM plan_tiers WHERE organisation_id = $1 AND plan_id = ${plan} AND position > 1`,
    [organisation],
  );
  await pool.query(
    `UPDATE plan_tiers SET up_to = CASE position WHEN 0 THEN 5 END,
        unit_price = CASE position WHEN 0 THEN 10 ELSE 6 END
      WHERE organisation_id = $1 AND plan_id = ${plan}`,
    [organisation],
  );
}

/** Changes the units on a separate document, prorated from today. */
export async function changeSeparately(
  { pool }: UsageFixture,
  { organisation, id, now }: InWindow,
  units: number,
): Promise<void> {
  await tenantWrites(pool, organisation).changeUnits(
    { id, now },
    {
      units,
      prorate: true,
      behaviour: null,
      effectiveDate: civilDate(day),
      document: "separate",
    },
  );
}

/** Ten seats at 12.50, and four more on INV-0003: 14.52 of March and 50.00 of April. */
export async function billedSeparately(fixture: UsageFixture): Promise<InWindow> {
  const at = await inWindow(fixture);
  await changeSeparately(fixture, at, 14);
  return at;
}

/** Seven units for 50.00, and an eighth with which all are cheaper: CN-0001 has 14.00 of April. */
export async function volumeCredit(fixture: UsageFixture): Promise<InWindow> {
  const at = await inWindow(fixture, { planCode: "scale", units: 7 });
  await changeSeparately(fixture, at, 8);
  return at;
}

/** Ends the subscription. Each invoice that is to be removed is voided, or dropped. */
export async function endWhole(
  { pool }: UsageFixture,
  { organisation, id, now }: InWindow,
  when: EndWhen = "period_end",
  options: Omit<EndRequest, "when"> = {
    deleteUnsentInvoices: false,
    voidApprovedInvoices: false,
  },
): Promise<void> {
  const begun = await tenantWrites(pool, organisation).end({ id, now }, { when, ...options });
  if (begun.kind !== "removing") return;
  const terminations = createTerminations(pool, createEncryption(randomBytes(32)))(organisation);
  for (;;) {
    const task = await terminations.take(begun.terminationId, 60_000);
    if (task === null || task.kind === "wait") throw new Error(`the task is ${task?.kind}`);
    if (task.kind === "finish") {
      await terminations.finish(task, task.when);
      return;
    }
    if (task.kind === "drop") await terminations.drop(task);
    else {
      const invoice = {
        status: "voided",
        total: "125.0000",
        amountDue: "0.0000",
        sent: false,
        updatedAt: new Date().toISOString(),
      } as const;
      await terminations.removed(task, { outcome: "voided", invoice });
    }
  }
}

/** The documents of a subscription, oldest first: `INV-0001 first approved 125.0000`. */
export async function documentsOf(
  { pool }: UsageFixture,
  { id }: Pick<InWindow, "id">,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ document: string }>(
    `SELECT concat_ws(' ', number, type, status, subtotal) AS document FROM (
        SELECT seq, number, type, status, subtotal FROM invoices WHERE subscription_id = $1
        UNION ALL SELECT seq, number, NULL, status, subtotal FROM credit_notes
          WHERE subscription_id = $1) d ORDER BY seq`,
    [id],
  );
  return rows.map(({ document }) => document);
}
