-- Adds stored events to the sums of their bills. Statements take the sums in the order of their
-- key, so that two never deadlock (INVARIANT-5).
CREATE OR REPLACE FUNCTION sum_stored_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_sums AS s (organisation_id, subscription_id, bill, period_index, meter_id,
    events, quantity)
  SELECT organisation_id, subscription_id, bill, period_index, meter_id, count(*), sum(quantity)
  FROM stored WHERE voided_at IS NULL
  GROUP BY organisation_id, subscription_id, bill, period_index, meter_id
  ORDER BY subscription_id, bill, period_index, meter_id
  ON CONFLICT (subscription_id, bill, period_index, meter_id) DO UPDATE SET
    events = s.events + excluded.events, quantity = s.quantity + excluded.quantity;
  RETURN NULL;
END $$;
