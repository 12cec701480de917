/**
 * Deletes the tokens of consents for which no tenant was chosen in time. Unused secrets are not
 * kept. SQL, because consents are claimed by the database's clock, and one whose tenant is chosen
 * at this moment is skipped.
 */
import { sql } from "../database/sql/sql.ts";
import { type Command, command } from "../database/sql/statement.ts";

/**
 * Deletes expired tokens over all organisations, at most `atMost`, and returns how many. Several
 * processes may run it at once.
 */
export const deleteExpiredConsents: Command<[atMost: number]> = command({
  name: "delete_expired_consents",
  text: sql`
    UPDATE ledger_consents
    SET
      failure = 'No tenant was chosen in time.',
      encrypted_tokens = NULL,
      tenants = NULL
    WHERE
      organisation_id IN (
        SELECT organisation_id
        FROM ledger_consents
        WHERE tenants IS NOT NULL AND expires_at <= now()
        LIMIT $1
        FOR UPDATE SKIP LOCKED
      )
  `,
});
