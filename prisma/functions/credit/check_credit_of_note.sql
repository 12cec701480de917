-- `require_credit_held` for a new or changed note.
CREATE OR REPLACE FUNCTION check_credit_of_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_credit_held(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
