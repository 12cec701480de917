-- No credit is lost or created: what is left of a credit note and what is applied of it are its
-- total. The row is locked, so that of two transactions that apply it at once the later one sees
-- what the earlier one applied.
CREATE OR REPLACE FUNCTION require_credit_held(wanted uuid, rule text)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM credit_notes WHERE id = wanted FOR NO KEY UPDATE;
  IF EXISTS (
    SELECT 1 FROM credit_notes n
    WHERE n.id = wanted AND n.total <> n.remaining_credit + n.applied_elsewhere
      + (SELECT coalesce(sum(a.amount), 0) FROM allocations a WHERE a.credit_note_id = n.id
        AND a.status = 'active')
  ) THEN
    PERFORM refuse(rule,
      format('the total of credit note %s is not what is left and what is applied of it', wanted));
  END IF;
END $$;
