-- `require_credit_within_invoice` for the invoice of an allocation.
CREATE OR REPLACE FUNCTION check_invoice_of_allocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_within_invoice(NEW.invoice_id, TG_NAME);
  RETURN NULL;
END $$;
