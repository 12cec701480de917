-- `outbox_customers` for invoices.
CREATE OR REPLACE FUNCTION outbox_invoices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'invoice', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'invoice', n.id,
          CASE WHEN n.status <> o.status AND n.status IN ('paid', 'voided', 'deleted')
            THEN n.status ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.number, n.reference, n.status, n.subtotal, n.total, n.amount_due, n.issue_date,
          n.due_date, n.period_start, n.period_end,
            n.sent, n.ledger_invoice_id, n.sync_error)
          IS DISTINCT FROM (o.number, o.reference, o.status, o.subtotal, o.total, o.amount_due,
            o.issue_date, o.due_date, o.period_start,
            o.period_end, o.sent, o.ledger_invoice_id, o.sync_error);
  END IF;
  RETURN NULL;
END $$;
