/**
 * Creates the first operator, an owner, with a token. It works only while no operator exists, for
 * anyone who may write to the database.
 */

import { newId } from "../database/ids.ts";
import type { Pool } from "../database/pool.ts";
import { createChanges } from "./changes.ts";
import { createOperator, createToken } from "./credentials.ts";

/**
 * Serialises two concurrent creations, which would otherwise both find no operator. Any number that
 * no other lock uses.
 */
const firstOperatorLock = 20261121;

/** What is stored of the first operator's token. */
export interface FirstToken {
  readonly hash: Uint8Array;
  readonly hint: string;
}

/**
 * Creates the first operator. Returns false, and creates nothing, if any operator exists, active or
 * not.
 */
export async function createFirstOperator(
  pool: Pool,
  name: string,
  token: FirstToken,
): Promise<boolean> {
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
      // Picked one by one: the caller's object may also contain the token's value, which must not
      // go further.
      const { hash, hint } = token;
      const made = { id: newId(), name: "First token", expiresAt: null, hash, hint };
      const { changes } = await createToken(transaction, operator.result.id, made);
      return { result: true, changes: [...operator.changes, ...changes] };
    });
  } finally {
    await prisma.$disconnect();
  }
}
