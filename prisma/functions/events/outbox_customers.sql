-- Outbox entries: one for each object that a statement changes visibly, with its state after the
-- change. Triggers only insert them, so that no two transactions wait for each other because of
-- them.
CREATE OR REPLACE FUNCTION outbox_customers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A customer whose contact is still being created is not visible yet.
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'customer', id, 'created' FROM now_rows
        WHERE ledger_contact_id IS NOT NULL;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'customer', n.id, CASE WHEN o.ledger_contact_id IS NULL
        THEN 'created' ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE n.ledger_contact_id IS NOT NULL
          AND (n.code, n.name, n.company_name, n.first_name, n.last_name, n.email, n.status,
            n.ledger_contact_id)
            IS DISTINCT FROM (o.code, o.name, o.company_name, o.first_name, o.last_name, o.email,
              o.status, o.ledger_contact_id);
  END IF;
  RETURN NULL;
END $$;
