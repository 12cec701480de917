-- A usage event belongs to a subscription of its organisation, and to a meter of that
-- subscription's plan. It reads each subscription and each plan once, and joins by hashes, so that
-- its plan also suits hundreds of events.
CREATE OR REPLACE FUNCTION hold_usage_events() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = off AS $$
BEGIN
  IF EXISTS (
    WITH found AS MATERIALIZED (
      SELECT s.organisation_id, s.id, s.plan_id FROM subscriptions s
        WHERE s.id = ANY (ARRAY(SELECT subscription_id FROM stored)))
    SELECT e.organisation_id, f.plan_id, e.meter_id FROM stored e
      LEFT JOIN found f ON f.organisation_id = e.organisation_id AND f.id = e.subscription_id
    EXCEPT SELECT p.organisation_id, p.plan_id, p.meter_id FROM plan_meters p
      WHERE p.organisation_id = ANY (ARRAY(SELECT organisation_id FROM found))
        AND p.plan_id = ANY (ARRAY(SELECT plan_id FROM found))
  ) THEN
    RAISE EXCEPTION 'a usage event of no such subscription and meter' USING
      ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
