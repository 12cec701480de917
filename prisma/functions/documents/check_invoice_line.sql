-- `require_invoice_subtotal` for the invoices of a changed line.
CREATE OR REPLACE FUNCTION check_invoice_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM require_invoice_subtotal(NEW.invoice_id, TG_NAME); END IF;
  -- A line that moved leaves another invoice behind.
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.invoice_id <> NEW.invoice_id) THEN
    PERFORM require_invoice_subtotal(OLD.invoice_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;
