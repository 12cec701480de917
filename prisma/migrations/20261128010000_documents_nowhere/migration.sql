-- A credit note that the ledger refused and never had is deleted here when an end takes all its
-- lines off it, as an invoice that was never sent already is (END-7). No row breaks the wider rule.
ALTER TABLE credit_notes DROP CONSTRAINT credit_notes_synced;

ALTER TABLE credit_notes ADD CONSTRAINT credit_notes_synced CHECK (
  status IN ('scheduled', 'not_in_external', 'deleted') OR ledger_credit_note_id IS NOT NULL)
  NOT VALID;

ALTER TABLE credit_notes VALIDATE CONSTRAINT credit_notes_synced;
