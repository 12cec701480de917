-- Credit is applied to an invoice of the same customer and currency.
CREATE OR REPLACE FUNCTION check_allocation_party() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM allocations a
      JOIN credit_notes n ON n.organisation_id = a.organisation_id AND n.id = a.credit_note_id
      JOIN invoices i ON i.organisation_id = a.organisation_id AND i.id = a.invoice_id
    WHERE CASE TG_TABLE_NAME WHEN 'allocations' THEN a.id WHEN 'invoices' THEN a.invoice_id
      ELSE a.credit_note_id END = NEW.id
      AND (n.customer_id, n.currency) <> (i.customer_id, i.currency)
  ) THEN
    PERFORM refuse(TG_NAME, format('credit of another customer or currency is applied: %s %s',
      TG_TABLE_NAME, NEW.id));
  END IF;
  RETURN NULL;
END $$;
