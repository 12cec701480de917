/** The log of a process: one JSON line for each thing that happened, on standard output, with nothing secret in it. */
import { type Logger, pino } from "pino";
import type { LogLevel } from "../config.ts";

/** The log that every part writes to. */
export type Log = Logger;

/** Members that never belong in a line; they are replaced where they stand, one level deep as well. */
const secretMembers = [
  "authorization",
  "Authorization",
  "apiKey",
  "key",
  "keyHash",
  "secret",
  "clientSecret",
  "encryptedSecret",
  "password",
  "token",
  "accessToken",
  "databaseUrl",
  "connectionString",
];

/** What becomes of an error in a line. */
interface PublishFailure {
  readonly type: string;
  readonly message: string;
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly stack?: string;
  readonly cause?: PublishFailure;
}

/** A log of this process; `part` (`api`, `worker`) stands in every line. `destination` is standard output unless a test asks. */
export function createLog(part: string, level: LogLevel, destination?: { write(line: string): void }): Log {
  const options = {
    level,
    base: { part, pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: secretMembers.flatMap((name) => [name, `*.${name}`]), censor: "[hidden]" },
    serializers: { err: reportFailure },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * An error without what PostgreSQL adds of the row at fault (`detail`, `where`, parameters): those are customers' data. Causes
 * are told up to four deep.
 */
function reportFailure(error: unknown, depth = 0): PublishFailure {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const { code, constraint, table } = error as { code?: unknown; constraint?: unknown; table?: unknown };
  return {
    type: name,
    message,
    ...(code === undefined ? {} : { code }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(table === undefined ? {} : { table }),
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined || depth >= 4 ? {} : { cause: reportFailure(cause, depth + 1) }),
  };
}
