/**
 * The readiness of a process: its database with the migrations that the code needs, Temporal, and
 * what only this kind of process needs. API and worker check in the same way.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Config } from "../config.ts";
import { createSchemaCheck } from "../store/database/migrations/schema-state.ts";
import {
  createReadiness,
  type HealthCheck,
  type Readiness,
  type ReadinessReport,
} from "../transport/http/readiness.ts";
import { checkTemporal, type TemporalClient } from "../worker/temporal/connect.ts";
import type { Log } from "./telemetry/log.ts";

/** How long a readiness check may take. Probes themselves wait a few seconds. */
const checkMs = 1_500;

/** What differs between the kinds of process. */
export interface ReadinessNeeds {
  /**
   * Whether the process can do nothing without Temporal. An API process accepts work and answers
   * reads, and the work is done later (INVARIANT-9).
   */
  readonly isTemporalRequired: boolean;
  /** Further checks by name. */
  readonly checks?: Readonly<Record<string, HealthCheck>>;
  /** Whether the process is still starting. Then it is no warning that it is not ready. */
  readonly isStarting?: () => boolean;
}

/** The interval of the checks of the migrations at a start. */
const schemaEveryMs = 1_000;

/**
 * Waits until the database can be reached and has the migrations that the code needs, so that
 * nothing of the process meets tables that are not there. The log has each reason to wait once.
 * Returns early if `signal` is aborted.
 */
export async function awaitSchema(config: Config, log: Log, signal?: AbortSignal): Promise<void> {
  const schema = createSchemaCheck({ databaseUrl: config.database.url, onError: () => undefined });
  let known: string | null = null;
  while (!signal?.aborted) {
    const fault = await schema.check().catch(() => "The database cannot be reached");
    if (fault === null) break;
    if (fault !== known) log.warn({ reasons: { database: fault } }, "waiting for the database");
    known = fault;
    await wait(schemaEveryMs, undefined, { signal }).catch(() => undefined);
  }
  await schema.close();
}

/**
 * Starts one check a second for all probes of the process. The log has each change of its result.
 */
export function openReadiness(
  config: Config,
  log: Log,
  temporal: TemporalClient,
  { isTemporalRequired, checks = {}, isStarting = () => false }: ReadinessNeeds,
): Readiness {
  const onError = (err: Error) => log.warn({ err }, "readiness: connection lost");
  const schema = createSchemaCheck({ databaseUrl: config.database.url, onError });
  const isTrouble = ({ status }: ReadinessReport) => status === "not_ready" && !isStarting();
  const readiness = createReadiness({
    checks: {
      database: { required: true, check: schema.check },
      temporal: {
        required: isTemporalRequired,
        check: () => checkTemporal(temporal, checkMs).then(() => null),
      },
      ...checks,
    },
    onChange: (report) => log[isTrouble(report) ? "warn" : "info"](report, "readiness"),
  });
  return { ...readiness, close: () => readiness.close().then(schema.close) };
}
