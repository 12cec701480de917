-- `require_first_period` for a changed start date.
CREATE OR REPLACE FUNCTION check_start_date() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_first_period(NEW.id, TG_NAME);
  RETURN NULL;
END $$;
