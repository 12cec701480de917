-- Stores the response of a run that succeeded. Returns NULL, or the response of another run that
-- was first because this run's lease had expired.
CREATE OR REPLACE FUNCTION complete_idempotent_request(
  the_api_key uuid, the_key text, the_owner uuid, the_fingerprint bytea, the_response bytea
) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency_keys i SET state = 'done', response = the_response
  WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.owner = the_owner
    AND i.state = 'running';
  IF FOUND THEN
    RETURN NULL;
  END IF;
  RETURN (
    SELECT i.response FROM idempotency_keys i
    WHERE i.api_key_id = the_api_key AND i.key = the_key AND i.state = 'done'
      AND i.fingerprint = the_fingerprint
  );
END $$;
