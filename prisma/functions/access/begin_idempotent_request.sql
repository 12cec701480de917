-- Claims an idempotency key for one run of a request, or says why not: `replay` (with the stored
-- response), `conflict` (another request holds the key), `running`. A key is free if its 24 hours
-- are over or its run's lease has expired, because that process is gone. The commit need not wait
-- for the disk: the run's own durable commit carries this row with it.
CREATE OR REPLACE FUNCTION begin_idempotent_request(
  the_api_key uuid, the_key text, the_organisation uuid, the_operation text, the_path text,
    the_fingerprint bytea, the_owner uuid,
  lease interval, lifetime interval
) RETURNS TABLE (outcome text, response bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  held idempotency_keys%ROWTYPE;
  instant timestamptz := clock_timestamp();
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO idempotency_keys AS i
    (api_key_id, key, organisation_id, operation, path, fingerprint, state, owner, lease_until,
      response, created_at, expires_at)
  VALUES (the_api_key, the_key, the_organisation, the_operation, the_path, the_fingerprint,
    'running', the_owner,
    instant + lease, NULL, instant, instant + lifetime)
  ON CONFLICT (api_key_id, key) DO UPDATE SET
    organisation_id = excluded.organisation_id, operation = excluded.operation,
      path = excluded.path, fingerprint = excluded.fingerprint,
    state = 'running', owner = excluded.owner, lease_until = clock_timestamp() + lease,
      response = NULL, created_at = clock_timestamp(),
    expires_at = clock_timestamp() + lifetime
  WHERE i.expires_at <= clock_timestamp() OR (i.state = 'running'
    AND i.lease_until <= clock_timestamp());
  IF FOUND THEN
    RETURN QUERY SELECT 'begun', NULL::bytea;
    RETURN;
  END IF;
  -- The conflict has locked the row, so it exists and stays unchanged.
  SELECT * INTO STRICT held FROM idempotency_keys i WHERE i.api_key_id = the_api_key
    AND i.key = the_key;
  IF held.fingerprint <> the_fingerprint THEN
    RETURN QUERY SELECT 'conflict', NULL::bytea;
  ELSIF held.state = 'done' THEN
    RETURN QUERY SELECT 'replay', held.response;
  ELSE
    RETURN QUERY SELECT 'running', NULL::bytea;
  END IF;
END $$;
