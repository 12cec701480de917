-- `require_credit_note_subtotal` for a new or changed note.
CREATE OR REPLACE FUNCTION check_credit_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_note_subtotal(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
