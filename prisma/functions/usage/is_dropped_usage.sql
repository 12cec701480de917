-- Whether an event with this id was exported and dropped. Its id stays taken. Blocks of ids do not
-- overlap, so the last one that begins at or before the id is the only one that can have it.
CREATE OR REPLACE FUNCTION is_dropped_usage(the_organisation uuid, the_id text) RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN coalesce((SELECT the_id = ANY (d.ids) FROM usage_event_ids d
    WHERE d.organisation_id = the_organisation AND d.first_id <= the_id COLLATE "C"
    ORDER BY d.first_id DESC LIMIT 1), false);
END $$;
