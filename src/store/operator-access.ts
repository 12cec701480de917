/**
 * Whether an operator may come in: its token looked up, in one round trip. Nothing is cached, so that a revocation, and an
 * operator's being made inactive, hold from their commit on. decisions §8.
 */
import type pg from "pg";

/** An operator whose token is valid now. `role` is `read-only`, `admin` or `owner`. */
export interface AdmittedOperator {
  readonly operatorId: string;
  readonly tokenId: string;
  readonly name: string;
  readonly role: "read-only" | "admin" | "owner";
}

/** Admits operators by the SHA-256 of their token; null for an unknown, revoked or expired one. Rejects without a database. */
export interface OperatorAccess {
  readonly admit: (tokenHash: Uint8Array) => Promise<AdmittedOperator | null>;
}

/** Admissions over a pool. */
export function createOperatorAccess(pool: Pick<pg.Pool, "query">): OperatorAccess {
  return {
    admit: async (tokenHash) => {
      const { rows } = await pool.query<{
        token_id: string;
        operator_id: string;
        operator_name: string;
        operator_role: AdmittedOperator["role"];
      }>({
        name: "admit_operator",
        text: "SELECT * FROM admit_operator($1)",
        values: [Buffer.from(tokenHash)],
      });
      const row = rows[0];
      if (row === undefined) return null;
      const { token_id: tokenId, operator_id: operatorId, operator_name: name, operator_role: role } = row;
      return { tokenId, operatorId, name, role };
    },
  };
}
