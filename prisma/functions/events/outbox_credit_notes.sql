-- `outbox_customers` for credit notes.
CREATE OR REPLACE FUNCTION outbox_credit_notes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'credit_note', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'credit_note', n.id,
          CASE WHEN n.status <> o.status AND n.status IN ('voided', 'deleted') THEN n.status
            ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.number, n.reference, n.status, n.credit_note_date, n.subtotal, n.total,
          n.remaining_credit, n.sent,
            n.ledger_credit_note_id, n.sync_error)
          IS DISTINCT FROM (o.number, o.reference, o.status, o.credit_note_date, o.subtotal,
            o.total, o.remaining_credit, o.sent,
            o.ledger_credit_note_id, o.sync_error);
  END IF;
  RETURN NULL;
END $$;
