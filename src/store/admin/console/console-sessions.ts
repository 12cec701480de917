/**
 * Begins, lists and ends the sessions of operators in browsers. ADMIN-17. SQL for the valid ones,
 * which the database's clock decides.
 */
import { columns } from "../../../gen/columns.ts";
import { useSignInCode, validSessions } from "../../access/console-sessions.ts";
import { isId } from "../../database/ids.ts";
import { lockOperator } from "../../database/lock-order.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { pick, type RowOf } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import { query } from "../../database/sql/statement.ts";
import { type Actor, type Change, type Changes, changed, changeOf } from "../changes.ts";

const sessionRow = pick(
  columns.consoleSession,
  "id",
  "operatorId",
  "tokenId",
  "userAgent",
  "createdAt",
  "lastUsedAt",
);

/** A stored session, without its hash. */
export type SessionRecord = RowOf<typeof sessionRow>;

/** A session to store. */
interface NewSession extends Pick<SessionRecord, "id" | "operatorId" | "tokenId" | "userAgent"> {
  readonly hash: Uint8Array;
}

/** An operator has a few browsers. */
const maxSessions = 20;

/** The valid sessions of operators. */
export type SessionStore = ReturnType<typeof createSessionStore>;

/** Creates the store over changes. */
export function createSessionStore(pool: Pool, { run }: Changes) {
  const endSome = (
    actor: Actor,
    operatorId: string,
    isMeant: (session: SessionRecord) => boolean,
  ): Promise<readonly SessionRecord[]> =>
    run(actor, async (tx) => {
      await lockOperator(tx, operatorId);
      const meant = (await listValid(tx, operatorId)).filter(isMeant);
      return changed(meant, ...(await endThese(tx, meant)));
    });
  return {
    /** Uses up a code. Null if it signs nobody in. */
    useCode: (codeHash: Uint8Array) => useSignInCode(pool, codeHash),
    /** Begins a session, and ends the operator's oldest beyond the most that one may have. */
    begin: (actor: Actor, { hash, ...session }: NewSession) =>
      run(actor, async (tx) => {
        await lockOperator(tx, session.operatorId);
        const oldest = (await listValid(tx, session.operatorId)).slice(maxSessions - 1);
        const ended = await endThese(tx, oldest);
        const data = { ...session, sessionHash: new Uint8Array(hash) };
        const after = await db(tx).consoleSession.create({ data });
        return changed(undefined, ...ended, changeOf("console_session", null, after));
      }),
    /** Returns the operator's sessions, newest first. */
    list: (operatorId: string) => listValid(pool, operatorId),
    /** Ends a session of the operator. Null if the operator has no such session. */
    end: async (actor: Actor, operatorId: string, id: string) => {
      if (!isId(id)) return null;
      const [ended] = await endSome(actor, operatorId, (session) => session.id === id);
      return ended ?? null;
    },
    /** Ends all sessions of the operator. Returns how many. */
    endAll: async (actor: Actor, operatorId: string) =>
      (await endSome(actor, operatorId, () => true)).length,
  };
}

const listValid = query({
  name: "list_console_sessions",
  text: sql`
    SELECT ${columnsOf(sql`s`, sessionRow)}
    FROM ${validSessions}
    WHERE s.operator_id = $1
    ORDER BY s.created_at DESC, s.id DESC
  `,
  row: sessionRow,
});

async function endThese(
  tx: Transaction,
  sessions: readonly SessionRecord[],
): Promise<readonly Change[]> {
  const ids = sessions.map(({ id }) => id);
  if (ids.length > 0) await db(tx).consoleSession.deleteMany({ where: { id: { in: ids } } });
  return sessions.map((session) => changeOf("console_session", session, null));
}
