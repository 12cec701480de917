-- Frees the key of a run that failed. If the release is lost, the lease expires.
CREATE OR REPLACE FUNCTION release_idempotent_request(the_api_key uuid, the_key text,
  the_owner uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM idempotency_keys i
  WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.owner = the_owner
    AND i.state = 'running';
END $$;
