/** The log of a process: one JSON line for each event, on standard output, without secrets. */
import { writeSync } from "node:fs";
import { type Logger, pino } from "pino";
import { isDatabaseUnreachable, sqlState } from "../../store/database/errors.ts";
import type { LogFailure } from "../../transport/rpc/refusals.ts";
import type { LogLevel } from "../settings/described-settings.ts";
import { logFields } from "./log-context.ts";

/** The logger that every part writes to. */
export type Log = Logger;

/** Members that never belong in a line. Their values are replaced, also one level deep. */
const secretMembers: ReadonlySet<string> = new Set([
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

/** How long to wait for a reader that is slower than the log, in milliseconds. */
const readerMs = 10;

const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Standard output. A line that cannot be written is lost: neither a full disk nor a reader that has
 * gone ends a process. pino's own destination throws then, and tries for ever at the exit.
 */
const standardOutput = {
  write(line: string): void {
    let rest = Buffer.from(line);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(1, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
        Atomics.wait(pause, 0, 0, readerMs);
      }
    }
  },
};

/**
 * Creates the log of this process. `part` (`api`, `worker`) is in every line. `destination` is
 * standard output unless a test sets it.
 */
export function createLog(
  part: string,
  level: LogLevel,
  destination: { write(line: string): void } = standardOutput,
): Log {
  const options = {
    level,
    base: { part, pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    // A line's own members take precedence.
    mixin: logFields,
    // pino's own redaction takes five times as long as the rest of a line.
    formatters: { level: (label: string) => ({ level: label }), log: hideSecrets },
    serializers: { err: reportFailure },
  };
  return pino(options, destination);
}

/**
 * Returns what logs the failed requests of a port. The cause of a refusal is not an error of this
 * service, so it is a warning.
 */
export function createLogFailure(log: Log): LogFailure {
  return (err, requestId, refused) =>
    refused === undefined
      ? log.error({ requestId, err }, "failure")
      : log.warn({ requestId, code: refused, err }, "refused");
}

/** Returns a line's members without the values of secret ones. */
function hideSecrets(members: Record<string, unknown>): Record<string, unknown> {
  const shown = hideOwn(members);
  for (const [name, value] of Object.entries(shown)) {
    // The serializer of errors picks their members. Lists have no names, and bytes may be many.
    const isNamed = typeof value === "object" && value !== null && name !== "err";
    if (isNamed && !Array.isArray(value) && !ArrayBuffer.isView(value))
      shown[name] = Object.keys(value).some(isSecret) ? hideOwn({ ...value }) : value;
  }
  return shown;
}

const isSecret = (name: string): boolean => secretMembers.has(name);

function hideOwn(members: Record<string, unknown>): Record<string, unknown> {
  const shown = { ...members };
  for (const name of Object.keys(shown)) if (isSecret(name)) shown[name] = "[hidden]";
  return shown;
}

/**
 * Returns an error without PostgreSQL's data of the faulty row (`detail`, `where`, parameters),
 * because those are customers' data. Causes are included up to four deep. An error of a database
 * that is away has no stack: it may come with each request, and nothing in our code explains it.
 */
function reportFailure(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  const { code, constraint, table } = error as {
    code?: unknown;
    constraint?: unknown;
    table?: unknown;
  };
  // Prisma has its own code for PostgreSQL's.
  const known = sqlState(error) ?? code;
  const isStackShown = stack !== undefined && !isDatabaseUnreachable(error);
  return {
    type: name,
    message,
    ...(known === undefined ? {} : { code: known }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(table === undefined ? {} : { table }),
    ...(isStackShown && { stack }),
    ...(cause === undefined || depth >= 4 ? {} : { cause: reportFailure(cause, depth + 1) }),
  };
}
