-- Lines keep what their amounts were reckoned from. The previous version writes lines without it.

ALTER TABLE invoice_lines ADD COLUMN facts TEXT;
ALTER TABLE credit_note_lines ADD COLUMN facts TEXT;
ALTER TABLE deferred_lines ADD COLUMN facts TEXT;

CREATE TABLE price_sheets (
  organisation_id UUID NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  CONSTRAINT price_sheets_pkey PRIMARY KEY (organisation_id, name),
  CONSTRAINT price_sheets_name CHECK (name
    = left(encode(sha256(convert_to(content, 'UTF8')), 'hex'), 32))
);

ALTER TABLE price_sheets ALTER COLUMN organisation_id SET (n_distinct = 1);

ALTER TABLE price_sheets
  ADD CONSTRAINT price_sheets_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

-- The previous version re-prices lines without their facts, which then explain another amount.
CREATE OR REPLACE FUNCTION drop_stale_facts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.facts := NULL;
  RETURN NEW;
END $$;

CREATE TRIGGER invoice_lines_stale_facts BEFORE UPDATE OF units, amount ON invoice_lines
  FOR EACH ROW WHEN (OLD.facts = NEW.facts
    AND (OLD.units, OLD.amount) IS DISTINCT FROM (NEW.units, NEW.amount))
  EXECUTE FUNCTION drop_stale_facts();
