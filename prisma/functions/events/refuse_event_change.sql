-- An event never changes, because receivers were sent it. Only the personal data of a customer can
-- be erased from it.
CREATE OR REPLACE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.object_kind NOT IN ('customer', 'invoice', 'credit_note')
    OR (to_jsonb(NEW) - 'body') IS DISTINCT FROM (to_jsonb(OLD) - 'body')
    OR NEW.body::jsonb IS DISTINCT FROM erased_members(OLD.body::jsonb)
  THEN
    RAISE EXCEPTION 'an event never changes' USING ERRCODE = 'check_violation',
      CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
