-- Only processes of the previous version call it.
-- Stores events if the facts that they were evaluated by are still true under the locks. Otherwise
-- stores nothing and returns the facts as they are. `created` are the ids that were free, null if
-- all were. The locks hold until the statement's transaction ends, so no bill closes in between.
-- The order of the ids prevents deadlocks.
CREATE OR REPLACE FUNCTION store_usage_events(lock_class int, buckets int[], the_organisation uuid,
  ids uuid[], known text, event_ids text[], subscriptions_of uuid[], meters_of uuid[],
  periods_of int[], bills_of int[], quantities numeric[], instants timestamptz[],
  stored_at timestamptz, OUT facts text, OUT created text[])
LANGUAGE plpgsql SET enable_seqscan = off
  SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM count(pg_advisory_xact_lock_shared(lock_class, b))
    FROM (SELECT unnest(buckets) AS b ORDER BY b OFFSET 0) taken;
  facts := usage_facts(the_organisation, ids);
  IF facts IS DISTINCT FROM known THEN RETURN; END IF;
  facts := NULL;
  IF cardinality(event_ids) = 0 THEN RETURN; END IF;
  WITH inserted AS (
    INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
      bill, quantity, occurred_at, created_at)
    SELECT the_organisation, r.event_id, r.subscription_id, r.meter_id, r.period_index, r.bill,
      r.quantity, r.occurred_at, stored_at
    FROM unnest(event_ids, subscriptions_of, meters_of, periods_of, bills_of, quantities, instants)
      AS r(event_id, subscription_id, meter_id, period_index, bill, quantity, occurred_at)
    ORDER BY r.event_id COLLATE "C"
    ON CONFLICT (organisation_id, event_id) DO NOTHING RETURNING event_id
  )
  SELECT coalesce(array_agg(event_id), '{}') INTO created FROM inserted;
  IF cardinality(created) = cardinality(event_ids) THEN created := NULL; END IF;
END $$;
