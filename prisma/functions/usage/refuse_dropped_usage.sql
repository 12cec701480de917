-- An id counts once for ever, also after its event was dropped. A trigger sees ids that another
-- transaction has moved while the insert waited for their events, and processes of the previous
-- version have it too.
CREATE OR REPLACE FUNCTION refuse_dropped_usage() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT FROM usage_event_ids
      WHERE organisation_id = ANY (ARRAY(SELECT organisation_id FROM stored)))
    AND EXISTS (SELECT FROM stored WHERE is_dropped_usage(organisation_id, event_id))
  THEN
    RAISE EXCEPTION 'the id of a usage event that was dropped' USING
      ERRCODE = 'unique_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
