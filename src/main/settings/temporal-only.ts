/** The settings of programs that only need Temporal: the set-up of a deployment. */
import type { TemporalSettings } from "../../worker/temporal/connect.ts";
import { settingsReader } from "./read-settings.ts";
import { resolveSecrets } from "./secret-files.ts";
import { readTemporalSettings } from "./temporal-settings.ts";

/** The settings of Temporal, and the task queue of the installation. */
export interface TemporalOnly {
  readonly temporal: TemporalSettings;
  readonly taskQueue: string;
}

const temporalSecrets = [
  "TEMPORAL_API_KEY",
  "TEMPORAL_PAYLOAD_KEY",
  "TEMPORAL_PAYLOAD_KEYS_BEFORE",
];

/** Reads the settings. Throws an Error with one line for each wrong one. */
export function readTemporalOnly(env: NodeJS.ProcessEnv): TemporalOnly {
  const secrets = resolveSecrets(env, temporalSecrets);
  const faults = [...secrets.faults];
  const onFault = (fault: string) => void faults.push(fault);
  const reader = settingsReader(secrets.env, onFault);
  const temporal = readTemporalSettings(secrets.env, reader, onFault);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return { temporal, taskQueue: reader.text("TASK_QUEUE") };
}
