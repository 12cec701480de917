-- A document's lines are shown with it. The lines of an invoice that this transaction has created
-- add no entry to the one of the invoice: the relay takes both or none (EVENT-1). The subquery is
-- looked up by index for each invoice. In a savepoint the rows have another transaction id, and the
-- lines have their entry.
CREATE OR REPLACE FUNCTION outbox_lines() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    -- A line that moves changes both its invoices.
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT n.organisation_id, 'invoice', i.id, 'updated' FROM now_rows n
        JOIN old_rows o ON o.id = n.id
          CROSS JOIN LATERAL (VALUES (n.invoice_id), (o.invoice_id)) i(id)
        WHERE (n.invoice_id, n.position, n.kind, n.name, n.description, n.units, n.quantity,
          n.unit_price, n.amount, n.period_start, n.period_end,
            n.from_units, n.to_units, n.days_remaining, n.days_in_period, n.amending)
          IS DISTINCT FROM (o.invoice_id, o.position, o.kind, o.name, o.description, o.units,
            o.quantity, o.unit_price, o.amount, o.period_start,
            o.period_end, o.from_units, o.to_units, o.days_remaining, o.days_in_period, o.amending);
  ELSIF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'invoice', n.invoice_id, 'updated'
        FROM (SELECT DISTINCT organisation_id, invoice_id FROM now_rows) n
        WHERE (SELECT o.seq FROM outbox o WHERE o.organisation_id = n.organisation_id
          AND o.object_kind = 'invoice' AND o.object_id = n.invoice_id AND o.change = 'created'
          AND o.xmin = pg_current_xact_id()::xid LIMIT 1) IS NULL;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT DISTINCT organisation_id, 'invoice', invoice_id, 'updated' FROM now_rows;
  END IF;
  RETURN NULL;
END $$;
