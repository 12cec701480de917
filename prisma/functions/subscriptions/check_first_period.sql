-- `require_first_period` for a new or changed first period.
CREATE OR REPLACE FUNCTION check_first_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_first_period(NEW.subscription_id, TG_NAME);
  RETURN NULL;
END $$;
