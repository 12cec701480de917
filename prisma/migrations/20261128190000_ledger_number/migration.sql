-- A ledger that numbers documents itself has its own number of each. LEDGER-24. The previous
-- version writes none: the sync does when the document changes in the ledger.
ALTER TABLE invoices ADD COLUMN ledger_number TEXT;

ALTER TABLE credit_notes ADD COLUMN ledger_number TEXT;

-- A person searches by the beginning of it. Where numbers are ours there is no entry.
CREATE INDEX invoices_search_ledger_number ON invoices (organisation_id,
  lower(ledger_number) text_pattern_ops)
  WHERE ledger_number <> '';

CREATE INDEX credit_notes_search_ledger_number ON credit_notes (organisation_id,
  lower(ledger_number) text_pattern_ops)
  WHERE ledger_number <> '';

-- Up to which invoice drafts were looked up. LEDGER-25.
ALTER TABLE ledger_sync_cursors ADD COLUMN drafts_checked_to BIGINT NOT NULL DEFAULT 0;
