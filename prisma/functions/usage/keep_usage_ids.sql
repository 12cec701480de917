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
