-- Only processes of the previous version call it.
-- Stores the events of several organisations. Subscriptions and buckets name theirs by its place in
-- `organisations`. `known` are the subscriptions that the events were evaluated by, with their
-- rows' versions and whether an end runs. `absent` are ids that were not the organisation's. Events
-- name their subscription and meter by the places in `known` and `meters`.
--
-- Nothing is stored for an organisation whose facts have changed, or whose locks are taken unless
-- it `waits`: `refused` are their places. A statement for several must not wait, so that none
-- waits for another one's bill. `created` are the ids that were free, each with its place in
-- `created_for`, null if all were. With `all_new` the ids are expected to be free. The locks hold
-- until the statement's transaction ends, so no bill closes in between. The order of the ids
-- prevents deadlocks.
CREATE OR REPLACE FUNCTION store_usage_reports(lock_class int, waits boolean, all_new boolean,
  organisations uuid[], catalogue_versions bigint[], stored_at timestamptz[],
  buckets int[], bucket_places int[],
  known uuid[], known_places int[], versions xid[], ends boolean[],
  absent uuid[], absent_places int[], meters uuid[], event_ids text[], subscriptions_of int[],
  meters_of int[], periods_of int[], bills_of int[], quantities numeric[],
  instants timestamptz[], OUT refused int[], OUT created_for int[], OUT created text[])
LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ends_now uuid[];
  changed int[];
BEGIN
  IF waits THEN
    PERFORM count(pg_advisory_xact_lock_shared(lock_class, b))
      FROM (SELECT unnest(buckets) AS b ORDER BY b OFFSET 0) taken;
  ELSE
    SELECT array_agg(b.place) INTO refused FROM unnest(buckets, bucket_places) AS b(bucket, place)
      WHERE NOT pg_try_advisory_xact_lock_shared(lock_class, b.bucket);
  END IF;
  SELECT coalesce(array_agg(j.subscription_id), '{}') INTO ends_now FROM ledger_jobs j
    WHERE j.subscription_id = ANY (known) AND j.kind = 'end_subscription'
      AND j.state IN ('ready', 'sending', 'uncertain');
  -- Sets without joins: no estimate can turn them into nested loops.
  SELECT array_agg(d.place) INTO changed FROM (
    SELECT k.place, k.id, k.version, k.is_end_running
      FROM unnest(known, known_places, versions, ends) AS k(id, place, version, is_end_running)
    EXCEPT SELECT array_position(organisations, s.organisation_id), s.id, s.xmin,
        s.id = ANY (ends_now)
      FROM subscriptions s WHERE s.id = ANY (known)) AS d;
  refused := refused || changed;
  SELECT array_agg(array_position(organisations, d.id)) INTO changed FROM (
    SELECT v.id, v.version FROM unnest(organisations, catalogue_versions) AS v(id, version)
    EXCEPT SELECT o.id, o.catalogue_version FROM organisations o
      WHERE o.id = ANY (organisations)) AS d;
  refused := refused || changed;
  IF cardinality(absent) > 0 THEN
    SELECT array_agg(a.place) INTO changed FROM unnest(absent, absent_places) AS a(id, place)
      WHERE EXISTS (SELECT FROM subscriptions s WHERE s.organisation_id = organisations[a.place]
        AND s.id = a.id);
    refused := refused || changed;
  END IF;
  IF cardinality(event_ids) = 0 THEN RETURN; END IF;
  IF all_new THEN
    -- Without ON CONFLICT each id is looked up once instead of twice: a fifth of the insert.
    BEGIN
      INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
        bill, quantity, occurred_at, created_at)
      SELECT organisations[known_places[r.subscription]], r.event_id, known[r.subscription],
        meters[r.meter], r.period_index, r.bill, r.quantity, r.occurred_at,
        stored_at[known_places[r.subscription]]
      FROM unnest(event_ids, subscriptions_of, meters_of, periods_of, bills_of, quantities,
          instants)
        AS r(event_id, subscription, meter, period_index, bill, quantity, occurred_at)
      WHERE refused IS NULL OR known_places[r.subscription] <> ALL (refused)
      ORDER BY organisations[known_places[r.subscription]], r.event_id COLLATE "C";
      RETURN;
    EXCEPTION WHEN unique_violation THEN
      -- An id is stored. Nothing of the insert is kept.
    END;
  END IF;
  WITH inserted AS (
    INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
      bill, quantity, occurred_at, created_at)
    SELECT organisations[known_places[r.subscription]], r.event_id, known[r.subscription],
      meters[r.meter], r.period_index, r.bill, r.quantity, r.occurred_at,
      stored_at[known_places[r.subscription]]
    FROM unnest(event_ids, subscriptions_of, meters_of, periods_of, bills_of, quantities, instants)
      AS r(event_id, subscription, meter, period_index, bill, quantity, occurred_at)
    WHERE refused IS NULL OR known_places[r.subscription] <> ALL (refused)
    ORDER BY organisations[known_places[r.subscription]], r.event_id COLLATE "C"
    ON CONFLICT (organisation_id, event_id) DO NOTHING RETURNING organisation_id, event_id
  )
  SELECT array_agg(array_position(organisations, i.organisation_id)), array_agg(i.event_id)
    INTO created_for, created FROM inserted i;
  IF cardinality(created) = cardinality(event_ids) THEN
    created_for := NULL;
    created := NULL;
  ELSE
    created_for := coalesce(created_for, '{}');
    created := coalesce(created, '{}');
  END IF;
END $$;
