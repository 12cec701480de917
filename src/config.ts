/**
 * The settings of the API and the worker, read once from the environment and typed. Only
 * DATABASE_URL has no default. Wrong values stop the start with an error that names each.
 *
 * Embedded parts read their settings at their start. BILLING_CRASH_AT is for fault tests only: see
 * `crash-points.ts`.
 */
import { BlockList } from "node:net";
import { ledgers } from "./ledger/index.ts";
import { readLedgerSettings } from "./ledger/ledger-settings.ts";
import type { LedgerKinds } from "./ledger/port/ledger-kind.ts";
import { tlsFiles } from "./main/settings/pem.ts";
import {
  consoleHosts,
  databaseUrl,
  publicUrl,
  secretKey,
  secretKeysBefore,
  settingsReader,
  supportContact,
  temporalUiUrl,
  trustedProxies,
} from "./main/settings/read-settings.ts";
import { resolveSecrets, secretNames } from "./main/settings/secret-files.ts";
import { readTemporalSettings } from "./main/settings/temporal-settings.ts";
import { createEncryption, type Encryption } from "./store/database/encryption.ts";

/**
 * All settings of both processes. `described-settings.ts` says what each means. A `worker` or
 * `metrics` of null opens no such port, and a `secretKey` of null is that of a program that is no
 * part of the service. Of other settings null means that nothing is set.
 */
export type Config = ReturnType<typeof readAll>;

/** Wrong settings that prevent the start. Each line of the message names one and what to do. */
export class SettingError extends Error {}

/** A part of the service, and the settings that it needs in addition to the common ones. */
export type ConfiguredPart = "api" | "worker";

const noSecretKey = "SECRET_KEY is not set: it encrypts the secrets of ledgers and webhooks.";

/**
 * Reads the settings, with those of these kinds of ledger. Throws a SettingError with one line for
 * each wrong one: what it is and what it must be. No line repeats a secret. Each part of the
 * service needs SECRET_KEY. A program that is none, such as the one that migrates, does not.
 */
export function readConfig(
  env: NodeJS.ProcessEnv,
  kinds: LedgerKinds = ledgers,
  part?: ConfiguredPart,
): Config {
  const secrets = resolveSecrets(env, secretNames(kinds));
  const faults = [...secrets.faults];
  const config = readAll(secrets.env, kinds, (fault) => faults.push(fault));
  const isKeyNamed = Boolean(secrets.env.SECRET_KEY) || secrets.paths.has("SECRET_KEY");
  if (part !== undefined && !isKeyNamed) faults.push(noSecretKey);
  const { api, admin } = config;
  if (api.port === admin.port && api.port !== 0 && api.host === admin.host)
    faults.push(`API_PORT and ADMIN_PORT are both ${api.port}: change one of them.`);
  if (faults.length > 0) throw new SettingError(faults.join("\n"));
  return config;
}

/** Returns the encryption with the configured keys. Throws a SettingError without SECRET_KEY. */
export function encryptionOf({ secretKey, secretKeysBefore }: Config): Encryption {
  if (secretKey === null) throw new SettingError(noSecretKey);
  return createEncryption(secretKey, secretKeysBefore);
}

/** With a fault the result is not to be used: a wrong setting reads as its default. */
function readAll(env: NodeJS.ProcessEnv, kinds: LedgerKinds, onFault: (fault: string) => void) {
  const reader = settingsReader(env, onFault);
  const { text, whole, choice, attempt } = reader;
  return {
    api: {
      host: text("API_HOST"),
      port: whole("API_PORT"),
      tls: tlsFiles(env, onFault),
      supportContact: attempt(null, () => supportContact(env)),
      grpcReflection: choice("GRPC_REFLECTION") === "on",
      rateLimitPerMinute: whole("RATE_LIMIT_PER_MINUTE"),
      trustedProxies: attempt(new BlockList(), () => trustedProxies(env)),
      shutdownMs: whole("SHUTDOWN_SECONDS") * 1000,
      drainMs: whole("DRAIN_SECONDS") * 1000,
    },
    admin: {
      host: text("ADMIN_HOST"),
      port: whole("ADMIN_PORT"),
      temporalUiUrl: attempt(null, () => temporalUiUrl(env)),
      consoleHosts:
        choice("CONSOLE") === "on"
          ? attempt<ReadonlySet<string>>(new Set(), () => consoleHosts(env))
          : null,
    },
    database: {
      url: attempt("", () => databaseUrl(env)),
      poolSize: whole("DATABASE_POOL_SIZE"),
    },
    ledger: {
      callDeadlineMs: whole("LEDGER_CALL_SECONDS") * 1000,
      addresses: choice("LEDGER_ADDRESSES"),
      syncIntervalMs: whole("LEDGER_SYNC_MINUTES") * 60_000,
      publicUrl: attempt(null, () => publicUrl(env)),
      ...readLedgerSettings(env, kinds, onFault),
    },
    webhooks: {
      addresses: choice("WEBHOOK_ADDRESSES"),
      firstPauseMs: whole("WEBHOOK_RETRY_MILLISECONDS"),
    },
    worker: env.WORKER_PORT ? { host: text("WORKER_HOST"), port: whole("WORKER_PORT") } : null,
    metrics: env.METRICS_PORT ? { host: text("METRICS_HOST"), port: whole("METRICS_PORT") } : null,
    temporal: readTemporalSettings(env, reader, onFault),
    taskQueue: text("TASK_QUEUE"),
    secretKey: attempt(null, () => secretKey(env, "SECRET_KEY")),
    secretKeysBefore: attempt([], () => secretKeysBefore(env, "SECRET_KEYS_BEFORE")),
    logLevel: choice("LOG_LEVEL"),
  };
}
