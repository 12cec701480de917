-- `require_credit_held` for the notes of a changed allocation.
CREATE OR REPLACE FUNCTION check_credit_of_allocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN PERFORM require_credit_held(NEW.credit_note_id, TG_NAME); END IF;
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.credit_note_id <> NEW.credit_note_id) THEN
    PERFORM require_credit_held(OLD.credit_note_id, TG_NAME);
  END IF;
  RETURN NULL;
END $$;
