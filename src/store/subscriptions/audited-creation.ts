/**
 * Writes a decided creation in one transaction with something else, such as an entry of the audit
 * log. The platform's own creations are one statement without a transaction around it.
 */
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import {
  type CreationSave,
  type CreationToSave,
  creationQuery,
  isExisting,
  readSaved,
} from "./save-creation.ts";

/** Writes the creation as `saveCreation` does. `onSaved` runs in its transaction after it. */
export async function saveCreationWith(
  pool: Pool,
  organisationId: string,
  creation: CreationToSave,
  onSaved: (tx: Transaction) => Promise<void>,
): Promise<CreationSave> {
  try {
    return await inTransaction(pool, async (tx) => {
      const saved = readSaved(await tx.query(creationQuery(organisationId, creation)));
      if (saved !== "saved") return saved;
      await onSaved(tx);
      return "saved";
    });
  } catch (error) {
    if (isExisting(error)) return "exists";
    throw error;
  }
}
