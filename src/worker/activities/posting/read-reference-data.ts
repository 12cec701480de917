/**
 * Reads again what the ledgers offer, before it is too old to judge documents by: calls for which nobody waits, so that those for whom
 * somebody does come first. Facts: facts-ledger section 4, "Pre-flight".
 */
import { referenceDataList, organisationReferenceData } from "../../../domain/billing/ledger-reference-data.ts";
import type { LedgerReferenceData, ReferenceDataKind } from "../../../domain/billing/ledger-validation.ts";
import type { Ledger, LedgerAnswer, LedgerCall } from "../../../ledger/port/ledger.ts";
import type { LedgerConnection } from "../../../store/ledger-connection/connections.ts";
import type { DueReferenceData, ReferenceDataReading } from "../../../store/ledger-connection/reference-data.ts";
import { connectionPause } from "./ledger-call.ts";

/** What reading needs. `openLedger` gives the adapter of a connection, kept from call to call. */
export interface ReferenceDataDependencies {
  readonly store: ReferenceDataReading;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to a ledger may take. */
  readonly callDeadlineMs: number;
  /** Told of what went wrong here and not in the ledger, such as a secret that does not open. */
  readonly onError: (organisationId: string, error: unknown) => void;
}

/** How long what could not be read is left alone: nobody waits for it, and what is not known refuses nothing. */
const failedPauseMs = 60 * 60_000;

/** The same of what the ledger does not let us read: a person's matter. As often as what can be read. */
const forbiddenPauseMs = 6 * 60 * 60_000;

/**
 * Reads what is due, at most so many kinds, all at once; the result is how many were taken. What fails is due again later, and one
 * organisation's trouble is nobody else's.
 */
export async function readDueReferenceData(parts: ReferenceDataDependencies, atMost: number): Promise<number> {
  const due = await parts.store.takeDue(atMost);
  await Promise.all(
    due.map(async (one) => {
      try {
        await readReferenceData(parts, one);
      } catch (error) {
        parts.onError(one.organisationId, error);
        const { organisationId, kinds } = one;
        await parts.store.reschedule(organisationId, kinds, { pauseMs: failedPauseMs, ageMs: 0, isForbidden: false });
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
  const askedMs = performance.now();
  const ageMs = () => performance.now() - askedMs;
  const answers = await Promise.all(
    kinds.map(async (kind) => {
      const { tenantId } = connection;
      const answer = await queryReferenceData(ledger, call, kind, (told, offer) => {
        return store.keep(organisationId, told, offer, { tenantId, ageMs: ageMs() });
      });
      const isForbidden = answer.kind === "refused" || answer.kind === "unauthorised";
      const pauseMs = isForbidden ? forbiddenPauseMs : failedPauseMs;
      if (isForbidden || answer.kind === "unavailable" || answer.kind === "high_volume") {
        await store.reschedule(organisationId, [kind], { pauseMs, ageMs: ageMs(), isForbidden });
      }
      return answer;
    }),
  );
  // A connection that may not read its settings can still take documents: only a limit is everybody's.
  const pause = connectionPause(answers.flatMap((answer) => (answer.kind === "rate_limited" ? [answer] : [])));
  if (pause !== null) await store.pause(organisationId, pause.pauseMs, pause.reason);
}

/** Asks for one kind and tells it on; the result is what the ledger answered. */
async function queryReferenceData(
  ledger: Ledger,
  call: LedgerCall,
  kind: ReferenceDataKind,
  tell: <Kind extends ReferenceDataKind>(told: Kind, offer: NonNullable<LedgerReferenceData[Kind]>) => Promise<void>,
): Promise<LedgerAnswer<unknown>> {
  if (kind === "organisation") {
    const answer = await ledger.describe(call);
    if (answer.kind === "ok") await tell(kind, organisationReferenceData(answer.value));
    return answer;
  }
  const answer = await ledger.listMappingOptions(call, kind);
  if (answer.kind === "ok") await tell(kind, referenceDataList(answer.value));
  return answer;
}
