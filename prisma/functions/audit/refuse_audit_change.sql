-- Nothing updates or deletes an entry of the audit log, whichever role asks. Only an owner of the
-- schema can remove this rule.
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is only ever added to' USING ERRCODE = 'check_violation',
    CONSTRAINT = TG_NAME;
END $$;
