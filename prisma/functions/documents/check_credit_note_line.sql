-- `require_credit_note_subtotal` for the notes of a changed line.
CREATE OR REPLACE FUNCTION check_credit_note_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM require_credit_note_subtotal(NEW.credit_note_id,
    TG_NAME); END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.credit_note_id <> NEW.credit_note_id) THEN
    PERFORM require_credit_note_subtotal(OLD.credit_note_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;
