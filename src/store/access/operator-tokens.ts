/**
 * Admits an operator by looking up the token, many requests in one round trip. Nothing is cached,
 * so a revoked token or an inactive operator is refused from the commit on. Sessions are looked up
 * with the tokens. ADMIN-1, ADMIN-17.
 *
 * SQL: a function of the database looks up the tokens of a batch and records their use.
 */
import { bool, int, type RowOf, uuid } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { admissionTimeoutMs, batchAdmissions } from "./admission-batches.ts";
import { noteUse, signedInRow, validSessions } from "./console-sessions.ts";

/** An operator whose token is valid now. */
export type AdmittedOperator = RowOf<typeof signedInRow>;

/** Admits operators by the SHA-256 of their token or of their session's cookie. */
export type OperatorAccess = ReturnType<typeof createOperatorAccess>;

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

const admissionRow = {
  ...signedInRow,
  ordinal: int,
  sessionId: uuid.orNull(),
  isUseDue: bool.orNull(),
};

// In the order of the hashes, so that two processes that record the last use of the same tokens
// never deadlock.
const admitOperators = query({
  name: "admit_operators",
  timeLimitMs: admissionTimeoutMs,
  text: sql`
    SELECT
      h.place::integer AS ordinal, a.token_id, a.operator_id, a.operator_name AS name,
      a.operator_role AS role, NULL::uuid AS session_id, NULL::boolean AS is_use_due
    FROM
      (
        SELECT hash, place
        FROM unnest($1::bytea[]) WITH ORDINALITY AS h (hash, place)
        ORDER BY hash
      ) h
      CROSS JOIN LATERAL admit_operator(h.hash) a
    UNION ALL
    SELECT
      h.place::integer, s.token_id, s.operator_id, o.name, o.role, s.id,
      s.last_used_at < now() - interval '1 minute'
    FROM
      unnest($1::bytea[]) WITH ORDINALITY AS h (hash, place)
      JOIN (${validSessions}) ON s.session_hash = h.hash
  `,
  row: admissionRow,
});

/**
 * Creates the admission over a pool, in batches. Unknown tokens take no more than one of its
 * connections. It rejects if the database does not answer.
 */
export function createOperatorAccess(executor: Executor) {
  const admit = batchAdmissions({
    admit: (hashes) => admitOperators(executor, hashes),
    largestBatch,
    statementsInFlight,
    maxWaiting,
  });
  return {
    /** Null for an unknown, revoked or expired token. */
    admit: async (tokenHash: Uint8Array): Promise<AdmittedOperator | null> => {
      const row = await admit(tokenHash);
      if (row === undefined || row.sessionId !== null) return null;
      const { operatorId, tokenId, name, role } = row;
      return { operatorId, tokenId, name, role };
    },
    /**
     * The token is the one that began the session. `isUseDue`: its last use was recorded more than
     * a minute ago. Null for a session that has ended.
     */
    admitSession: async (sessionHash: Uint8Array) => {
      const row = await admit(sessionHash);
      if (row === undefined || row.sessionId === null) return null;
      const { operatorId, tokenId, name, role, sessionId, isUseDue } = row;
      return { operatorId, tokenId, name, role, sessionId, isUseDue: isUseDue === true };
    },
    /** Records that a session was used. */
    noteUse: (sessionId: string): Promise<unknown> => noteUse(executor, sessionId),
  };
}
