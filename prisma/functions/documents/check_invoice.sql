-- `require_invoice_subtotal` for a changed invoice.
CREATE OR REPLACE FUNCTION check_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_invoice_subtotal(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
