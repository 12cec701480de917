-- Admits a request for each hash, in the given order, in one round trip and by the database's
-- clock. Returns a row for each valid key. An unknown, revoked or expired key has no row. A key's
-- window holds the times of its counted requests of the last 60 seconds, at most `allowed` of them.
-- Its row lock makes the count exact over all processes. Keys are locked in the order of their ids,
-- so that two batches never deadlock. OFFSET keeps the lookup of each key on the index, however
-- many hashes PostgreSQL expects: a hash join would read all keys of the service.
CREATE OR REPLACE FUNCTION admit_api_keys(hashes bytea[], allowed integer)
RETURNS TABLE (
  ordinal integer, api_key_id uuid, organisation_id uuid, scopes text[], livemode boolean,
    can_create_ledger_contacts boolean,
  usage_allowed boolean, organisation_now timestamptz, counted boolean, remaining integer,
    reset_seconds integer
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  requested record;
  window_hits timestamptz[];
  instant timestamptz;
  free integer;
  granted integer;
  place integer;
BEGIN
  FOR requested IN
    SELECT k.*, h.places
    FROM (
      SELECT r.hash, array_agg(r.place::integer ORDER BY r.place) AS places
      FROM unnest(hashes) WITH ORDINALITY AS r (hash, place) GROUP BY r.hash
    ) h CROSS JOIN LATERAL (
      SELECT k.id, k.organisation_id AS owner_id, k.scopes AS owned_scopes, k.last_used_at,
        o.livemode AS is_live, o.can_create_ledger_contacts AS may_create,
        o.usage_allowed AS may_use, o.test_clock
      FROM api_keys k JOIN organisations o ON o.id = k.organisation_id
      WHERE k.key_hash = h.hash AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
      OFFSET 0
    ) k
    ORDER BY k.id
  LOOP
    SELECT w.hits INTO window_hits FROM rate_windows w WHERE w.api_key_id = requested.id FOR UPDATE;
    IF NOT FOUND THEN
      INSERT INTO rate_windows (api_key_id, hits) VALUES (requested.id, '{}')
        ON CONFLICT DO NOTHING;
      SELECT w.hits INTO window_hits FROM rate_windows w
        WHERE w.api_key_id = requested.id FOR UPDATE;
    END IF;
    -- Read after the lock, so that the times of a window only rise.
    instant := clock_timestamp();
    -- If the clock was set back by more than a window, its keys would be locked out until the clock
    -- has caught up.
    IF window_hits[cardinality(window_hits)] > instant + interval '60 seconds' THEN
      window_hits := '{}';
    END IF;
    instant := greatest(instant, window_hits[cardinality(window_hits)]);
    IF window_hits[1] <= instant - interval '60 seconds' THEN
      window_hits := window_hits[width_bucket(instant - interval '60 seconds', window_hits) + 1 :];
    END IF;
    free := greatest(allowed - cardinality(window_hits), 0);
    granted := least(free, cardinality(requested.places));
    IF granted > 0 THEN
      window_hits := window_hits || array_fill(instant, ARRAY[granted]);
      UPDATE rate_windows w SET hits = window_hits WHERE w.api_key_id = requested.id;
      IF requested.last_used_at IS NULL
        OR requested.last_used_at < instant - interval '1 minute' THEN
        -- People read it only, so it need not wait for the disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE api_keys k SET last_used_at = instant
        WHERE k.id = requested.id AND (k.last_used_at IS NULL
          OR k.last_used_at < instant - interval '1 minute');
      END IF;
    END IF;
    FOR place IN 1 .. cardinality(requested.places) LOOP
      ordinal := requested.places[place];
      api_key_id := requested.id;
      organisation_id := requested.owner_id;
      scopes := requested.owned_scopes;
      livemode := requested.is_live;
      can_create_ledger_contacts := requested.may_create;
      usage_allowed := requested.may_use;
      organisation_now := coalesce(requested.test_clock, instant);
      counted := place <= granted;
      remaining := greatest(free - place, 0);
      reset_seconds := greatest(ceil(extract(epoch
        FROM window_hits[1] + interval '60 seconds' - instant)), 1);
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;
