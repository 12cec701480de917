-- Counts dropped events in the sums of their bills, which stay as they are. Nothing else writes the
-- sums of a bill that exists.
CREATE OR REPLACE FUNCTION sum_dropped_usage() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE usage_sums s SET dropped_events = s.dropped_events + v.events,
    dropped_quantity = s.dropped_quantity + v.quantity
  FROM (SELECT subscription_id, bill, period_index, meter_id, count(*) AS events,
      sum(quantity) AS quantity
    FROM dropped WHERE voided_at IS NULL
    GROUP BY subscription_id, bill, period_index, meter_id) v
  WHERE (s.subscription_id, s.bill, s.period_index, s.meter_id)
    = (v.subscription_id, v.bill, v.period_index, v.meter_id);
  RETURN NULL;
END $$;
