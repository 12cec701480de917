-- A subscription's first period starts on its start date.
CREATE OR REPLACE FUNCTION require_first_period(wanted uuid, rule text)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM periods p JOIN subscriptions s ON s.organisation_id = p.organisation_id
      AND s.id = p.subscription_id
    WHERE p.subscription_id = wanted AND p.index = 0 AND p.start_date <> s.start_date
  ) THEN
    PERFORM refuse(rule,
      format('the first period of subscription %s does not start on its start date', wanted));
  END IF;
END $$;
