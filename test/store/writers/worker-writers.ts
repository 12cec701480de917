/**
 * The writers of workers for one organisation: they record the ledger's answers, sync its documents
 * and bill what is due.
 */
import { randomBytes } from "node:crypto";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import { createTestClock } from "../../../src/store/billing/test-clock.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createAllocations } from "../../../src/store/ledger-jobs/allocations.ts";
import { createAmendments } from "../../../src/store/ledger-jobs/amendments/amendments.ts";
import {
  claimContacts,
  claimCreditNotes,
  claimInvoices,
} from "../../../src/store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../src/store/ledger-jobs/document-outcomes.ts";
import { reschedule } from "../../../src/store/ledger-jobs/jobs.ts";
import { recordOutcomes } from "../../../src/store/ledger-jobs/record-outcomes.ts";
import { syncCreditNotes } from "../../../src/store/ledger-sync/sync-credit-notes.ts";
import { syncContacts } from "../../../src/store/ledger-sync/sync-customers.ts";
import {
  loseDocuments,
  type ObservedInvoice,
  syncInvoices,
} from "../../../src/store/ledger-sync/sync-invoices.ts";
import { createTerminations } from "../../../src/store/subscriptions/end-removals.ts";
import { below, ledgerId, pick, type WriterParts } from "./writer-parts.ts";

/**
 * The lease of a job. Sometimes it expires before the next write of its kind, as if that came from
 * another worker.
 */
const leaseMs = 500;

const now = () => new Date().toISOString();
const sentInvoice = { status: "approved", total: "125", amountDue: "125", sent: true } as const;
const refusal = { reason: "validation", message: "The ledger says no." } as const;

type Row = Record<string, string>;

/** The writers by name. */
export function workersOf({ pool, organisationId, ids }: WriterParts) {
  const encryption = createEncryption(randomBytes(32));
  const amendments = createAmendments(pool, encryption)(organisationId);
  const allocating = createAllocations(pool, encryption)(organisationId);
  const terminations = createTerminations(pool, encryption)(organisationId);
  const clock = createTestClock(pool);
  const rowsOf = async (text: string) => (await pool.query<Row>(text, [organisationId])).rows;
  const recordAll = (outcomes: readonly PostingOutcome[]) =>
    recordOutcomes(pool, organisationId, outcomes);
  const waiting = async (kind: string): Promise<string | undefined> => {
    const [row] =
      await rowsOf(`SELECT id FROM ledger_jobs WHERE organisation_id = $1 AND kind = '${kind}'
        AND state IN ('ready', 'sending', 'uncertain') ORDER BY random() LIMIT 1`);
    return row?.id;
  };
  const requestedAt = async () =>
    (await rowsOf("SELECT clock_timestamp()::text AS at FROM organisations WHERE id = $1"))[0]
      ?.at ?? "";
  return {
    postInvoices: async () => {
      const { ready, uncertain } = await claimInvoices(pool, organisationId, leaseMs);
      const outcomes = [...ready, ...uncertain].map(
        ({ id, attempts, subtotal, lines }): PostingOutcome => {
          const held = { jobId: id, attempt: attempts };
          if (below(20) === 0) return { ...held, kind: "refused", ...refusal };
          const amounts = { subtotal, total: subtotal, amountDue: subtotal };
          const status = Number(subtotal) === 0 ? "paid" : pick(["approved", "approved", "draft"]);
          const named = lines.map((line) => ({ id: line.id, ledgerLineId: ledgerId() }));
          const answer = { ...amounts, status, sent: false, updatedAt: now(), lines: named };
          return { ...held, kind: "invoice_done", ledgerId: ledgerId(), ...answer };
        },
      );
      return recordAll(outcomes);
    },
    "post credit notes": async () => {
      const { ready, uncertain } = await claimCreditNotes(pool, organisationId, leaseMs);
      const outcomes = [...ready, ...uncertain].map(
        ({ id, attempts, subtotal }): PostingOutcome => {
          const amounts = { subtotal, total: subtotal, remainingCredit: subtotal };
          return {
            kind: "credit_note_done",
            jobId: id,
            attempt: attempts,
            ledgerId: ledgerId(),
            ...amounts,
            status: "approved",
            sent: false,
            updatedAt: now(),
            allocations: [],
          };
        },
      );
      return recordAll(outcomes);
    },
    "post contacts": async () => {
      const { ready, uncertain } = await claimContacts(pool, organisationId, leaseMs);
      const outcomes = [...ready, ...uncertain].map(
        ({ id, attempts, wantedContactId: wanted }): PostingOutcome => {
          return {
            kind: "contact_done",
            jobId: id,
            attempt: attempts,
            ledgerId: wanted ?? `contact-${below(20)}`,
          };
        },
      );
      return recordAll(outcomes);
    },
    reschedule: () => reschedule(pool, organisationId, 1, "paused"),
    allocate: async () => {
      const subscriptionId = pick(ids);
      await allocating.plan(subscriptionId);
      const taken = await allocating.take(subscriptionId, leaseMs);
      if (taken === null) return null;
      const { id, attempts, amount, noteLedgerId, invoiceLedgerId } = taken;
      const held = { jobId: id, attempt: attempts };
      if (below(4) === 0) {
        return allocating.record(subscriptionId, {
          outcome: { ...held, kind: "refused", ...refusal },
          amount: null,
          observed: null,
        });
      }
      const note = await noteWith(noteLedgerId, amount, invoiceLedgerId);
      const observed = { note, invoice: null };
      return allocating.record(subscriptionId, {
        outcome: { ...held, kind: "done" },
        amount: null,
        observed,
      });
    },
    "post an amendment": async () => {
      const id = await waiting("amend_invoice");
      const taken = id === undefined ? null : await amendments.take(id, leaseMs);
      if (taken === null) return null;
      const [invoice] = await rowsOf(
        `SELECT status, total FROM invoices
          WHERE organisation_id = $1 AND id = '${taken.invoiceId}'`,
      );
      const total = taken.lines.reduce((sum, line) => sum + Number(line.amount), 0).toFixed(4);
      const answer = { subtotal: total, total, amountDue: total, sent: false, updatedAt: now() };
      switch (below(6)) {
        case 0:
          return amendments.record(taken, { kind: "refused", ...refusal, invoice: null });
        case 1: {
          const paid = {
            status: "paid",
            total: invoice?.total ?? total,
            amountDue: "0",
            sent: true,
            updatedAt: now(),
          } as const;
          return amendments.record(taken, {
            kind: "closed",
            ...refusal,
            invoice: paid,
            isRepriceable: false,
          });
        }
        default: {
          const named = taken.lines.filter(({ amending }) => amending);
          const lines = named.map((line) => ({
            id: line.id,
            ledgerLineId: line.ledgerLineId ?? ledgerId(),
          }));
          const status = invoice?.status === "approved" ? "approved" : "draft";
          return amendments.record(taken, { kind: "done", invoice: { ...answer, status }, lines });
        }
      }
    },
    "carry out an end": async () => {
      const id = await waiting("end_subscription");
      const task = id === undefined ? null : await terminations.take(id, leaseMs);
      switch (task?.kind) {
        case undefined:
          return null;
        case "wait":
          return terminations.release(task, 10, "wait");
        case "drop":
          return (await terminations.drop(task)) || terminations.release(task, 10, "sent by now");
        case "finish":
          return terminations.finish(task, task.when);
        case "remove": {
          if (below(8) === 0) return terminations.refuse(task, { ...refusal, invoice: null });
          if (below(8) === 0 && !task.isAhead)
            return terminations.leave(task, "approved_or_sent", sentInvoice);
          return terminations.removed(task, { outcome: "voided", invoice: null });
        }
      }
    },
    "sync invoices": async () => {
      const at = await requestedAt();
      const rows =
        await rowsOf(`SELECT ledger_invoice_id AS id, status, total, amount_due FROM invoices
          WHERE organisation_id = $1 AND ledger_invoice_id IS NOT NULL
            AND status IN ('draft', 'approved', 'paid') ORDER BY random() LIMIT 6`);
      const observed = rows.map(
        ({ id = "", status, total = "", amount_due: amountDue = "" }): ObservedInvoice => {
          const next = status === "draft" ? "approved" : (status ?? "");
          return { id, status: next, total, amountDue, sent: below(2) === 0, updatedAt: now() };
        },
      );
      return syncInvoices(pool, organisationId, observed, at);
    },
    "sync credit notes": async () => {
      const at = await requestedAt();
      const [note] = await rowsOf(`SELECT ledger_credit_note_id AS id FROM credit_notes
        WHERE organisation_id = $1 AND status IN ('approved', 'paid') AND remaining_credit > 1
        ORDER BY random() LIMIT 1`);
      // A manual allocation can be to an invoice of another subscription.
      const [invoice] = await rowsOf(`SELECT ledger_invoice_id AS id FROM invoices
        WHERE organisation_id = $1 AND ledger_invoice_id IS NOT NULL
          AND status = 'approved' AND amount_due > 1 ORDER BY random() LIMIT 1`);
      if (note?.id === undefined || invoice?.id === undefined) return null;
      const observed = { id: note.id, ...(await noteWith(note.id, "0.0100", invoice.id)) };
      return syncCreditNotes(pool, organisationId, [observed], at);
    },
    "lose documents": async () => {
      const at = await requestedAt();
      const rows = await rowsOf(`SELECT ledger_invoice_id AS id FROM invoices
        WHERE organisation_id = $1 AND ledger_invoice_id IS NOT NULL AND status = 'draft'
        ORDER BY random() LIMIT 2`);
      return loseDocuments(
        pool,
        organisationId,
        "invoices",
        rows.map(({ id = "" }) => id),
        at,
      );
    },
    "sync customers": async () => {
      const rows = await rowsOf(`SELECT ledger_contact_id AS id, name FROM customers
        WHERE organisation_id = $1 AND ledger_contact_id IS NOT NULL ORDER BY random() LIMIT 3`);
      const observed = rows.map(({ id = "", name = "" }) => {
        const isMerged = name !== "Acme" && below(3) === 0;
        const who = {
          firstName: null,
          lastName: null,
          email: null,
          mergedInto: isMerged ? `contact-${below(20)}` : null,
        };
        return {
          id,
          name: `${name.slice(0, 20)}`,
          ...who,
          status: isMerged ? "archived" : "active",
          updatedAt: now(),
        } as const;
      });
      return syncContacts(pool, organisationId, observed);
    },
    "run billing": () => billChunk(pool, organisationId),
    "move the clock": async () => {
      await clock.moveClock(organisationId);
      return clock.billChunk(organisationId);
    },
  };

  /**
   * The credit note as the ledger has it after a further allocation to an invoice. All ids are the
   * ledger's.
   */
  async function noteWith(noteId: string, amount: string, invoiceId: string) {
    const { rows } = await pool.query<Row>(
      `SELECT a.ledger_allocation_id AS id, i.ledger_invoice_id AS invoice_id, a.amount,
          to_char(a.date, 'YYYY-MM-DD') AS date, n.total, n.remaining_credit
        FROM credit_notes n
          LEFT JOIN (allocations a JOIN invoices i ON i.id = a.invoice_id)
            ON a.credit_note_id = n.id AND a.status = 'active'
        WHERE n.organisation_id = $1 AND n.ledger_credit_note_id = $2`,
      [organisationId, noteId],
    );
    const [{ total = "0", remaining_credit: remaining = "0" } = {}] = rows;
    const known = rows.filter((row) => row.invoice_id !== null && row.invoice_id !== undefined);
    const kept = known.map((row) => {
      return {
        id: row.id ?? "",
        invoiceId: row.invoice_id ?? "",
        amount: row.amount ?? "",
        date: row.date ?? "",
      };
    });
    const added = { id: ledgerId(), invoiceId, amount, date: "2026-03-20" };
    const remainingCredit = (Number(remaining) - Number(amount)).toFixed(4);
    return {
      status: "approved",
      total,
      remainingCredit,
      sent: false,
      updatedAt: now(),
      allocations: [...kept, added],
    } as const;
  }
}
