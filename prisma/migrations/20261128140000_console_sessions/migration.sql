-- Operators sign in to the console: a session for each browser, and codes of the server's machine.

CREATE TABLE console_sessions (
  id UUID NOT NULL,
  operator_id UUID NOT NULL,
  token_id UUID NOT NULL,
  session_hash BYTEA NOT NULL,
  user_agent TEXT NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  last_used_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT console_sessions_pkey PRIMARY KEY (id),
  CONSTRAINT console_sessions_hash_is_sha256 CHECK (octet_length(session_hash) = 32)
);

CREATE UNIQUE INDEX console_sessions_session_hash_key ON console_sessions (session_hash);

CREATE INDEX console_sessions_operator_id_idx ON console_sessions (operator_id);

ALTER TABLE console_sessions
  ADD CONSTRAINT console_sessions_operator_id_fkey FOREIGN KEY (operator_id)
    REFERENCES operators(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  ADD CONSTRAINT console_sessions_token_id_fkey FOREIGN KEY (token_id)
    REFERENCES operator_tokens(id) ON UPDATE CASCADE ON DELETE RESTRICT;

CREATE TABLE console_sign_in_codes (
  code_hash BYTEA NOT NULL,
  token_id UUID NOT NULL,
  expires_at TIMESTAMPTZ(6) NOT NULL,
  CONSTRAINT console_sign_in_codes_pkey PRIMARY KEY (code_hash),
  CONSTRAINT console_sign_in_codes_hash_is_sha256 CHECK (octet_length(code_hash) = 32)
);

ALTER TABLE console_sign_in_codes
  ADD CONSTRAINT console_sign_in_codes_token_id_fkey FOREIGN KEY (token_id)
    REFERENCES operator_tokens(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE ledger_consents ADD COLUMN console_origin TEXT;

ALTER TABLE audit_log DROP CONSTRAINT audit_log_target_kind;
ALTER TABLE audit_log ADD CONSTRAINT audit_log_target_kind CHECK (target_kind IN ('organisation',
  'ledger_connection', 'account_mapping', 'api_key', 'plan', 'charge', 'meter', 'customer',
  'subscription', 'document', 'operator', 'operator_token', 'console_session', 'usage_event',
  'webhook_endpoint', 'webhook_delivery')) NOT VALID;
ALTER TABLE audit_log VALIDATE CONSTRAINT audit_log_target_kind;
