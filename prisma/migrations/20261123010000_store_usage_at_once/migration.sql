-- Stores a report of usage by one statement. The previous version uses none of these functions.

-- What usage is evaluated by, as one text: the catalogue's version, and the subscriptions with
-- these ids in this order. No column contains a space, a comma or a semicolon. Null without the
-- organisation. LIMIT keeps each lookup on the primary key.
CREATE FUNCTION usage_facts(the_organisation uuid, ids uuid[]) RETURNS text
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  RETURN (
    SELECT o.catalogue_version || ';' || coalesce((
      SELECT string_agg(s.columns, ',') FROM unnest(ids) AS r(id) CROSS JOIN LATERAL (
        SELECT concat_ws(' ', s.id, s.plan_id, s.status, s.timezone, s.start_date, s.billing_day,
          s.interval_unit, s.interval_count, coalesce(s.end_date::text, ''),
          coalesce((extract(epoch FROM s.ended_at) * 1000000)::bigint::text, ''),
          coalesce((SELECT s.renewal_date FROM ledger_jobs j WHERE j.subscription_id = s.id
            AND j.kind = 'end_subscription'
            AND j.state IN ('ready', 'sending', 'uncertain'))::text, ''),
          s.current_period, s.usage_bill, s.due_at IS NULL) AS columns
        FROM subscriptions s WHERE s.organisation_id = the_organisation AND s.id = r.id LIMIT 1) s
      ), '')
    FROM organisations o WHERE o.id = the_organisation);
END $$;

-- Stores events if the facts that they were evaluated by are still true under the locks. Otherwise
-- stores nothing and returns the facts as they are. `created` are the ids that were free, null if
-- all were. The locks hold until the statement's transaction ends, so no bill closes in between.
-- The order of the ids prevents deadlocks.
CREATE FUNCTION store_usage_events(lock_class int, buckets int[], the_organisation uuid,
  ids uuid[], known text, event_ids text[], subscriptions_of uuid[], meters_of uuid[],
  periods_of int[], bills_of int[], quantities numeric[], instants timestamptz[],
  stored_at timestamptz, OUT facts text, OUT created text[])
LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
