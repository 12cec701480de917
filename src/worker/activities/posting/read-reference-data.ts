/**
 * Reads the ledgers' reference data again before it is too old to validate documents (POSTING-5).
 * No caller waits for these calls, so calls with a waiting caller come first.
 */
import {
  type LedgerReferenceData,
  organisationReferenceData,
  type ReferenceDataKind,
  referenceDataList,
} from "../../../domain/ledger/validation.ts";
import type { Ledger, LedgerAnswer, LedgerCall } from "../../../ledger/port/ledger.ts";
import type { LedgerConnection } from "../../../store/ledger-connection/connections.ts";
import type {
  DueReferenceData,
  ReferenceDataReading,
} from "../../../store/ledger-connection/reference-data.ts";
import { connectionPause } from "./ledger-call.ts";

/**
 * The dependencies of the reading. `openLedger` returns the adapter of a connection, which is
 * reused from call to call.
 */
export interface ReferenceDataDependencies {
  readonly store: ReferenceDataReading;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to the ledger may take. */
  readonly callDeadlineMs: number;
  /** Called for an error here and not in the ledger, such as a secret that cannot be decrypted. */
  readonly onError: (organisationId: string, error: unknown) => void;
}

/**
 * The pause after a failed read. No caller waits for the data, and unknown data rejects nothing.
 */
const failedPauseMs = 60 * 60_000;

/**
 * The pause after the ledger denies a read, which a person must resolve. It equals the interval of
 * successful reads.
 */
const forbiddenPauseMs = 6 * 60 * 60_000;

/**
 * Reads what is due, at most `atMost` kinds, all at once, and returns how many were taken. A failed
 * read is due again later. The failure of one organisation does not affect others.
 */
export async function readDueReferenceData(
  parts: ReferenceDataDependencies,
  atMost: number,
): Promise<number> {
  const due = await parts.store.takeDue(atMost);
  await Promise.all(
    due.map(async (one) => {
      try {
        await readReferenceData(parts, one);
      } catch (error) {
        parts.onError(one.organisationId, error);
        const { organisationId, kinds } = one;
        await parts.store.reschedule(organisationId, kinds, {
          pauseMs: failedPauseMs,
          ageMs: 0,
          isForbidden: false,
        });
      }
    }),
  );
  return due.reduce((count, { kinds }) => count + kinds.length, 0);
}

async function readReferenceData(
  { store, openLedger, callDeadlineMs }: ReferenceDataDependencies,
  { organisationId, kinds }: DueReferenceData,
): Promise<void> {
  const state = await store.connection(organisationId);
  if (state === null || state.pausedMs > 0) return;
  const { connection } = state;
  const ledger = openLedger(organisationId, connection);
  const call: LedgerCall = { deadlineMs: callDeadlineMs, jobKeys: [], isBackground: true };
  const requestedMs = performance.now();
  const ageMs = () => performance.now() - requestedMs;
  const answers = await Promise.all(
    kinds.map(async (kind) => {
      const { tenantId } = connection;
      const answer = await queryReferenceData(ledger, call, kind, (read, data) => {
        return store.save(organisationId, read, data, { tenantId, ageMs: ageMs() });
      });
      const isForbidden = answer.kind === "refused" || answer.kind === "unauthorised";
      const pauseMs = isForbidden ? forbiddenPauseMs : failedPauseMs;
      if (isForbidden || answer.kind === "unavailable" || answer.kind === "high_volume") {
        await store.reschedule(organisationId, [kind], { pauseMs, ageMs: ageMs(), isForbidden });
      }
      return answer;
    }),
  );
  // A connection without permission to read settings can still post documents. Only a rate limit
  // pauses all calls.
  const pause = connectionPause(
    answers.flatMap((answer) => (answer.kind === "rate_limited" ? [answer] : [])),
  );
  if (pause !== null) await store.pause(organisationId, pause.pauseMs, pause.reason);
}

/** Reads one kind and stores it. Returns the ledger's answer. */
async function queryReferenceData(
  ledger: Ledger,
  call: LedgerCall,
  kind: ReferenceDataKind,
  save: <Kind extends ReferenceDataKind>(
    read: Kind,
    data: NonNullable<LedgerReferenceData[Kind]>,
  ) => Promise<unknown>,
): Promise<LedgerAnswer<unknown>> {
  if (kind === "organisation") {
    const answer = await ledger.describe(call);
    if (answer.kind === "ok") await save(kind, organisationReferenceData(answer.value));
    return answer;
  }
  const answer = await ledger.listMappingOptions(call, kind);
  if (answer.kind === "ok") await save(kind, referenceDataList(answer.value));
  return answer;
}
