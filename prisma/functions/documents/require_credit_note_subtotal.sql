-- A credit note's subtotal is the sum of its lines.
CREATE OR REPLACE FUNCTION require_credit_note_subtotal(wanted uuid, rule text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM credit_notes n
    WHERE n.id = wanted
      AND n.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM credit_note_lines l
        WHERE l.organisation_id = n.organisation_id AND l.credit_note_id = n.id)
  ) THEN
    PERFORM refuse(rule, format('the subtotal of credit note %s is not the sum of its lines',
      wanted));
  END IF;
END $$;
