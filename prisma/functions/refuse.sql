-- Refuses a row by a rule that spans several rows. These are checked at the end of the
-- transaction, when all rows are written. A refusal carries the name of its trigger as that of a
-- constraint.
CREATE OR REPLACE FUNCTION refuse(rule text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', message USING ERRCODE = 'check_violation', CONSTRAINT = rule;
END $$;
