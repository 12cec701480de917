/**
 * Whether an operator may come in: its token looked up, many requests in one round trip. Nothing is
 * cached, so that a revocation, and an operator's being made inactive, hold from their commit on.
 * decisions §8.
 */
import type pg from "pg";
import { batchAdmissions } from "./admission-batches.ts";

/** An operator whose token is valid now. `role` is `read-only`, `admin` or `owner`. */
export interface AdmittedOperator {
  readonly operatorId: string;
  readonly tokenId: string;
  readonly name: string;
  readonly role: "read-only" | "admin" | "owner";
}

/** Admits operators by the SHA-256 of their token; null for an unknown, revoked or expired one. Rejects without a database. */
export interface OperatorAccess {
  readonly admit: (tokenHash: Uint8Array) => Promise<AdmittedOperator | null>;
}

/**
 * Operators are few: 300 requests with unknown tokens, open at once, are answered in five
 * statements, where each alone stood in the pool before the requests of the API.
 */
const largestBatch = 64;

/** One connection of the pool at most: the others are for the API, whatever comes to this port. */
const statementsInFlight = 1;

/**
 * Some hundred batches, a second of the one connection: a request that comes later is asked to come
 * back.
 */
const mostWaiting = 5_000;

/** How operators are admitted. */
export interface OperatorAccessSettings {
  /** Called after each statement with the number of its requests. */
  readonly onBatch?: (size: number) => void;
}

interface AdmissionRow {
  ordinal: number;
  token_id: string;
  operator_id: string;
  operator_name: string;
  operator_role: AdmittedOperator["role"];
}

// In the order of the hashes, so that two processes that note the last use of the same tokens never
// deadlock.
const admitText = `SELECT h.place::integer AS ordinal, a.*
  FROM (SELECT hash, place FROM unnest($1::bytea[]) WITH ORDINALITY AS h (hash, place) ORDER BY hash) h
    CROSS JOIN LATERAL admit_operator(h.hash) a`;

/** Admissions over a pool, in batches: unknown tokens take no more than one of its connections. */
export function createOperatorAccess(
  pool: Pick<pg.Pool, "query">,
  settings: OperatorAccessSettings = {},
): OperatorAccess {
  const admit = batchAdmissions<AdmissionRow, AdmittedOperator | null>(pool, {
    statement: (hashes) => ({ name: "admit_operators", text: admitText, values: [hashes] }),
    read: (row) =>
      row === undefined
        ? null
        : { tokenId: row.token_id, operatorId: row.operator_id, name: row.operator_name, role: row.operator_role },
    largestBatch,
    statementsInFlight,
    mostWaiting,
    onBatch: settings.onBatch,
  });
  return { admit };
}
