-- The previous version re-prices lines without their facts, which then explain another amount.
CREATE OR REPLACE FUNCTION drop_stale_facts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.facts := NULL;
  RETURN NEW;
END $$;
