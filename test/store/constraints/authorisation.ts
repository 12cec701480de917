/** What the database refuses of connections by consent, their tokens and the consents themselves: each rule, broken. */
import type { Faults } from "./faults.ts";
import { another, change, type SeededRows } from "./rows.ts";

const nobody = "00000000-0000-0000-0000-000000000000";

/** Secrets where they are of no use, and none where they are; tokens, consents and operators of nobody. */
export function authorisationFaults(a: SeededRows): Faults {
  const of = `organisation_id = '${a.organisation}'`;
  const connection = (assignments: string) => change("ledger_connections", of, assignments);
  const consent = (assignments: string) => change("ledger_consents", of, assignments);
  return {
    ledger_connections_grant: [
      connection("grant_kind = 'none', encrypted_secret = NULL, encryption_key_id = NULL"),
    ],
    ledger_connections_disconnected: [connection("disconnected_reason = 'because'")],
    ledger_connections_secret: [
      connection("encrypted_secret = NULL, encryption_key_id = NULL"),
      connection("grant_kind = 'authorisation'"),
      connection("disconnected_at = now(), disconnected_reason = 'because'"),
    ],
    ledger_connections_encrypted: [connection("encryption_key_id = NULL")],
    ledger_authorisations_lease: [change("ledger_authorisations", of, "lease_until = now()")],
    ledger_authorisations_organisation_id_fkey: [
      another("ledger_authorisations", of, { organisation_id: nobody }),
    ],
    ledger_consents_choice: [
      consent("encrypted_verifier = NULL, used_at = now(), encrypted_tokens = '\\x00'"),
    ],
    ledger_consents_state: [consent("used_at = now()"), consent("encrypted_verifier = NULL")],
    ledger_consents_outcome: [
      consent("failure = 'no'"),
      consent("encrypted_verifier = NULL, used_at = now(), failure = 'no', connected_at = now()"),
    ],
    ledger_consents_organisation_id_fkey: [
      another("ledger_consents", of, { organisation_id: nobody, state_hash: "\\x01" }),
    ],
    ledger_consents_operator_id_fkey: [consent(`operator_id = '${nobody}'`)],
    ledger_consents_state_hash_key: [another("ledger_consents", of, { organisation_id: nobody })],
  };
}
