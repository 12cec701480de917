-- Events of bills that exist can be dropped after an export, and their ids stay taken. The previous
-- version drops nothing. What it stores under a dropped id, a trigger refuses.

CREATE TABLE usage_event_ids (
  organisation_id UUID NOT NULL,
  first_id TEXT COLLATE "C" NOT NULL,
  ids TEXT[] NOT NULL,
  CONSTRAINT usage_event_ids_pkey PRIMARY KEY (organisation_id, first_id),
  CONSTRAINT usage_event_ids_first CHECK (first_id = ids[1])
);

ALTER TABLE usage_event_ids ALTER COLUMN organisation_id SET (n_distinct = 1);

ALTER TABLE usage_event_ids
  ADD CONSTRAINT usage_event_ids_organisation_id_fkey FOREIGN KEY (organisation_id)
    REFERENCES organisations(id) ON UPDATE CASCADE ON DELETE RESTRICT;

ALTER TABLE usage_sums
  ADD COLUMN dropped_events BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN dropped_quantity DECIMAL(38,4) NOT NULL DEFAULT 0;

ALTER TABLE usage_sums ADD CONSTRAINT usage_sums_dropped
  CHECK (dropped_events BETWEEN 0 AND events AND dropped_quantity BETWEEN 0 AND quantity) NOT VALID;

ALTER TABLE usage_sums VALIDATE CONSTRAINT usage_sums_dropped;

-- Whether an event with this id was exported and dropped. Its id stays taken. Blocks of ids do not
-- overlap, so the last one that begins at or before the id is the only one that can have it.
CREATE OR REPLACE FUNCTION is_dropped_usage(the_organisation uuid, the_id text) RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN coalesce((SELECT the_id = ANY (d.ids) FROM usage_event_ids d
    WHERE d.organisation_id = the_organisation AND d.first_id <= the_id COLLATE "C"
    ORDER BY d.first_id DESC LIMIT 1), false);
END $$;

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

-- Counts dropped events in the sums of their bills, which stay as they are. Nothing else writes the
-- sums of a bill that exists.
CREATE OR REPLACE FUNCTION sum_dropped_usage() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  UPDATE usage_sums s SET dropped_events = s.dropped_events + v.events,
    dropped_quantity = s.dropped_quantity + v.quantity
  FROM (SELECT subscription_id, bill, period_index, meter_id, count(*) AS events,
      sum(quantity) AS quantity
    FROM dropped WHERE voided_at IS NULL
    GROUP BY subscription_id, bill, period_index, meter_id) v
  WHERE (s.subscription_id, s.bill, s.period_index, s.meter_id)
    = (v.subscription_id, v.bill, v.period_index, v.meter_id);
  RETURN NULL;
END $$;

-- Keeps ids of usage events that are about to be dropped, in blocks of 48: four fill a page. The
-- ids of a block that get others are cut again. One transaction of an organisation at a time.
CREATE OR REPLACE FUNCTION keep_usage_ids(the_organisation uuid, new_ids text[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  blocks text[] := ARRAY(
    SELECT (SELECT d.first_id FROM usage_event_ids d
      WHERE d.organisation_id = the_organisation AND d.first_id <= n.id COLLATE "C"
      ORDER BY d.first_id DESC LIMIT 1)
    FROM unnest(new_ids) WITH ORDINALITY AS n(id, place) ORDER BY n.place);
  kept_ids text[];
  kept_blocks text[];
BEGIN
  WITH taken AS (
    DELETE FROM usage_event_ids d
    WHERE d.organisation_id = the_organisation AND d.first_id = ANY (blocks)
    RETURNING d.first_id, d.ids
  )
  SELECT array_agg(k.id), array_agg(t.first_id) INTO kept_ids, kept_blocks
  FROM taken t CROSS JOIN unnest(t.ids) AS k(id);
  INSERT INTO usage_event_ids (organisation_id, first_id, ids)
  SELECT the_organisation, min(p.id COLLATE "C"), array_agg(p.id ORDER BY p.id COLLATE "C")
  FROM (SELECT a.block, a.id,
      (row_number() OVER (PARTITION BY a.block ORDER BY a.id COLLATE "C") - 1) / 48 AS part
    FROM unnest(new_ids || kept_ids, blocks || kept_blocks) AS a(id, block)) p
  GROUP BY p.block, p.part;
END $$;

-- A usage event never changes, and can be voided once. It is deleted only once its id is kept.
CREATE OR REPLACE FUNCTION refuse_usage_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND is_dropped_usage(OLD.organisation_id, OLD.event_id) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'DELETE' OR OLD.voided_at IS NOT NULL
    OR (OLD.organisation_id, OLD.event_id, OLD.subscription_id, OLD.meter_id, OLD.period_index,
      OLD.bill, OLD.quantity, OLD.occurred_at,
      OLD.created_at) IS DISTINCT FROM (NEW.organisation_id, NEW.event_id, NEW.subscription_id,
        NEW.meter_id, NEW.period_index, NEW.bill,
      NEW.quantity, NEW.occurred_at, NEW.created_at)
  THEN
    RAISE EXCEPTION 'a usage event is stored for ever as it was reported' USING
      ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER usage_events_not_dropped AFTER INSERT ON usage_events
  REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION refuse_dropped_usage();

CREATE TRIGGER usage_events_sum_dropped AFTER DELETE ON usage_events
  REFERENCING OLD TABLE AS dropped FOR EACH STATEMENT EXECUTE FUNCTION sum_dropped_usage();
