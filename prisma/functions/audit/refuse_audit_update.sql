-- An erasure is the only change of an entry: it replaces personal data.
CREATE OR REPLACE FUNCTION refuse_audit_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.target_kind NOT IN ('customer', 'document')
    OR (to_jsonb(NEW) - 'before' - 'after') IS DISTINCT FROM (to_jsonb(OLD) - 'before' - 'after')
    OR NEW.before IS DISTINCT FROM erased_members(OLD.before)
    OR NEW.after IS DISTINCT FROM erased_members(OLD.after)
  THEN
    RAISE EXCEPTION 'the audit log is only ever added to' USING ERRCODE = 'check_violation',
      CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
