-- Renews the leases of one process's runs.
CREATE OR REPLACE FUNCTION renew_idempotent_requests(the_api_keys uuid[], the_keys text[],
  the_owners uuid[], lease interval)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE idempotency_keys i SET lease_until = clock_timestamp() + lease
  FROM unnest(the_api_keys, the_keys, the_owners) AS run (api_key_id, key, owner)
  WHERE i.api_key_id = run.api_key_id AND i.key = run.key AND i.owner = run.owner
    AND i.state = 'running';
END $$;
