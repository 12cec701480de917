-- Subtracts voided events from the sums of their bills. An event changes in no other way. The lock
-- of its subscription's usage is held exclusively, so no other statement writes these sums. A
-- subscription whose earlier usage is not summed yet is left out: it is summed as a whole.
CREATE OR REPLACE FUNCTION sum_voided_usage() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE usage_sums s SET events = s.events - v.events, quantity = s.quantity - v.quantity
  FROM (SELECT subscription_id, bill, period_index, meter_id, count(*) AS events,
      sum(quantity) AS quantity
    FROM changed WHERE voided_at IS NOT NULL
    GROUP BY subscription_id, bill, period_index, meter_id) v
  WHERE (s.subscription_id, s.bill, s.period_index, s.meter_id)
    = (v.subscription_id, v.bill, v.period_index, v.meter_id)
    AND NOT EXISTS (SELECT FROM unsummed_usage u WHERE u.subscription_id = s.subscription_id);
  RETURN NULL;
END $$;
