-- What a document is in the ledger otherwise than here: currency, kind of amounts, contact, number,
-- issue date, reference. LEDGER-20.
ALTER TABLE invoices ADD COLUMN ledger_drift JSONB;

ALTER TABLE credit_notes ADD COLUMN ledger_drift JSONB;

-- Operators list the few that drift.
CREATE INDEX invoices_ledger_drift ON invoices (organisation_id, seq)
  WHERE ledger_drift IS NOT NULL;

CREATE INDEX credit_notes_ledger_drift ON credit_notes (organisation_id, seq)
  WHERE ledger_drift IS NOT NULL;

-- How often a document took the next number, because a foreign document has its own. POSTING-9.
ALTER TABLE ledger_jobs ADD COLUMN renumbered INTEGER NOT NULL DEFAULT 0;

-- INV- is Xero's own prefix. Organisations keep theirs.
ALTER TABLE organisations ALTER COLUMN number_prefix SET DEFAULT 'SUB-';
