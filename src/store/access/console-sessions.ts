/**
 * The sessions of operators in browsers: which are valid, and their end. Only hashes of cookies and
 * codes are stored. ADMIN-17.
 *
 * SQL, because the database's clock decides, and a code is used up by its deletion.
 */
import { columns } from "../../gen/columns.ts";
import { type RowOf, uuid } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { type Command, command, type Executor, first, query } from "../database/sql/statement.ts";

const minuteMs = 60_000;

/** How long a session lasts without a use, and how long in any case. */
export const sessionLife = { idleMs: 30 * minuteMs, absoluteMs: 12 * 60 * minuteMs };

const seconds = (ms: number): Sql => sql`${ms / 1_000} * interval '1 second'`;

/** SQL: whether the token `t` of the operator `o` is valid. */
const isTokenValid = sql`
  o.active AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
`;

/** SQL: the valid sessions `s` with their operators `o`. */
export const validSessions: Sql = sql`
  console_sessions s
  JOIN operators o ON o.id = s.operator_id
  JOIN operator_tokens t
    ON t.id = s.token_id
    AND ${isTokenValid}
    AND s.last_used_at > now() - ${seconds(sessionLife.idleMs)}
    AND s.created_at > now() - ${seconds(sessionLife.absoluteMs)}
`;

/** Records that a session was used. */
export const noteUse: Command<[sessionId: string]> = command({
  name: "note_session_use",
  text: sql`UPDATE console_sessions SET last_used_at = now() WHERE id = $1`,
});

/** The operator that a code signs in, and the token that the session is of. */
export const signedInRow = {
  operatorId: uuid,
  tokenId: uuid,
  name: columns.operator.name,
  role: columns.operator.role.as<"read-only" | "admin" | "owner">(),
};

/** Uses up a code. Null if it is unknown, used or too old, or its token is no longer valid. */
export const useSignInCode = first<RowOf<typeof signedInRow>, [codeHash: Uint8Array]>(
  query({
    name: "use_sign_in_code",
    text: sql`
      WITH
        used AS (
          DELETE FROM console_sign_in_codes
          WHERE code_hash = $1
          RETURNING token_id, expires_at
        )
      SELECT o.id AS operator_id, t.id AS token_id, o.name, o.role
      FROM
        used u
        JOIN operator_tokens t ON t.id = u.token_id
        JOIN operators o ON o.id = t.operator_id AND ${isTokenValid}
      WHERE u.expires_at > now()
    `,
    row: signedInRow,
  }),
);

const codeMs = 10 * minuteMs;

const addCode = command({
  name: "add_sign_in_code",
  text: sql`
    INSERT INTO console_sign_in_codes (code_hash, token_id, expires_at)
    SELECT $1::bytea, t.id, now() + ${seconds(codeMs)}
    FROM
      operators o
      JOIN operator_tokens t ON t.operator_id = o.id AND ${isTokenValid}
    WHERE o.role = 'owner'
    ORDER BY o.seq, t.seq DESC
    LIMIT 1
  `,
});

/**
 * Stores a code that signs in the first owner with a valid token, once within ten minutes. Returns
 * false if there is no such owner. For the server's machine only: no call of the API does this.
 */
export async function addSignInCode(executor: Executor, codeHash: Uint8Array): Promise<boolean> {
  return (await addCode(executor, codeHash)) > 0;
}

const deleteSessions = command({
  name: "delete_ended_sessions",
  text: sql`
    DELETE FROM console_sessions
    WHERE
      id IN (
        SELECT c.id
        FROM console_sessions c
        WHERE NOT EXISTS (SELECT FROM ${validSessions} WHERE s.id = c.id)
        LIMIT $1
        FOR UPDATE OF c SKIP LOCKED
      )
  `,
});

const deleteCodes = command({
  name: "delete_expired_sign_in_codes",
  text: sql`
    DELETE FROM console_sign_in_codes
    WHERE
      code_hash IN (
        SELECT code_hash
        FROM console_sign_in_codes
        WHERE expires_at <= now()
        LIMIT $1
        FOR UPDATE SKIP LOCKED
      )
  `,
});

/** Deletes ended sessions and expired codes, at most `atMost` of each. Returns how many. */
export async function deleteEndedSessions(executor: Executor, atMost: number): Promise<number> {
  return (await deleteSessions(executor, atMost)) + (await deleteCodes(executor, atMost));
}
