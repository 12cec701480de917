-- Admits an operator by the SHA-256 of the token. Returns no row for an unknown, revoked or expired
-- token, or if the operator is not active.
CREATE OR REPLACE FUNCTION admit_operator(the_hash bytea)
RETURNS TABLE (token_id uuid, operator_id uuid, operator_name text, operator_role text)
  LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  admitted record;
BEGIN
  SELECT t.id, t.last_used_at, o.id AS owner_id, o.name, o.role INTO admitted
  FROM operator_tokens t JOIN operators o ON o.id = t.operator_id
  WHERE t.token_hash = the_hash AND t.revoked_at IS NULL AND (t.expires_at IS NULL
    OR t.expires_at > clock_timestamp()) AND o.active;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF admitted.last_used_at IS NULL
    OR admitted.last_used_at < clock_timestamp() - interval '1 minute' THEN
    -- People read it only, so it need not wait for the disk.
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE operator_tokens t SET last_used_at = clock_timestamp()
    WHERE t.id = admitted.id AND (t.last_used_at IS NULL
      OR t.last_used_at < clock_timestamp() - interval '1 minute');
  END IF;
  RETURN QUERY SELECT admitted.id, admitted.owner_id, admitted.name, admitted.role;
END $$;
