/**
 * Finds settings that are set and that nothing reads: a misspelt name would otherwise be a setting
 * without effect.
 */
import { nearestOf } from "../../domain/nearest-name.ts";
import type { LedgerKinds } from "../../ledger/port/ledger-kind.ts";
import { settingNames } from "./effective-settings.ts";
import { fileSettingOf, secretNames } from "./secret-files.ts";

/**
 * The settings of the local start, the demo ledger, the command line and the tests. Another program
 * may read each.
 */
const ofOtherPrograms = [
  "DEMO_LEDGER_PORT",
  "LOCAL_LEDGER_PORT",
  "DEMO_LEDGER_HOST",
  "DEMO_LEDGER_LIMITS",
  "DEMO_LEDGER_FAULTS",
  "DEMO_LEDGER_URL",
  "TEMPORAL_PORT",
  "TEMPORAL_UI_PORT",
  "BILLING_ADMIN_URL",
  "BILLING_OPERATOR_TOKEN",
  "BILLING_OPERATOR_TOKEN_FILE",
  "BILLING_ORGANISATION",
  "BILLING_CRASH_AT",
] as const;

/**
 * The groups of our settings. Groups that other software also has (`TLS_`, `GRPC_`, `POSTGRES_`)
 * are left out.
 */
const prefixes = [
  "API_",
  "ADMIN_",
  "WORKER_",
  "DATABASE_",
  "SECRET_KEY",
  "LEDGER_",
  "WEBHOOK_",
  "DEMO_LEDGER_",
  "TEMPORAL_",
  "BILLING_",
  "RATE_LIMIT_",
  "TRUSTED_PROX",
] as const;

/** Kubernetes sets these for each service of a namespace, such as one with the name `api`. */
const ofKubernetes = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/;

/** The credentials with which the conformance suite reaches a demo company. */
const ofTests = /_DEMO_CLIENT_(?:ID|SECRET)$/;

/** Any name with this beginning is a header of calls to Temporal. */
const headers = "TEMPORAL_GRPC_META_";

/** Returns a warning of each unknown setting, in alphabetical order. */
export function unknownSettings(env: NodeJS.ProcessEnv, kinds: LedgerKinds): readonly string[] {
  const files = secretNames(kinds).map(fileSettingOf);
  const candidates = [...new Set([...settingNames(kinds), ...files])];
  const known = new Set([...candidates, ...ofOtherPrograms]);
  const groups = [...prefixes, ...Object.keys(kinds).map((kind) => `${kind.toUpperCase()}_`)];
  return Object.keys(env)
    .filter((name) => Boolean(env[name]) && groups.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !known.has(name) && !name.startsWith(headers))
    .filter((name) => !ofKubernetes.test(name) && !ofTests.test(name))
    .sort()
    .map((name) => {
      const nearest = nearestOf(name, candidates);
      const advice = nearest === null ? "" : ` Is ${nearest} meant?`;
      return `${name} is no setting of this service and has no effect.${advice}`;
    });
}
