-- A plan for any values expects an organisation of average size. Next to thousands of small ones
-- that is a few rows, and PostgreSQL then reads all rows of the organisation instead of a few by
-- index, also those of an organisation with millions. With one distinct value it expects the size
-- of the largest organisation, for which the plan must be right. It is right for smaller ones too:
-- they have fewer rows. ANALYZE applies it. Autovacuum might analyse a large table only after days,
-- so tables with rows are analysed here. Empty ones are not: one that was analysed empty would be
-- planned as such.
DO $$
DECLARE
  the_table regclass;
  has_rows boolean;
BEGIN
  FOR the_table IN
    SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
      AND a.attname = 'organisation_id' AND NOT a.attisdropped
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN organisation_id SET (n_distinct = 1)', the_table);
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', the_table) INTO has_rows;
    IF has_rows THEN
      EXECUTE format('ANALYZE %s', the_table);
    END IF;
  END LOOP;
END $$;

ALTER TABLE usage_events ALTER COLUMN organisation_id SET (n_distinct_inherited = 1);
DO $$ BEGIN
  IF EXISTS (SELECT FROM usage_events) THEN
    ANALYZE usage_events;
  END IF;
END $$;
