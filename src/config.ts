/**
 * The settings of the API and the worker, read once from the environment and typed. Only
 * DATABASE_URL has no default. Wrong values stop the start with an error that names each.
 *
 * Embedded parts read their settings at their start. BILLING_CRASH_AT is for fault tests only: see
 * `crash-points.ts`.
 */
import { BlockList } from "node:net";
import { ledgers } from "./ledger/index.ts";
import { type LedgerSettings, readLedgerSettings } from "./ledger/ledger-settings.ts";
import type { LedgerKinds } from "./ledger/port/ledger-kind.ts";
import type { Addresses, LogLevel } from "./main/settings/described-settings.ts";
import {
  consoleHosts,
  databaseUrl,
  publicUrl,
  secretKey,
  secretKeysBefore,
  settingsReader,
  supportContact,
  temporalUiUrl,
} from "./main/settings/read-settings.ts";
import { resolveSecrets, secretNames } from "./main/settings/secret-files.ts";
import { readTemporalSettings } from "./main/settings/temporal-settings.ts";
import { type TlsPair, tlsFiles } from "./main/settings/tls-files.ts";
import { createEncryption, type Encryption } from "./store/database/encryption.ts";
import { trustedProxiesOf } from "./transport/http/limits/trusted-proxies.ts";
import type { TemporalSettings } from "./worker/temporal/connect.ts";

/** All settings of both processes. */
export interface Config {
  readonly api: {
    /**
     * API_HOST, default `127.0.0.1`: only this machine can connect until the setting is changed.
     */
    readonly host: string;
    /** API_PORT, default 8080. With 0 the system chooses a free port. */
    readonly port: number;
    /**
     * TLS_CERT_FILE and TLS_KEY_FILE, paths of PEM files, both or none. Null serves cleartext
     * (behind a TLS proxy).
     */
    readonly tls: TlsPair | null;
    /** SUPPORT_CONTACT, an e-mail address or a page for questions. Null: the manual names none. */
    readonly supportContact: string | null;
    /** GRPC_REFLECTION, `on` (default) or `off`: whether gRPC clients may list the services. */
    readonly grpcReflection: boolean;
    /**
     * RATE_LIMIT_PER_MINUTE, default 120, as specified (ACCESS-5). Other values are for
     * measurements. A higher limit makes each admission slower, since a window stores that many
     * instants.
     */
    readonly rateLimitPerMinute: number;
    /**
     * TRUSTED_PROXIES, default this machine: addresses that many clients share. No limit by address
     * applies to them.
     */
    readonly trustedProxies: BlockList;
    /**
     * SHUTDOWN_SECONDS, default 20: how long open requests may take to finish. A request that waits
     * for the ledger takes up to 15.
     */
    readonly shutdownMs: number;
    /**
     * DRAIN_SECONDS, default 0, at most 300: how long the port stays open after SIGTERM while
     * readiness says `stopping`. A load balancer needs its probe interval times its failure
     * threshold.
     */
    readonly drainMs: number;
  };
  readonly admin: {
    /** ADMIN_HOST, default `127.0.0.1`: the admin API is for operators, not for the network. */
    readonly host: string;
    /** ADMIN_PORT, default 8081. With 0 the system chooses a free port. */
    readonly port: number;
    /**
     * TEMPORAL_UI_URL, the address of the Temporal UI as operators open it. The timeline links to
     * it. Null: no links.
     */
    readonly temporalUiUrl: string | null;
    /**
     * CONSOLE_HOSTS and what follows from other settings: the names under which the console is
     * served, without ports. Null if CONSOLE, default `on`, is `off`.
     */
    readonly consoleHosts: ReadonlySet<string> | null;
  };
  readonly database: {
    /** DATABASE_URL, required: `postgresql://user:password@host:port/database`. */
    readonly url: string;
    /** DATABASE_POOL_SIZE, default 10: the connections of this process. */
    readonly poolSize: number;
  };
  /**
   * Also of each kind of ledger: `…_CLIENT_ID`, `…_CLIENT_SECRET`, `…_URL`, `…_REDIRECT_URL` of our
   * app there, and `…_WEBHOOK_KEY`, the signing key of its webhooks.
   */
  readonly ledger: LedgerSettings & {
    /**
     * LEDGER_CALL_SECONDS, default 10: after this time the answer of a ledger call counts as lost.
     */
    readonly callDeadlineMs: number;
    /**
     * LEDGER_ADDRESSES, default `public`: ledgers have https addresses of the public network.
     * `development` also allows http and this machine, for the demo ledger.
     */
    readonly addresses: Addresses;
    /**
     * LEDGER_SYNC_MINUTES, default 15: the interval of the incremental sync of an organisation's
     * ledger, with or without webhooks (LEDGER-4).
     */
    readonly syncIntervalMs: number;
    /**
     * PUBLIC_URL, the public address of this API. Documents in the ledger link back to it, and
     * the OpenAPI document names it. Null: they have no link.
     */
    readonly publicUrl: string | null;
  };
  readonly webhooks: {
    /**
     * WEBHOOK_ADDRESSES, default `public`: endpoints have https addresses of the public network.
     * `development` also allows http and this machine, for a receiver under development
     * (WEBHOOK-3).
     */
    readonly addresses: Addresses;
    /**
     * WEBHOOK_RETRY_MILLISECONDS, default 30000: the pause after a first attempt. All other pauses
     * are multiples of it.
     */
    readonly firstPauseMs: number;
  };
  /**
   * WORKER_PORT (with 0 the system chooses) and WORKER_HOST, default `127.0.0.1`: where a worker
   * serves health and metrics. Null, the default: it serves none.
   */
  readonly worker: { readonly host: string; readonly port: number } | null;
  /**
   * METRICS_PORT (with 0 the system chooses) and METRICS_HOST, default `127.0.0.1`: where an API
   * process serves metrics and health without the admin API. Null, the default: the admin port
   * alone has the metrics.
   */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** The settings of Temporal: `TEMPORAL_…`. */
  readonly temporal: TemporalSettings;
  /**
   * TASK_QUEUE, default `billing`: the Temporal task queue that the API adds to and the worker
   * polls.
   */
  readonly taskQueue: string;
  /**
   * SECRET_KEY, 32 bytes in base64: it encrypts ledger credentials (AES-256-GCM, ADMIN-3). Null if
   * not set, for a program that is no part of the service and does without.
   */
  readonly secretKey: Buffer | null;
  /**
   * SECRET_KEYS_BEFORE, in base64, separated by commas: previous keys or a future one, which also
   * decrypt. None by default.
   */
  readonly secretKeysBefore: readonly Buffer[];
  /** LOG_LEVEL, default `info`: fatal, error, warn, info, debug, trace or silent. */
  readonly logLevel: LogLevel;
}

/** Wrong settings that prevent the start. Each line of the message names one and what to do. */
export class SettingError extends Error {}

export type { LogLevel } from "./main/settings/described-settings.ts";

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
function readAll(
  env: NodeJS.ProcessEnv,
  kinds: LedgerKinds,
  onFault: (fault: string) => void,
): Config {
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
      trustedProxies: attempt(new BlockList(), () => trustedProxiesOf(env)),
      shutdownMs: whole("SHUTDOWN_SECONDS") * 1000,
      drainMs: whole("DRAIN_SECONDS") * 1000,
    },
    admin: {
      host: text("ADMIN_HOST"),
      port: whole("ADMIN_PORT"),
      temporalUiUrl: attempt(null, () => temporalUiUrl(env)),
      consoleHosts: choice("CONSOLE") === "on" ? attempt(new Set(), () => consoleHosts(env)) : null,
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
