/**
 * Writes a decided creation in one transaction with something else, such as an entry of the audit
 * log. The platform's own creations are one statement without a transaction around it.
 */
import {
  inTransaction,
  isDatabaseError,
  type Pool,
  type Transaction,
  uniqueViolation,
} from "../database/pool.ts";
import { type CreationSave, type CreationToSave, creationQuery, isSaved } from "./create.ts";

/** Writes the creation as `saveCreation` does. `onSaved` runs in its transaction after it. */
export async function saveCreationWith(
  pool: Pool,
  organisationId: string,
  creation: CreationToSave,
  onSaved: (tx: Transaction) => Promise<void>,
): Promise<CreationSave> {
  try {
    return await inTransaction(pool, async (tx) => {
      if (!isSaved(await tx.query(creationQuery(organisationId, creation)))) return "changed";
      await onSaved(tx);
      return "saved";
    });
  } catch (error) {
    if (isDatabaseError(error, uniqueViolation, "subscriptions_pkey")) return "exists";
    throw error;
  }
}
