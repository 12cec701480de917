/** The readiness of the API process: its database, and Temporal. */
import type { Config } from "../../config.ts";
import { createSchemaCheck } from "../../store/database/migrations/schema-state.ts";
import { createReadiness, type Readiness } from "../../transport/http/readiness.ts";
import { checkTemporal, type TemporalClient } from "../../worker/temporal/connect.ts";
import type { Log } from "../telemetry/log.ts";

/** How long a readiness check may take. Probes themselves wait a few seconds. */
const checkMs = 1_500;

/**
 * Starts one check of the database and Temporal for both ports. The log has each change of its
 * result.
 */
export function openReadiness(config: Config, log: Log, temporal: TemporalClient): Readiness {
  const onError = (err: Error) => log.warn({ err }, "readiness: connection lost");
  const schema = createSchemaCheck({ databaseUrl: config.database.url, onError });
  const readiness = createReadiness({
    checks: {
      database: { required: true, check: schema.check },
      // Without Temporal, accepted work is done later and reads are answered (INVARIANT-9).
      temporal: { required: false, check: () => checkTemporal(temporal, checkMs).then(() => null) },
    },
    onChange: (report) => log[report.status === "not_ready" ? "warn" : "info"](report, "readiness"),
  });
  return { ...readiness, close: () => readiness.close().then(schema.close) };
}
