/**
 * The settings of the API and the worker: names, defaults, allowed values and meaning. `config.ts`
 * reads them by this table, and `npm run docs:config` writes it to `docs/configuration.md`.
 */

import { defaultTaskQueue } from "../../../workflows/contract.ts";
import { defaultFirstPauseMs } from "../../domain/events/retry-schedule.ts";
import { temporalSection } from "./described-temporal.ts";

/** A whole number with its default and its bounds, both included. */
interface WholeNumber {
  readonly fallback: number;
  readonly least: number;
  readonly most: number;
}

/** The settings that are whole numbers. */
export const wholeNumbers = {
  API_PORT: { fallback: 8080, least: 0, most: 65_535 },
  ADMIN_PORT: { fallback: 8081, least: 0, most: 65_535 },
  RATE_LIMIT_PER_MINUTE: { fallback: 120, least: 1, most: 1_000_000 },
  SHUTDOWN_SECONDS: { fallback: 20, least: 0, most: 3_600 },
  DRAIN_SECONDS: { fallback: 0, least: 0, most: 300 },
  DATABASE_POOL_SIZE: { fallback: 10, least: 1, most: 1_000 },
  LEDGER_CALL_SECONDS: { fallback: 10, least: 1, most: 20 },
  LEDGER_SYNC_MINUTES: { fallback: 15, least: 1, most: 1_440 },
  WEBHOOK_RETRY_MILLISECONDS: { fallback: defaultFirstPauseMs, least: 1, most: 30_000 },
  WORKER_PORT: { fallback: 0, least: 0, most: 65_535 },
  METRICS_PORT: { fallback: 0, least: 0, most: 65_535 },
} as const satisfies Readonly<Record<string, WholeNumber>>;

/** A word out of a few, with its default. */
interface Choice {
  readonly fallback: string;
  readonly words: readonly string[];
}

const addresses = ["public", "development"] as const;

/** The settings with a few allowed words. */
export const choices = {
  GRPC_REFLECTION: { fallback: "on", words: ["on", "off"] },
  CONSOLE: { fallback: "on", words: ["on", "off"] },
  LEDGER_ADDRESSES: { fallback: "public", words: addresses },
  WEBHOOK_ADDRESSES: { fallback: "public", words: addresses },
  LOG_LEVEL: {
    fallback: "info",
    words: ["fatal", "error", "warn", "info", "debug", "trace", "silent"],
  },
} as const satisfies Readonly<Record<string, Choice>>;

/** The settings that are texts with a default. */
export const texts = {
  API_HOST: "127.0.0.1",
  ADMIN_HOST: "127.0.0.1",
  WORKER_HOST: "127.0.0.1",
  METRICS_HOST: "127.0.0.1",
  TASK_QUEUE: defaultTaskQueue,
  TEMPORAL_DEPLOYMENT_NAME: "billing",
  // This machine: a local proxy, or local users.
  TRUSTED_PROXIES: "127.0.0.0/8,::1/128",
} as const satisfies Readonly<Record<string, string>>;

/**
 * The settings that are secrets, except those of ledgers. Each can also be set as `NAME_FILE`, and
 * none is shown.
 */
export const secrets = [
  "DATABASE_URL",
  "SECRET_KEY",
  "SECRET_KEYS_BEFORE",
  "TEMPORAL_API_KEY",
  "TEMPORAL_PAYLOAD_KEY",
  "TEMPORAL_PAYLOAD_KEYS_BEFORE",
] as const;

/** The levels of the log, the most severe first. */
export type LogLevel = (typeof choices)["LOG_LEVEL"]["words"][number];

/** One row of the page: settings that are set together. Texts are Markdown. */
export interface DescribedSetting {
  readonly names: readonly string[];
  /** The default, if no table above has it. */
  readonly fallback?: string;
  /** What `npm start` sets instead. */
  readonly underNpmStart?: string;
  readonly meaning: string;
}

/** One table of the page. */
export interface SettingSection {
  readonly title: string;
  readonly settings: readonly DescribedSetting[];
}

/** The tables of the page, in order. */
export const settingSections: readonly SettingSection[] = [
  {
    title: "Database and keys",
    settings: [
      {
        names: ["DATABASE_URL"],
        fallback: "none",
        underNpmStart: "embedded",
        meaning: "PostgreSQL 15 or newer, `postgresql://user:password@host:5432/database`",
      },
      { names: ["DATABASE_POOL_SIZE"], meaning: "connections of one process" },
      {
        names: ["SECRET_KEY"],
        fallback: "none",
        underNpmStart: "generated in `.data`",
        meaning:
          "32 bytes in base64. It encrypts ledger credentials and webhook secrets. The same for " +
          "every process, except during a [change](operations/mend.md#a-new-secret-key)",
      },
      {
        names: ["SECRET_KEYS_BEFORE"],
        fallback: "none",
        meaning:
          "other values of `SECRET_KEY`, separated by commas: previous ones, and one to come. " +
          "They decrypt and never encrypt",
      },
    ],
  },
  temporalSection,
  {
    title: "Ports and the network",
    settings: [
      { names: ["API_HOST", "API_PORT"], meaning: "where the public API listens" },
      {
        names: ["ADMIN_HOST", "ADMIN_PORT"],
        meaning: "where the admin API listens: for operators, not for the network",
      },
      {
        names: ["CONSOLE"],
        meaning:
          "`off` serves no [console](console.md) on the admin port, and takes no cookie there. " +
          "The documentation stays",
      },
      {
        names: ["CONSOLE_HOSTS"],
        fallback: "none",
        meaning:
          "names under which browsers reach the console, separated by commas, in addition to " +
          "`localhost`, `ADMIN_HOST` and the host of `PUBLIC_URL`",
      },
      {
        names: ["TLS_CERT_FILE", "TLS_KEY_FILE"],
        fallback: "none",
        meaning:
          "PEM files, both or none. Without them cleartext, HTTP/1.1 and HTTP/2 on the same port",
      },
      {
        names: ["TRUSTED_PROXIES"],
        meaning:
          "addresses and networks of proxies and load balancers, separated by commas: see " +
          "[limits by address](operations/run.md#limits-by-address)",
      },
      {
        names: ["PUBLIC_URL"],
        fallback: "none",
        meaning:
          "the API's public address. Documents in the ledger then link back to it, and the " +
          "OpenAPI document names it",
      },
      {
        names: ["SUPPORT_CONTACT"],
        fallback: "none",
        meaning: "an e-mail address or a page for questions, in the OpenAPI document",
      },
      {
        names: ["GRPC_REFLECTION"],
        meaning: "`off` hides the descriptions of the services from gRPC clients",
      },
      {
        names: ["RATE_LIMIT_PER_MINUTE"],
        meaning:
          "requests of one key in any 60 seconds. Other values are for measurements: the " +
          "contract " +
          "promises 120",
      },
      {
        names: ["DRAIN_SECONDS"],
        meaning:
          "how long the ports stay open after SIGTERM, not ready, until balancers have noticed",
      },
      {
        names: ["SHUTDOWN_SECONDS"],
        meaning: "how long open requests may take after the ports are closed",
      },
    ],
  },
  {
    title: "Logs and metrics",
    settings: [
      {
        names: ["LOG_LEVEL"],
        meaning: "the least severe level. One JSON line a request on standard output",
      },
      {
        names: ["WORKER_PORT", "WORKER_HOST"],
        fallback: "off, `127.0.0.1`",
        underNpmStart: "8082",
        meaning: "where a worker serves `/healthz`, `/readyz` and `/metrics`",
      },
      {
        names: ["METRICS_PORT", "METRICS_HOST"],
        fallback: "off, `127.0.0.1`",
        meaning:
          "where an API process serves the same, so that Prometheus need not reach the admin API",
      },
      {
        names: ["OTEL_EXPORTER_OTLP_ENDPOINT"],
        fallback: "off",
        meaning: "starts OpenTelemetry, which reads its other standard variables too",
      },
    ],
  },
  {
    title: "Ledger",
    settings: [
      {
        names: ["LEDGER_ADDRESSES"],
        underNpmStart: "`development`",
        meaning:
          "`public`: ledgers have https addresses of the public network. `development`: also " +
          "`http` and this machine, for the demo ledger",
      },
      {
        names: ["LEDGER_CALL_SECONDS"],
        meaning: "how long a ledger call may take before its answer counts as lost",
      },
      {
        names: ["LEDGER_SYNC_MINUTES"],
        meaning: "interval of the incremental ledger sync, with or without webhooks",
      },
    ],
  },
  {
    title: "Webhooks to platforms",
    settings: [
      {
        names: ["WEBHOOK_ADDRESSES"],
        underNpmStart: "`development`",
        meaning: "`development`: endpoints may also be `http` and on this machine",
      },
      {
        names: ["WEBHOOK_RETRY_MILLISECONDS"],
        meaning:
          "the pause after a first attempt. Later pauses are multiples of it, so that a " +
          "trial can " +
          "shorten the 20 hours",
      },
    ],
  },
];
