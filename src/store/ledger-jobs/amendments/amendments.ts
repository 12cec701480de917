/**
 * Amends invoices that the ledger has, for their workflow. One job at a time is leased, with
 * everything that the ledger must get. Its states are those in `jobs.ts`. An amendment first reads
 * and compares the ledger's invoice. So an `uncertain` one is simply tried again once its first
 * request can no longer take effect. SQL, because a claim changes the job by the database's clock
 * and reads the invoice with all lines in the same statement.
 */

import type { ReferenceDataKind } from "../../../domain/ledger/validation.ts";
import type { LineKind } from "../../../domain/model/invoice.ts";
import { columns } from "../../../gen/columns.ts";
import type { InvoiceLine } from "../../../gen/prisma/client.ts";
import { binding } from "../../database/bind.ts";
import { msUntil } from "../../database/clock.ts";
import type { Encryption } from "../../database/encryption.ts";
import type { Pool } from "../../database/pool.ts";
import { bool, float, json, pick, type RowOf, text } from "../../database/sql/columns.ts";
import { literal, sql } from "../../database/sql/sql.ts";
import { first, query } from "../../database/sql/statement.ts";
import { bindConnection } from "../../ledger-connection/connections.ts";
import {
  invalidateReferenceData,
  loadReferenceData,
} from "../../ledger-connection/reference-data.ts";
import type { LineToSend } from "../claim-jobs.ts";
import { dueAt, jobClaim, rescheduleAmendment } from "../job-lease.ts";
import { type AmendmentOutcome, recordAmendment } from "./amendment-outcomes.ts";
import { movedReason } from "./closed-amendment.ts";

/**
 * A line of the invoice. `amending`: added or re-priced here, and not yet so in the ledger.
 * `ledgerLineId` is null if the ledger never reported its id: a line to add. `was`: what the ledger
 * has of a re-priced line, null of any other.
 */
export interface AmendmentLine extends LineToSend, Pick<InvoiceLine, "amending" | "ledgerLineId"> {
  readonly kind: LineKind;
  readonly was: Pick<LineToSend, "units" | "description" | "unitPrice" | "amount"> | null;
}

const amendmentToSend = {
  ...pick(columns.ledgerJob, "id", "attempts"),
  /** It only adds lines to a draft. */
  joins: columns.ledgerJob.joins,
  /** An operator retries it, and our own validation is skipped (ADMIN-6). */
  skipValidation: columns.ledgerJob.skipValidation,
  /** A caller waits for it. */
  isAwaited: bool,
  subscriptionId: columns.ledgerJob.subscriptionId.present(),
  invoiceId: columns.ledgerJob.invoiceId.present(),
  ...pick(columns.invoice, "number", "currency"),
  ledgerId: columns.invoice.ledgerInvoiceId.present(),
  /** The customer's in the ledger. */
  contactId: columns.customer.ledgerContactId.present(),
  /** The last reported sum of the lines there. Null if unknown. */
  ledgerSubtotal: columns.invoice.ledgerSubtotal,
  /** All lines in order. */
  lines: json<readonly AmendmentLine[]>(),
};

/** A leased amendment: the invoice as the ledger knows it, and all its lines. */
export type AmendmentToSend = RowOf<typeof amendmentToSend>;

const amendmentState = {
  number: columns.invoice.number,
  attempts: columns.ledgerJob.attempts,
  /** The last failure. */
  reason: columns.ledgerJob.reason,
  /**
   * `done`, `moved` (its lines are on another invoice), `refused` or `abandoned`. Null while it is
   * open.
   */
  outcome: text.orNull(),
  /** Milliseconds until it can be taken, while it is open. */
  nextInMs: float.orNull(),
};

/** Store of one organisation's amendments. */
export type AmendmentStore = ReturnType<OpenAmendments>;

/** Opens an organisation's amendments. */
export type OpenAmendments = ReturnType<typeof createAmendments>;

/** Binds amendments to a pool. `encryption` decrypts the connections' secrets. */
export function createAmendments(pool: Pool, encryption: Encryption) {
  return (organisationId: string) => {
    const bound = binding(pool, organisationId);
    return {
      ...bindConnection(pool, encryption, organisationId),
      referenceData: bound(loadReferenceData),
      /** Invalidates these kinds of reference data, because a refusal was about them. */
      invalidate: (kinds: readonly ReferenceDataKind[]) =>
        invalidateReferenceData(pool, organisationId, kinds, "refused_by"),
      /** Loads the amendment's state. Null if there is none. */
      read: bound(readState),
      /** Takes the amendment under a lease. Null if it is decided, rescheduled or leased. */
      take: bound(take),
      reschedule: bound(rescheduleAmendment),
      record: (amendment: AmendmentToSend, outcome: AmendmentOutcome) =>
        recordAmendment(pool, organisationId, amendment, outcome),
    };
  };
}

const readState = first<RowOf<typeof amendmentState>, [organisationId: string, jobId: string]>(
  query({
    name: "read_amendment_state",
    text: sql`
      SELECT
        i.number, t.attempts, t.reason,
        CASE WHEN t.finished_at IS NULL THEN ${msUntil(dueAt)} END AS next_in_ms,
        CASE
          WHEN t.finished_at IS NULL THEN NULL
          WHEN t.state = 'done'
          AND t.reason = ${literal(movedReason)} THEN t.reason
          ELSE t.state
        END AS outcome
      FROM
        ledger_jobs t
        JOIN invoices i ON i.organisation_id = $1 AND i.id = t.invoice_id
      WHERE t.organisation_id = $1 AND t.id = $2 AND t.kind = 'amend_invoice'
    `,
    row: amendmentState,
  }),
);

const take = first<AmendmentToSend, [organisationId: string, jobId: string, leaseMs: number]>(
  jobClaim({
    name: "claim_amendment",
    condition: sql`t.id = $2 AND t.kind = 'amend_invoice'`,
    columns: sql`taken.id, taken.attempts, taken.joins, taken.skip_validation,
    coalesce(taken.awaited_until > now(), false) AS is_awaited,
    taken.subscription_id, taken.invoice_id, i.number, i.ledger_invoice_id AS ledger_id,
    i.currency, c.ledger_contact_id AS contact_id, i.ledger_subtotal,
    (SELECT json_agg(json_build_object('id', l.id, 'amending', l.amending,
      'ledgerLineId', l.ledger_line_id, 'kind', l.kind, 'name', l.name,
      'description', l.description, 'units', l.units, 'unitPrice', l.unit_price::text,
      'amount', l.amount::text, 'revenueAccount', l.revenue_account, 'taxType', l.tax_type,
      'was', CASE WHEN l.amending AND l.kind = 'plan' AND i.amending_from IS NOT NULL
        THEN json_build_object('units', i.amending_from->'units',
          'description', i.amending_from->'description',
          'unitPrice', i.amending_from->>'unit_price',
          'amount', i.amending_from->>'amount') END)
      ORDER BY l.position)
    FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = i.id) AS lines`,
    joins: sql`JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id
    JOIN customers c ON c.organisation_id = $1 AND c.id = i.customer_id`,
    row: amendmentToSend,
  }),
);
