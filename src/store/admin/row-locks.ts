/**
 * Locks single rows until the transaction ends, so that the value logged as before is the one that
 * was replaced. SQL, because the typed client has no locks. The order of locks is in
 * `lock-order.ts`.
 */
import type { Transaction } from "../database/pool.ts";

/** Locks the organisation. Writers that decide by its settings, catalogue or clock wait. */
export async function lockOrganisation(tx: Transaction, id: string): Promise<void> {
  await tx.query({
    name: "lock_organisation",
    text: "SELECT 1 FROM organisations WHERE id = $1 FOR NO KEY UPDATE",
    values: [id],
  });
}

/** Tables of an organisation whose rows are locked one at a time. */
type OwnedTable =
  | "api_keys"
  | "customers"
  | "subscriptions"
  | "webhook_deliveries"
  | "webhook_endpoints";

/** Locks a row of an organisation. It locks nothing if the organisation has no such row. */
export async function lockRow(
  tx: Transaction,
  table: OwnedTable,
  organisationId: string,
  id: string,
): Promise<void> {
  await tx.query({
    name: `lock_row_of_${table}`,
    text: `SELECT 1 FROM ${table} WHERE organisation_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    values: [organisationId, id],
  });
}

/**
 * Locks all owners and this operator, by id. Otherwise two owners who deactivate each other could
 * leave no active owner.
 */
export async function lockOwnersAnd(tx: Transaction, operatorId: string): Promise<void> {
  await tx.query({
    name: "lock_owners_and_operator",
    text: `SELECT 1 FROM operators WHERE role = 'owner' OR id = $1
      ORDER BY id FOR NO KEY UPDATE`,
    values: [operatorId],
  });
}

/** Locks a token of an operator. */
export async function lockOperatorToken(tx: Transaction, id: string): Promise<void> {
  await tx.query({
    name: "lock_operator_token",
    text: "SELECT 1 FROM operator_tokens WHERE id = $1 FOR NO KEY UPDATE",
    values: [id],
  });
}

/** Locks the tokens of a ledger connection against a refresh. */
export async function lockAuthorisation(tx: Transaction, organisationId: string): Promise<void> {
  await tx.query({
    name: "lock_ledger_authorisation",
    text: "SELECT 1 FROM ledger_authorisations WHERE organisation_id = $1 FOR UPDATE",
    values: [organisationId],
  });
}
