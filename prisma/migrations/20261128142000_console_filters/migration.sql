-- Operators find documents and subscriptions by their days, subscriptions by their plan, and
-- customers by the beginning of a name. A document keeps its last attempts. The previous version
-- writes none.

CREATE INDEX invoices_organisation_id_issue_date_idx ON invoices (organisation_id, issue_date);

CREATE INDEX invoices_organisation_id_due_date_idx ON invoices (organisation_id, due_date);

CREATE INDEX credit_notes_organisation_id_credit_note_date_idx ON credit_notes (organisation_id,
  credit_note_date);

CREATE INDEX subscriptions_organisation_id_renewal_date_idx ON subscriptions (organisation_id,
  renewal_date);

CREATE INDEX subscriptions_organisation_id_plan_id_seq_idx ON subscriptions (organisation_id,
  plan_id, seq);

CREATE INDEX customers_name_prefix ON customers (organisation_id, lower(name) text_pattern_ops);

CREATE INDEX customers_company_prefix ON customers (organisation_id,
  lower(company_name) text_pattern_ops);

CREATE TABLE ledger_attempts (
  organisation_id UUID NOT NULL,
  document_id UUID NOT NULL,
  seq BIGSERIAL NOT NULL,
  job_kind TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT,
  message TEXT,
  http_status INTEGER,
  correlation_id TEXT,
  duration_ms INTEGER NOT NULL,
  created_at TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT ledger_attempts_pkey PRIMARY KEY (organisation_id, document_id, seq),
  CONSTRAINT ledger_attempts_outcome
    CHECK (outcome IN ('done', 'refused', 'retried', 'uncertain'))
);

ALTER TABLE ledger_attempts ALTER COLUMN organisation_id SET (n_distinct = 1);

ALTER TABLE ledger_attempts
  ADD CONSTRAINT ledger_attempts_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;
