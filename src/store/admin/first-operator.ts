/**
 * Creates the first operator, an owner, with a token. It works only while no operator exists, for
 * anyone who may write to the database.
 */

import { newId } from "../database/ids.ts";
import { lockName } from "../database/lock-order.ts";
import type { Pool } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { changed, createChanges } from "./changes.ts";
import { createOperator, createToken } from "./credentials.ts";

/**
 * Serialises two concurrent creations, which would otherwise both find no operator. Any number that
 * no other lock uses.
 */
const firstOperatorLock = 20261121;

/** The name of the first operator's token. */
export const firstTokenName = "First token";

/** What is stored of the first operator's token. */
interface FirstToken {
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
  const actor = {
    operatorId: null,
    operatorName: "the server's machine",
    tokenId: null,
    operation: "create-first",
    requestId: null,
  };
  return createChanges(pool).run(actor, async (tx) => {
    await lockName(tx, firstOperatorLock, "first operator");
    if ((await db(tx).operator.count()) > 0) return changed(false);
    const operator = await createOperator(tx, { id: newId(), name, role: "owner" });
    // Picked one by one: the caller's object may also contain the token's value, which must not go
    // further.
    const { hash, hint } = token;
    const first = { id: newId(), name: firstTokenName, expiresAt: null, hash, hint };
    const { changes } = await createToken(tx, operator.result.id, first);
    return changed(true, ...operator.changes, ...changes);
  });
}
