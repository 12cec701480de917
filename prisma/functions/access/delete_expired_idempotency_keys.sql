-- Deletes up to `at_most` keys whose 24 hours are over, and returns how many. Locked rows are left
-- for the next call.
CREATE OR REPLACE FUNCTION delete_expired_idempotency_keys(at_most integer) RETURNS integer
  LANGUAGE plpgsql AS $$
DECLARE
  deleted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  -- Selected once: in a plain subquery the planner may run it again for each row, and the limit
  -- would limit nothing.
  WITH picked AS MATERIALIZED (
    SELECT api_key_id, key FROM idempotency_keys WHERE expires_at <= clock_timestamp()
      ORDER BY expires_at LIMIT at_most FOR UPDATE SKIP LOCKED
  )
  DELETE FROM idempotency_keys i USING picked WHERE i.api_key_id = picked.api_key_id
    AND i.key = picked.key;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END $$;
