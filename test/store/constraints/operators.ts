/** Statements that break the constraints of operators, their tokens and the audit log. */
import type { Faults } from "./faults.ts";
import { another, change, type SeededRows } from "./rows.ts";

const nobody = "00000000-0000-0000-0000-000000000000";

/** The constraints of the admin API. */
export function operatorFaults(a: SeededRows): Faults {
  const entry = (columns: object) => another("audit_log", a.auditEntry, { ...columns });
  const token = (assignments: string) => change("operator_tokens", a.token, assignments);
  const session = (assignments: string) => change("console_sessions", a.session, assignments);
  const view = (assignments: string) => change("saved_views", a.view, assignments);
  const code = (assignments: string) =>
    change("console_sign_in_codes", `token_id = '${a.token}'`, assignments);
  return {
    operators_role: [change("operators", a.operator, "role = 'king'")],
    operators_seq_key: [another("operators", a.operator, { seq: "same" })],
    operator_tokens_hash_is_sha256: [token("token_hash = '\\x00'")],
    operator_tokens_operator_id_fkey: [token(`operator_id = '${nobody}'`)],
    operator_tokens_token_hash_key: [another("operator_tokens", a.token)],
    operator_tokens_seq_key: [
      another("operator_tokens", a.token, { seq: "same", token_hash: `\\x${"11".repeat(32)}` }),
    ],
    console_sessions_hash_is_sha256: [session("session_hash = '\\x00'")],
    console_sessions_session_hash_key: [another("console_sessions", a.session)],
    console_sessions_operator_id_fkey: [session(`operator_id = '${nobody}'`)],
    console_sessions_token_id_fkey: [session(`token_id = '${nobody}'`)],
    saved_views_operator_id_organisation_id_page_name_key: [another("saved_views", a.view)],
    saved_views_operator_id_fkey: [view(`operator_id = '${nobody}'`)],
    saved_views_organisation_id_fkey: [view(`organisation_id = '${nobody}'`)],
    console_sign_in_codes_hash_is_sha256: [code("code_hash = '\\x00'")],
    console_sign_in_codes_token_id_fkey: [code(`token_id = '${nobody}'`)],
    audit_log_target_kind: [entry({ target_kind: "weather" })],
    audit_log_has_a_change: [entry({ before: null, after: null })],
    audit_log_operator_has_token: [entry({ token_id: null }), entry({ request_id: null })],
    audit_log_operator_id_fkey: [entry({ operator_id: nobody })],
    audit_log_organisation_id_fkey: [entry({ organisation_id: nobody })],
    audit_log_seq_key: [entry({ seq: "same" })],
    audit_log_only_erases: [
      change("audit_log", a.auditEntry, "operation = 'Other'"),
      change("audit_log", a.auditEntry, `after = '{"name":"Other"}'`),
    ],
    audit_log_only_grows: [
      `DELETE FROM audit_log WHERE id = '${a.auditEntry}'`,
      "TRUNCATE audit_log",
    ],
    organisations_seq_key: [another("organisations", a.organisation, { seq: "same" })],
    api_keys_organisation_id_seq_key: [
      another("api_keys", a.key, { seq: "same", key_hash: `\\x${"22".repeat(32)}` }),
    ],
  };
}
