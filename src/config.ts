/**
 * The settings of the API and the worker, read once from the environment and typed. Only
 * DATABASE_URL has no default. A wrong value stops the start with an error that names it.
 *
 * Temporal's library reads its own settings (`TEMPORAL_*`), and embedded parts read theirs at their
 * start. BILLING_CRASH_AT is for fault tests only: see `crash-points.ts`.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { BlockList } from "node:net";
import { createSecureContext } from "node:tls";
import { ledgers } from "./ledger/index.ts";
import { type LedgerSettings, readLedgerSettings } from "./ledger/ledger-settings.ts";
import type { LedgerKinds } from "./ledger/port/ledger-kind.ts";
import { trustedProxiesOf } from "./transport/http/trusted-proxies.ts";

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
    readonly tls: { readonly cert: string; readonly key: string } | null;
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
     * LEDGER_SWEEP_MINUTES, default 15: the interval of the incremental sync of an organisation's
     * ledger, with or without webhooks (LEDGER-4).
     */
    readonly syncIntervalMs: number;
    /**
     * PUBLIC_URL, the public address of this API. Documents in the ledger link back to it. Null:
     * they have no link.
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
   * WORKER_METRICS_PORT (with 0 the system chooses) and WORKER_METRICS_HOST, default `127.0.0.1`:
   * where a worker serves `/metrics`. Null, the default: a worker serves no metrics.
   */
  readonly workerMetrics: { readonly host: string; readonly port: number } | null;
  /**
   * TASK_QUEUE, default `billing`: the Temporal task queue that the API adds to and the worker
   * polls.
   */
  readonly taskQueue: string;
  /**
   * SECRET_KEY, 32 bytes in base64: it encrypts ledger credentials (AES-256-GCM, ADMIN-3). Null if
   * not set: then no credentials can be encrypted or decrypted.
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

/** A wrong setting that prevents the start. Its message names the setting and what to do. */
export class SettingError extends Error {}

const addresses = ["public", "development"] as const;

/** The addresses that webhook endpoints and ledgers may have. */
export type Addresses = (typeof addresses)[number];

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** The levels of the log, the most severe first. */
export type LogLevel = (typeof logLevels)[number];

/**
 * Reads the settings, with those of these kinds of ledger. Throws an Error that names the first
 * wrong one and what it must be. The message repeats no secret.
 */
export function readConfig(env: NodeJS.ProcessEnv, kinds: LedgerKinds = ledgers): Config {
  return {
    api: {
      host: text(env, "API_HOST", "127.0.0.1"),
      port: whole(env, "API_PORT", 8080, 0, 65_535),
      tls: tlsFiles(env),
      grpcReflection: choice(env, "GRPC_REFLECTION", ["on", "off"], "on") === "on",
      rateLimitPerMinute: whole(env, "RATE_LIMIT_PER_MINUTE", 120, 1, 1_000_000),
      trustedProxies: trustedProxiesOf(env),
      shutdownMs: whole(env, "SHUTDOWN_SECONDS", 20, 0, 3_600) * 1000,
      drainMs: whole(env, "DRAIN_SECONDS", 0, 0, 300) * 1000,
    },
    admin: {
      host: text(env, "ADMIN_HOST", "127.0.0.1"),
      port: whole(env, "ADMIN_PORT", 8081, 0, 65_535),
    },
    database: { url: databaseUrl(env), poolSize: whole(env, "DATABASE_POOL_SIZE", 10, 1, 1_000) },
    ledger: {
      callDeadlineMs: whole(env, "LEDGER_CALL_SECONDS", 10, 1, 20) * 1000,
      addresses: choice(env, "LEDGER_ADDRESSES", addresses, "public"),
      syncIntervalMs: whole(env, "LEDGER_SWEEP_MINUTES", 15, 1, 1_440) * 60_000,
      publicUrl: publicUrl(env),
      ...readLedgerSettings(env, kinds),
    },
    webhooks: {
      addresses: choice(env, "WEBHOOK_ADDRESSES", addresses, "public"),
      firstPauseMs: whole(env, "WEBHOOK_RETRY_MILLISECONDS", 30_000, 1, 30_000),
    },
    workerMetrics: env.WORKER_METRICS_PORT
      ? {
          host: text(env, "WORKER_METRICS_HOST", "127.0.0.1"),
          port: whole(env, "WORKER_METRICS_PORT", 0, 0, 65_535),
        }
      : null,
    taskQueue: text(env, "TASK_QUEUE", "billing"),
    secretKey: secretKey(env),
    secretKeysBefore: secretKeysBefore(env),
    logLevel: choice(env, "LOG_LEVEL", logLevels, "info"),
  };
}

/** An empty value counts as not set, because compose files cannot express an unset variable. */
function text(env: NodeJS.ProcessEnv, name: string, fallback: string): string {
  return env[name] || fallback;
}

function whole(
  env: NodeJS.ProcessEnv,
  name: string,
  fallback: number,
  least: number,
  most: number,
): number {
  const given = env[name];
  if (!given) return fallback;
  const value = Number(given);
  if (!/^\d{1,9}$/.test(given) || value < least || value > most) {
    throw new Error(`${name}=${given} must be a whole number from ${least} to ${most}.`);
  }
  return value;
}

function choice<T extends string>(
  env: NodeJS.ProcessEnv,
  name: string,
  choices: readonly T[],
  fallback: T,
): T {
  const given = env[name];
  if (!given) return fallback;
  const found = choices.find((one) => one === given);
  if (found === undefined)
    throw new Error(`${name}=${given} must be one of ${choices.join(", ")}.`);
  return found;
}

/** Errors never show the value, because it may hold a password. */
function databaseUrl(env: NodeJS.ProcessEnv): string {
  const given = env.DATABASE_URL;
  const wanted = "an address such as postgresql://user:password@host:5432/database";
  if (!given) throw new Error(`DATABASE_URL is not set: it must be ${wanted}.`);
  if (!URL.canParse(given) || !/^postgres(?:ql)?:$/.test(new URL(given).protocol)) {
    throw new Error(`DATABASE_URL must be ${wanted}.`);
  }
  return given;
}

function publicUrl(env: NodeJS.ProcessEnv): string | null {
  const given = env.PUBLIC_URL;
  if (!given) return null;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new Error(`PUBLIC_URL=${given} must be an address such as https://billing.example.com.`);
  }
  return given.replace(/\/+$/, "");
}

function secretKey(env: NodeJS.ProcessEnv): Buffer | null {
  const given = env.SECRET_KEY;
  return given ? keyOf("SECRET_KEY", given) : null;
}

function secretKeysBefore(env: NodeJS.ProcessEnv): readonly Buffer[] {
  const given = env.SECRET_KEYS_BEFORE;
  return given ? given.split(",").map((key) => keyOf("SECRET_KEYS_BEFORE", key.trim())) : [];
}

function keyOf(name: string, given: string): Buffer {
  const key = Buffer.from(given, "base64");
  if (key.length !== 32 || !/^[0-9A-Za-z+/]{43}=$/.test(given)) {
    throw new Error(`${name} must be 32 random bytes in base64 (openssl rand -base64 32).`);
  }
  return key;
}

function tlsFiles(env: NodeJS.ProcessEnv): Config["api"]["tls"] {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = env;
  if (!certFile && !keyFile) return null;
  if (!certFile) throw new Error("TLS_KEY_FILE is set without TLS_CERT_FILE.");
  if (!keyFile) throw new Error("TLS_CERT_FILE is set without TLS_KEY_FILE.");
  const tls = {
    cert: readSetting("TLS_CERT_FILE", certFile),
    key: readSetting("TLS_KEY_FILE", keyFile),
  };
  assertPair(tls.cert, tls.key, certFile, keyFile);
  return tls;
}

/**
 * Throws for a pair that TLS would refuse later with an error that names no setting. The key itself
 * is never shown.
 */
function assertPair(cert: string, key: string, certFile: string, keyFile: string): void {
  const chain = orThrow(
    `TLS_CERT_FILE=${certFile} is no certificate in PEM.`,
    () => new X509Certificate(cert),
  );
  const message = `TLS_KEY_FILE=${keyFile} is no private key in PEM without a passphrase.`;
  const privateKey = orThrow(message, () => createPrivateKey(key));
  if (!chain.checkPrivateKey(privateKey)) {
    throw new Error(
      `TLS_KEY_FILE=${keyFile} is not the key of the first certificate in TLS_CERT_FILE=${certFile}.`,
    );
  }
  orThrow(`TLS_CERT_FILE=${certFile} and TLS_KEY_FILE=${keyFile} cannot be used for TLS.`, () =>
    createSecureContext({ cert, key }),
  );
}

function orThrow<T>(message: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new Error(message, { cause });
  }
}

function readSetting(name: string, path: string): string {
  return orThrow(`${name}=${path} cannot be read.`, () => readFileSync(path, "utf8"));
}
