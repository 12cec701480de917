-- The functions that admit requests and keep idempotency keys: each is one round trip, and its time is the database's.

-- Judges one request for each hash, in the order given, and answers a row for each that belongs to a valid key; an unknown, revoked or
-- expired one has no row. The window of a key holds the times of its counted requests of the last 60 seconds, at most `allowed` of them;
-- its row lock makes the count exact over all processes. Keys are locked in the order of their ids, so two batches never deadlock.
CREATE FUNCTION admit_api_keys(hashes bytea[], allowed integer)
RETURNS TABLE (
  ordinal integer, api_key_id uuid, organisation_id uuid, scopes text[], livemode boolean, can_create_ledger_contacts boolean,
  usage_allowed boolean, organisation_now timestamptz, counted boolean, remaining integer, reset_seconds integer
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  asked record;
  window_hits timestamptz[];
  instant timestamptz;
  room integer;
  granted integer;
  turn integer;
BEGIN
  FOR asked IN
    SELECT k.id, k.organisation_id AS owner_id, k.scopes AS owned_scopes, k.last_used_at, o.livemode AS is_live,
      o.can_create_ledger_contacts AS may_create, o.usage_allowed AS may_use, o.test_clock,
      array_agg(h.place::integer ORDER BY h.place) AS places
    FROM unnest(hashes) WITH ORDINALITY AS h (hash, place)
    JOIN api_keys k ON k.key_hash = h.hash
    JOIN organisations o ON o.id = k.organisation_id
    WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
    GROUP BY k.id, o.id
    ORDER BY k.id
  LOOP
    SELECT w.hits INTO window_hits FROM rate_windows w WHERE w.api_key_id = asked.id FOR UPDATE;
    IF NOT FOUND THEN
      INSERT INTO rate_windows (api_key_id, hits) VALUES (asked.id, '{}') ON CONFLICT DO NOTHING;
      SELECT w.hits INTO window_hits FROM rate_windows w WHERE w.api_key_id = asked.id FOR UPDATE;
    END IF;
    -- After the lock, so that the times of a window only rise.
    instant := clock_timestamp();
    -- A clock that was set back by more than a window would otherwise lock its keys out until it has caught up.
    IF window_hits[cardinality(window_hits)] > instant + interval '60 seconds' THEN
      window_hits := '{}';
    END IF;
    instant := greatest(instant, window_hits[cardinality(window_hits)]);
    IF window_hits[1] <= instant - interval '60 seconds' THEN
      window_hits := window_hits[width_bucket(instant - interval '60 seconds', window_hits) + 1 :];
    END IF;
    room := greatest(allowed - cardinality(window_hits), 0);
    granted := least(room, cardinality(asked.places));
    IF granted > 0 THEN
      window_hits := window_hits || array_fill(instant, ARRAY[granted]);
      UPDATE rate_windows w SET hits = window_hits WHERE w.api_key_id = asked.id;
      IF asked.last_used_at IS NULL OR asked.last_used_at < instant - interval '1 minute' THEN
        -- Only for people to look at: not worth a wait for the disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE api_keys k SET last_used_at = instant
        WHERE k.id = asked.id AND (k.last_used_at IS NULL OR k.last_used_at < instant - interval '1 minute');
      END IF;
    END IF;
    FOR turn IN 1 .. cardinality(asked.places) LOOP
      ordinal := asked.places[turn];
      api_key_id := asked.id;
      organisation_id := asked.owner_id;
      scopes := asked.owned_scopes;
      livemode := asked.is_live;
      can_create_ledger_contacts := asked.may_create;
      usage_allowed := asked.may_use;
      organisation_now := coalesce(asked.test_clock, instant);
      counted := turn <= granted;
      remaining := greatest(room - turn, 0);
      reset_seconds := greatest(ceil(extract(epoch FROM window_hits[1] + interval '60 seconds' - instant)), 1);
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;

-- Claims an idempotency key for one run of a request, or says why not: `replay` (with the stored response), `conflict` (another request
-- holds the key), `running`. A key is free where its 24 hours are over, and where its run has let the lease go by: that process is gone.
-- The commit need not wait for the disk: whatever the run commits durably carries this row with it.
CREATE FUNCTION begin_idempotent_request(
  the_api_key uuid, the_key text, the_organisation uuid, the_operation text, the_path text, the_fingerprint bytea, the_owner uuid,
  lease interval, lifetime interval
) RETURNS TABLE (outcome text, response bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  held idempotency_keys%ROWTYPE;
  instant timestamptz := clock_timestamp();
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO idempotency_keys AS i
    (api_key_id, key, organisation_id, operation, path, fingerprint, state, owner, lease_until, response, created_at, expires_at)
  VALUES (the_api_key, the_key, the_organisation, the_operation, the_path, the_fingerprint, 'running', the_owner,
    instant + lease, NULL, instant, instant + lifetime)
  ON CONFLICT (api_key_id, key) DO UPDATE SET
    organisation_id = excluded.organisation_id, operation = excluded.operation, path = excluded.path, fingerprint = excluded.fingerprint,
    state = 'running', owner = excluded.owner, lease_until = clock_timestamp() + lease, response = NULL, created_at = clock_timestamp(),
    expires_at = clock_timestamp() + lifetime
  WHERE i.expires_at <= clock_timestamp() OR (i.state = 'running' AND i.lease_until <= clock_timestamp());
  IF FOUND THEN
    RETURN QUERY SELECT 'begun', NULL::bytea;
    RETURN;
  END IF;
  -- The conflict has locked the row, so it is there and stays as it is.
  SELECT * INTO STRICT held FROM idempotency_keys i WHERE i.api_key_id = the_api_key AND i.key = the_key;
  IF held.fingerprint <> the_fingerprint THEN
    RETURN QUERY SELECT 'conflict', NULL::bytea;
  ELSIF held.state = 'done' THEN
    RETURN QUERY SELECT 'replay', held.response;
  ELSE
    RETURN QUERY SELECT 'running', NULL::bytea;
  END IF;
END $$;

-- Stores the response of a run that succeeded. Answers NULL, or the response that another run of the same request has stored: where the
-- lease had gone by, and that run was first.
CREATE FUNCTION complete_idempotent_request(
  the_api_key uuid, the_key text, the_owner uuid, the_fingerprint bytea, the_response bytea
) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency_keys i SET state = 'done', response = the_response
  WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.owner = the_owner AND i.state = 'running';
  IF FOUND THEN
    RETURN NULL;
  END IF;
  RETURN (
    SELECT i.response FROM idempotency_keys i
    WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.state = 'done' AND i.fingerprint = the_fingerprint
  );
END $$;

-- Frees the key of a run that failed. A release that is lost is made up for by the lease.
CREATE FUNCTION release_idempotent_request(the_api_key uuid, the_key text, the_owner uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM idempotency_keys i
  WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.owner = the_owner AND i.state = 'running';
END $$;

-- Renews the leases of one process's runs.
CREATE FUNCTION renew_idempotent_requests(the_api_keys uuid[], the_keys text[], the_owners uuid[], lease interval)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE idempotency_keys i SET lease_until = clock_timestamp() + lease
  FROM unnest(the_api_keys, the_keys, the_owners) AS run (api_key_id, key, owner)
  WHERE i.api_key_id = run.api_key_id AND i.key = run.key AND i.owner = run.owner AND i.state = 'running';
END $$;

-- Deletes up to `at_most` keys whose 24 hours are over; answers how many. Rows that someone works on are left for the next time.
CREATE FUNCTION delete_expired_idempotency_keys(at_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  deleted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  -- Picked once: as a plain subquery, the planner may run it anew for each row, and the limit then limits nothing.
  WITH picked AS MATERIALIZED (
    SELECT api_key_id, key FROM idempotency_keys WHERE expires_at <= clock_timestamp() ORDER BY expires_at LIMIT at_most FOR UPDATE SKIP LOCKED
  )
  DELETE FROM idempotency_keys i USING picked WHERE i.api_key_id = picked.api_key_id AND i.key = picked.key;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END $$;
