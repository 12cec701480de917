-- A plan for any values expects an organisation of average size. Next to thousands of small ones
-- that is a few rows, and PostgreSQL then reads all rows of the organisation instead of a few by
-- index, also those of an organisation with millions. With one distinct value it expects the size
-- of the largest organisation, for which the plan must be right. It is right for smaller ones too:
-- they have fewer rows. The next ANALYZE applies it.
DO $$
DECLARE
  the_table regclass;
BEGIN
  FOR the_table IN
    SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
      AND a.attname = 'organisation_id' AND NOT a.attisdropped
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN organisation_id SET (n_distinct = 1)', the_table);
  END LOOP;
END $$;

ALTER TABLE usage_events ALTER COLUMN organisation_id SET (n_distinct_inherited = 1);
