/**
 * The periodic work of a worker: deletion of expired rows, the refresh of reference data, and the
 * figures of organisations.
 */
import { deleteEndedSessions } from "../../store/access/console-sessions.ts";
import { deleteExpiredKeys } from "../../store/access/idempotency.ts";
import type { Encryption } from "../../store/database/encryption.ts";
import type { Pool } from "../../store/database/pool.ts";
import { deleteExpiredEvents } from "../../store/events/delete-expired-events.ts";
import { deleteExpiredConsents } from "../../store/ledger-connection/oauth-tokens.ts";
import { createReferenceDataReading } from "../../store/ledger-connection/reference-data.ts";
import { refreshOverviews } from "../../store/overview/refresh-overviews.ts";
import {
  type ReferenceDataDependencies,
  readDueReferenceData,
} from "../../worker/activities/posting/read-reference-data.ts";
import { type Cleanup, startCleanup } from "../../worker/temporal/cleanup.ts";
import type { Log } from "../telemetry/log.ts";

/** Twenty calls at once, which are the lists of five organisations. */
const readingsAtOnce = 20;

/** The organisations that a worker claims at once. They are reckoned one after the other. */
const figuresAtOnce = 20;

/** Starts all of it. */
export function startCleanups(
  pool: Pool,
  encryption: Encryption,
  ledger: Pick<ReferenceDataDependencies, "openLedger" | "callDeadlineMs">,
  log: Log,
): Cleanup[] {
  const onTrouble = (err: unknown) =>
    log.warn({ err }, "cleanup: the database could not be reached");
  const onError = (organisationId: string, err: unknown) =>
    log.warn({ organisationId, err }, "a ledger's reference data could not be read");
  const reading = { store: createReferenceDataReading(pool, encryption), ...ledger, onError };
  const onFigures = (organisationId: string, err: unknown) =>
    log.warn({ organisationId, err }, "an organisation's figures could not be reckoned");
  const deletions = [
    deleteExpiredKeys,
    deleteExpiredConsents,
    deleteExpiredEvents,
    deleteEndedSessions,
  ];
  return [
    ...deletions.map((deleteExpired) =>
      startCleanup((atMost) => deleteExpired(pool, atMost), { onError: onTrouble }),
    ),
    startCleanup((atMost) => readDueReferenceData(reading, atMost), {
      batch: readingsAtOnce,
      onError: onTrouble,
    }),
    startCleanup((atMost) => refreshOverviews(pool, atMost, onFigures), {
      batch: figuresAtOnce,
      onError: onTrouble,
    }),
  ];
}
