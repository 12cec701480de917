-- `require_credit_within_invoice` for a changed invoice.
CREATE OR REPLACE FUNCTION check_credit_of_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_within_invoice(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
