/** One round of an organisation's ledger workflow: takes what waits, asks the ledger, saves each outcome. */
import type { LedgerSettlementInput, SettlementRound } from "../../workflows/contract.ts";
import { checkpoint } from "../checkpoint.ts";
import type { Ledger } from "../ledger/port.ts";
import type { LedgerConnection } from "../store/ledger-connections.ts";
import type { OpenSettling } from "../store/settling.ts";
import { connectionPause } from "./ledger-call.ts";
import { settleContacts } from "./settle-contacts.ts";
import { settleInvoices } from "./settle-invoices.ts";

/** What a round needs. `openLedger` gives the adapter of a connection, kept from round to round. */
export interface SettlementParts {
  readonly openScope: OpenSettling;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to the ledger may take. */
  readonly callDeadlineMs: number;
  readonly publicUrl: string | null;
}

/** The activities of the ledger workflow. */
export interface SettlementActivities {
  settleRound(input: LedgerSettlementInput): Promise<SettlementRound>;
}

/**
 * How much longer than a call's deadline a taken operation is held: a round makes at most two calls for it (send, then look
 * a taken number up), and its outcome has to be saved.
 */
const leaseFactor = 3;

/** How long an organisation without a connection waits for one: an operator's matter. */
const unconnectedPauseMs = 5 * 60_000;

/** The activities over these parts. Each round re-reads the database, so a repetition finds only what is left. */
export function createSettlement(parts: SettlementParts): SettlementActivities {
  return { settleRound: ({ organisationId }) => settleRound(parts, organisationId) };
}

async function settleRound(parts: SettlementParts, organisationId: string): Promise<SettlementRound> {
  const scope = parts.openScope(organisationId);
  const state = await scope.connection();
  if (state === null || state.pausedMs > 0) {
    const reason = state?.pausedReason ?? "no ledger is connected";
    await scope.pause(state?.pausedMs ?? unconnectedPauseMs, reason);
    return { settled: 0, refused: 0, ...(await scope.waiting()), paused: reason };
  }
  const ledger = parts.openLedger(organisationId, state.connection);
  const settings = { deadlineMs: parts.callDeadlineMs, publicUrl: parts.publicUrl };
  const leaseMs = leaseFactor * parts.callDeadlineMs;
  const [contacts, invoices] = await Promise.all([scope.takeContacts(leaseMs), scope.takeInvoices(leaseMs)]);
  checkpoint("settlement_taken");
  const outcomes = await Promise.all([
    settleContacts(ledger, contacts, settings, scope.findImported),
    settleInvoices(ledger, invoices, settings),
  ]);
  checkpoint("settlement_answered");
  const settlements = outcomes.flatMap((outcome) => outcome.settlements);
  await scope.settle(settlements);
  checkpoint("settlement_saved");
  const failure = outcomes.find((outcome) => outcome.failure !== null)?.failure ?? null;
  const pause = failure === null ? null : connectionPause(failure);
  if (pause !== null) await scope.pause(pause.pauseMs, pause.reason);
  const isTaken = ({ kind }: { kind: string }) => kind === "invoice_done" || kind === "contact_done";
  return {
    settled: settlements.filter(isTaken).length,
    refused: settlements.filter(({ kind }) => kind === "refused").length,
    ...(await scope.waiting()),
    paused: pause?.reason ?? null,
  };
}
