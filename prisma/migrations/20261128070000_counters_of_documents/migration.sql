-- Invoices and credit notes are numbered. No version has counted anything else.
ALTER TABLE document_counters DROP CONSTRAINT document_counters_kind;

ALTER TABLE document_counters ADD CONSTRAINT document_counters_kind
  CHECK (kind IN ('invoice', 'credit_note')) NOT VALID;

ALTER TABLE document_counters VALIDATE CONSTRAINT document_counters_kind;
