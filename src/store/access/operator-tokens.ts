/**
 * Admits an operator by looking up the token, many requests in one round trip. Nothing is cached,
 * so a revoked token or an inactive operator is refused from the commit on. ADMIN-1.
 *
 * SQL: a function of the database looks up the tokens of a batch and records their use.
 */
import { columns } from "../../gen/columns.ts";
import type { Executor } from "../database/prisma/client.ts";
import { int, type RowOf, uuid } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { admissionTimeoutMs, batchAdmissions } from "./admission-batches.ts";

const operatorRow = {
  operatorId: uuid,
  tokenId: uuid,
  name: columns.operator.name,
  role: columns.operator.role.as<"read-only" | "admin" | "owner">(),
};

/** An operator whose token is valid now. */
export type AdmittedOperator = RowOf<typeof operatorRow>;

/**
 * Admits operators by the SHA-256 of their token. Null for an unknown, revoked or expired token.
 * Rejects if the database does not answer.
 */
export interface OperatorAccess {
  readonly admit: (tokenHash: Uint8Array) => Promise<AdmittedOperator | null>;
}

/**
 * There are few operators. Batches bound the cost of unknown tokens: 300 concurrent requests take
 * five statements. Unbatched, each would queue for the pool before the other calls of operators.
 */
const largestBatch = 64;

/**
 * At most one connection of the pool. The others are for admitted calls, no matter how many
 * requests the port gets.
 */
const statementsInFlight = 1;

/**
 * About eighty batches, one second of the one connection. A later request is refused and must be
 * repeated.
 */
const maxWaiting = 5_000;

/** Settings of the operator admission. */
interface OperatorAccessSettings {
  /** Called after each statement with the number of its requests. */
  readonly onBatch?: (size: number) => void;
}

const admissionRow = { ...operatorRow, ordinal: int };

// In the order of the hashes, so that two processes that record the last use of the same tokens
// never deadlock.
const admitOperators = query({
  name: "admit_operators",
  timeLimitMs: admissionTimeoutMs,
  text: sql`
    SELECT
      h.place::integer AS ordinal,
      a.token_id,
      a.operator_id,
      a.operator_name AS name,
      a.operator_role AS role
    FROM
      (
        SELECT hash, place
        FROM unnest($1::bytea[]) WITH ORDINALITY AS h (hash, place)
        ORDER BY hash
      ) h
      CROSS JOIN LATERAL admit_operator(h.hash) a
  `,
  row: admissionRow,
});

/**
 * Creates the admission over a pool, in batches. Unknown tokens take no more than one of its
 * connections.
 */
export function createOperatorAccess(
  executor: Executor,
  settings: OperatorAccessSettings = {},
): OperatorAccess {
  const admit = batchAdmissions<RowOf<typeof admissionRow>, AdmittedOperator | null>({
    admit: (hashes) => admitOperators(executor, hashes),
    read: (row) => {
      if (row === undefined) return null;
      const { ordinal: _, ...operator } = row;
      return operator;
    },
    largestBatch,
    statementsInFlight,
    maxWaiting,
    onBatch: settings.onBatch,
  });
  return { admit };
}
