/**
 * A fixture of a subscription inside its invoice window, changed through the store. The test
 * decides the ledger's answers. It has ten units at 10.00 a month, in its second period, on 1 March
 * 2026.
 */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import type { UnitsChangeRequest } from "../../../src/domain/subscriptions/change-units.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import type {
  AmendmentOutcome,
  SyncedInvoice,
} from "../../../src/store/ledger-jobs/amendments/amendment-outcomes.ts";
import { createAmendments } from "../../../src/store/ledger-jobs/amendments/amendments.ts";
import { getUnitChange, type UnitChange } from "../../../src/store/subscriptions/unit-changes.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { setOrganisation } from "../../support/rows.ts";
import type { Answered } from "../../support/system.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { seedInvoice } from "./amendment-builder.ts";

/**
 * The ledger's answer: done, refused for now, or closed, because the invoice is `approved` (no
 * draft to add lines to), `paid` or gone.
 */
export type LedgerSays = "done" | "refused" | "approved" | "paid" | "gone";

/** A row of any table. */
type Row = Answered["json"];

/** The fixture of one subscription. */
export interface WindowFixture {
  readonly organisationId: string;
  readonly subscriptionId: string;
  /** The invoice that can be amended: the renewal invoice, or the first one while pending. */
  readonly invoiceId: string;
  /** Changes the units. Returns the change, or the code of its refusal. */
  change(request: UnitsChangeRequest): Promise<UnitChange | string>;
  /** Changes the units and answers its amendment, if it has one. */
  changed(request: UnitsChangeRequest, says: LedgerSays): Promise<UnitChange>;
  /** Answers the waiting amendment. Returns its job's id, or null if none waits. */
  answer(says: LedgerSays, changes?: Partial<SyncedInvoice>): Promise<string | null>;
  /** Retries the refused amendment of an invoice. Returns `retried` or the code of the refusal. */
  retry(invoiceId?: string): Promise<string>;
  /** Moves the organisation's clock. */
  setClock(instant: string): Promise<void>;
  /** Posts the waiting documents, as drafts with known lines. */
  send(): Promise<void>;
  /** Returns the change as the API shows it now. */
  reload(change: UnitChange): Promise<UnitChange>;
  rows(text: string): Promise<readonly Row[]>;
  one(table: string, id: string): Promise<Row>;
  /** The lines of an invoice as `kind units amount`, in order. */
  lines(invoiceId: string | null): Promise<readonly string[]>;
  /** The billed units from the current period on, with `separately` if billed so. */
  billed(): Promise<readonly string[]>;
}

/** Returns the code of a refusal, and throws any other error again. */
function codeOf(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  throw error;
}

/** Expects a rolled back amendment: plan line and subtotal are those of the ledger. */
export async function expectRolledBack(fixture: WindowFixture, invoice: object): Promise<void> {
  expect(await fixture.lines(fixture.invoiceId)).toEqual(["plan 10: 100.0000"]);
  expect(await fixture.one("invoices", fixture.invoiceId)).toMatchObject({
    subtotal: "100.0000",
    amending_from: null,
    ...invoice,
  });
}

/** Bands: a volume plan, ten units at 10.00 and more at 8.00. Pending: begins on 15 March. */
interface WindowOrder {
  readonly isBands?: boolean;
  readonly isPending?: boolean;
}

/** Creates the fixture. Its invoice is a draft in the ledger with known lines. */
export async function windowFixture(
  pool: pg.Pool,
  order: WindowOrder = {},
): Promise<WindowFixture> {
  const {
    organisation: organisationId,
    subscription: subscriptionId,
    plan,
  } = await seedInvoice(pool);
  const of = `organisation_id = '${organisationId}'`;
  await pool.query(`BEGIN;
    UPDATE organisations
      SET revenue_account = '200', livemode = false, test_clock = '2026-03-01T12:00:00Z',
      invoice_create_days = 20
      WHERE id = '${organisationId}';
    DELETE FROM allocations WHERE ${of}; DELETE FROM credit_note_lines WHERE ${of}; DELETE
      FROM credit_notes WHERE ${of};
    DELETE FROM deferred_lines WHERE ${of};
    UPDATE plans SET price = 10 WHERE id = '${plan}';
    UPDATE subscriptions SET units = 10 WHERE id = '${subscriptionId}';
    UPDATE periods SET billed_units = 10 WHERE subscription_id = '${subscriptionId}';
    ${order.isBands ? bands(organisationId, plan) : ""}
    ${order.isPending ? pending(subscriptionId) : ""}
    COMMIT`);
  const writes = tenantWrites(pool, organisationId);
  const amendments = createAmendments(pool, createEncryption(randomBytes(32)))(organisationId);
  const rows = async (text: string) => (await pool.query(text)).rows;
  let now = new Date("2026-03-01T12:00:00Z");
  const change = async (request: UnitsChangeRequest): Promise<UnitChange | string> => {
    try {
      return await writes.changeUnits({ id: subscriptionId, now }, request);
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  };
  // Bills what is due: the renewal invoice is issued ahead.
  await change({ units: 10, prorate: false, behaviour: null, effectiveDate: null, document: null });
  const send = async () => {
    await pool.query(`BEGIN;
      UPDATE invoice_lines SET ledger_line_id = id::text WHERE invoice_id IN (SELECT id
        FROM invoices WHERE ${of} AND status = 'scheduled');
      UPDATE invoices SET status = 'draft', ledger_invoice_id = id::text WHERE ${of}
        AND status = 'scheduled';
      UPDATE ledger_jobs SET state = 'done', finished_at = now() WHERE ${of}
        AND kind <> 'amend_invoice' AND state = 'ready';
      COMMIT`);
  };
  await send();
  const type = order.isPending ? "first" : "renewal";
  const [invoice] = await rows(
    `SELECT id FROM invoices WHERE subscription_id = '${subscriptionId}' AND type = '${type}'`,
  );
  const fixture: WindowFixture = {
    organisationId,
    subscriptionId,
    invoiceId: invoice.id,
    change,
    changed: async (request, says) => {
      const result = await change(request);
      if (typeof result === "string") throw new Error(`refused: ${result}`);
      await fixture.answer(says);
      return fixture.reload(result);
    },
    answer: async (says, changes = {}) => {
      const text = `SELECT id FROM ledger_jobs WHERE ${of} AND kind = 'amend_invoice'
        AND state = 'ready'`;
      const [job] = await rows(text);
      if (job === undefined) return null;
      const amendment = await amendments.take(job.id, 60_000);
      if (amendment === null) throw new Error("the amendment cannot be taken");
      const total = String(amendment.lines.reduce((sum, { amount }) => sum + Number(amount), 0));
      const outcome = outcomeOf(says, {
        status: "draft",
        total,
        amountDue: total,
        sent: false,
        ...changes,
      });
      if (outcome.kind !== "done") await amendments.record(amendment, outcome);
      else {
        const changed = amendment.lines.filter(({ amending }) => amending);
        const lines = changed.map(({ id, ledgerLineId }) => ({
          id,
          ledgerLineId: ledgerLineId ?? id,
        }));
        await amendments.record(amendment, { ...outcome, lines });
      }
      return job.id;
    },
    retry: (invoiceId = invoice.id) =>
      operatorWrites(pool)
        .retryDocument(organisationId, invoiceId)
        .then(() => "retried", codeOf),
    setClock: async (instant) => {
      now = new Date(instant);
      await setOrganisation(pool, organisationId, { testClock: new Date(now) });
    },
    send,
    reload: ({ id }) => getUnitChange(pool, organisationId, id),
    rows,
    one: async (table, id) => (await rows(`SELECT * FROM ${table} WHERE id = '${id}'`))[0],
    lines: async (invoiceId) => {
      const text = `SELECT kind, units, amount, amending FROM invoice_lines
        WHERE invoice_id = '${invoiceId}' ORDER BY position`;
      return (await rows(text)).map(
        ({ kind, units, amount, amending }) =>
          `${kind}${units ? ` ${units}` : ""}: ${amount}${amending ? ", amending" : ""}`,
      );
    },
    billed: async () => {
      const text = `SELECT p.* FROM periods p JOIN subscriptions s ON s.id = p.subscription_id
        WHERE s.id = '${subscriptionId}' AND p.index >= s.current_period ORDER BY p.index`;
      return (await rows(text)).map(
        ({ index, billed_units, billed_separately }) =>
          `${index}: ${billed_units}${billed_separately ? " separately" : ""}`,
      );
    },
  };
  return fixture;
}

function outcomeOf(says: LedgerSays, invoice: SyncedInvoice): AmendmentOutcome {
  const refusal = {
    reason: "wrong_status",
    message: "Invoice INV-0002 is paid.",
    isRepriceable: false,
  };
  const gone = { status: "not_in_external", total: null, amountDue: null, sent: null } as const;
  switch (says) {
    case "done":
      return { kind: "done", invoice, lines: [] };
    case "refused":
      return {
        kind: "refused",
        reason: "period_locked",
        message: "The period is locked.",
        invoice: null,
      };
    case "approved":
      return {
        kind: "closed",
        ...refusal,
        invoice: { ...invoice, status: "approved" },
        isRepriceable: true,
      };
    case "paid":
      return {
        kind: "closed",
        ...refusal,
        invoice: { ...invoice, status: "paid", amountDue: "0" },
      };
    case "gone":
      return {
        kind: "closed",
        ...refusal,
        reason: "not_found",
        message: "It is not there.",
        invoice: gone,
      };
  }
}

function bands(organisationId: string, plan: string): string {
  return `UPDATE plans SET type = 'volume', price = 0 WHERE id = '${plan}';
    INSERT INTO plan_tiers (organisation_id, plan_id, position, up_to, unit_price) VALUES
      ('${organisationId}', '${plan}', 0, 10, 10), ('${organisationId}', '${plan}', 1, NULL, 8);`;
}

// Its first period is in the future, and the second one has no invoice.
function pending(subscriptionId: string): string {
  return `UPDATE subscriptions
    SET status = 'pending', start_date = '2026-03-15', current_period = 0,
    renewal_date = '2026-04-15'
      WHERE id = '${subscriptionId}';
    DELETE FROM periods WHERE subscription_id = '${subscriptionId}' AND index = 1;
    UPDATE periods SET start_date = '2026-03-15', end_date = '2026-04-15'
      WHERE subscription_id = '${subscriptionId}';
    UPDATE invoices
      SET subtotal = 100, total = 100, amount_due = 100, period_start = '2026-03-15',
      period_end = '2026-04-15',
      issue_date = '2026-03-15' WHERE subscription_id = '${subscriptionId}';
    UPDATE invoice_lines
      SET units = 10, unit_price = 10, amount = 100, description = '10 × 10.0000',
      period_start = '2026-03-15',
      period_end = '2026-04-15' WHERE invoice_id IN (
        SELECT id FROM invoices WHERE subscription_id = '${subscriptionId}');`;
}
