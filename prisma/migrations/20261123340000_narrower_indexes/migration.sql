-- A new document writes three index entries fewer. The rules stay, and the previous version writes
-- the same rows.

-- These indexes had an entry for each row, also for rows without the column. Entries of nulls keep
-- no rule. A comparison with the column implies that it is not null.
CREATE UNIQUE INDEX ledger_jobs_one_for_a_customer_narrow ON ledger_jobs (customer_id, kind)
  WHERE state IN ('ready', 'sending', 'uncertain') AND customer_id IS NOT NULL;

DROP INDEX ledger_jobs_one_for_a_customer;

ALTER INDEX ledger_jobs_one_for_a_customer_narrow RENAME TO ledger_jobs_one_for_a_customer;

CREATE UNIQUE INDEX ledger_jobs_one_for_a_credit_note_narrow ON ledger_jobs (credit_note_id, kind)
  WHERE state IN ('ready', 'sending', 'uncertain') AND credit_note_id IS NOT NULL;

DROP INDEX ledger_jobs_one_for_a_credit_note;

ALTER INDEX ledger_jobs_one_for_a_credit_note_narrow RENAME TO ledger_jobs_one_for_a_credit_note;

CREATE UNIQUE INDEX invoices_ledger_invoice_id_narrow ON invoices (organisation_id,
  ledger_invoice_id) WHERE ledger_invoice_id IS NOT NULL;

DROP INDEX invoices_organisation_id_ledger_invoice_id_key;

ALTER INDEX invoices_ledger_invoice_id_narrow
  RENAME TO invoices_organisation_id_ledger_invoice_id_key;
