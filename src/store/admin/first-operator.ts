/**
 * The first operator, an owner, with a token: made only while there is no operator at all, by whoever may write to the database.
 */
import type pg from "pg";
import { newId } from "../database/ids.ts";
import { createChanges } from "./changes.ts";
import { createOperator, createToken } from "./credentials.ts";

/** Two that are made at the same moment would both find none: this lock lets one go first. Any number that nobody else locks. */
const firstOperatorLock = 20261121;

/** What is kept of the token that the first operator is given. */
export interface FirstToken {
  readonly hash: Uint8Array;
  readonly hint: string;
}

/** Makes it; false, and nothing is made, where there is an operator already, active or not. */
export async function createFirstOperator(pool: pg.Pool, name: string, token: FirstToken): Promise<boolean> {
  const { run, prisma } = createChanges(pool);
  const actor = {
    operatorId: null,
    operatorName: "the server's machine",
    tokenId: null,
    operation: "create-first",
    requestId: null,
  };
  try {
    return await run(actor, async (transaction) => {
      await transaction.$executeRaw`SELECT pg_advisory_xact_lock(${firstOperatorLock})`;
      if ((await transaction.operator.count()) > 0) return { result: false, changes: [] };
      const operator = await createOperator(transaction, { id: newId(), name, role: "owner" });
      // Picked one by one: the value itself, which a caller may have beside them, must not go further.
      const { hash, hint } = token;
      const made = { id: newId(), name: "First token", expiresAt: null, hash, hint };
      const { changes } = await createToken(transaction, operator.result.id, made);
      return { result: true, changes: [...operator.changes, ...changes] };
    });
  } finally {
    await prisma.$disconnect();
  }
}
