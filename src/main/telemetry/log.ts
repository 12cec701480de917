/** The log of a process: one JSON line for each event, on standard output, without secrets. */
import { type Logger, pino } from "pino";
import type { LogLevel } from "../../config.ts";
import { logFields } from "./log-context.ts";

/** The logger that every part writes to. */
export type Log = Logger;

/** Members that never belong in a line. Their values are replaced, also one level deep. */
const secretMembers = new Set([
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
]);

const censored = "[hidden]";

/** An error as the log shows it. */
interface PublishFailure {
  readonly type: string;
  readonly message: string;
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly table?: unknown;
  readonly stack?: string;
  readonly cause?: PublishFailure;
}

/**
 * Creates the log of this process. `part` (`api`, `worker`) is in every line. `destination` is
 * standard output unless a test sets it.
 */
export function createLog(
  part: string,
  level: LogLevel,
  destination?: { write(line: string): void },
): Log {
  const options = {
    level,
    base: { part, pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    // A line's own members take precedence.
    mixin: logFields,
    formatters: { level: (label: string) => ({ level: label }), log: hideSecrets },
    serializers: { err: reportFailure },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * Returns the line without secrets. pino's own redaction searches the whole line for each of its
 * paths, which takes longer than the rest of a request's line. The serializer reads `err`.
 */
function hideSecrets(line: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return withoutSecrets(line, (name, value) =>
    name !== "err" &&
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).some(isSecret)
      ? withoutSecrets(value, (_name, inner) => inner)
      : value,
  );
}

/** Returns a copy in which secret members are censored, and others are as `read` returns them. */
function withoutSecrets(
  members: object,
  read: (name: string, value: unknown) => unknown,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members))
    copy[name] = isSecret(name) ? censored : read(name, value);
  return copy;
}

function isSecret(name: string): boolean {
  return secretMembers.has(name);
}

/**
 * Returns an error without PostgreSQL's data of the faulty row (`detail`, `where`, parameters),
 * because those are customers' data. Causes are included up to four deep.
 */
function reportFailure(error: unknown, depth = 0): PublishFailure {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const { code, constraint, table } = error as {
    code?: unknown;
    constraint?: unknown;
    table?: unknown;
  };
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
