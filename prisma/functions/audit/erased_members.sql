-- An object's JSON with its personal data replaced as an erasure replaces it: the values are those
-- of src/store/admin/erase-customer.ts. A ledger's message may name its contact. Arrays stay, so
-- that the names of a document's lines do.
CREATE OR REPLACE FUNCTION erased_members(entry jsonb)
  RETURNS jsonb IMMUTABLE STRICT LANGUAGE sql AS $$
  SELECT coalesce(jsonb_object_agg(m.key, CASE
      WHEN jsonb_typeof(m.value) = 'null' THEN m.value
      WHEN m.key IN ('name', 'company_name', 'first_name', 'last_name', 'sync_error')
        THEN '"erased"'::jsonb
      WHEN m.key = 'email' THEN '"erased@erased.invalid"'::jsonb
      WHEN jsonb_typeof(m.value) = 'object' THEN erased_members(m.value)
      ELSE m.value END), '{}')
  FROM jsonb_each(entry) AS m(key, value)
$$;
