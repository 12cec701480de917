-- `outbox_customers` for allocations, which are shown with their credit notes.
CREATE OR REPLACE FUNCTION outbox_allocations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT n.organisation_id, 'credit_note', n.credit_note_id, 'updated'
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.invoice_id, n.amount, n.date, n.status, n.sync_status)
          IS DISTINCT FROM (o.invoice_id, o.amount, o.date, o.status, o.sync_status);
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT organisation_id, 'credit_note', credit_note_id, 'updated' FROM now_rows;
  END IF;
  RETURN NULL;
END $$;
