-- `outbox_customers` for subscriptions.
CREATE OR REPLACE FUNCTION outbox_subscriptions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT organisation_id, 'subscription', id, 'created' FROM now_rows;
  ELSE
    INSERT INTO outbox (organisation_id, object_kind, object_id, change)
      SELECT n.organisation_id, 'subscription', n.id,
          CASE WHEN n.status IN ('ended', 'complete') AND o.status NOT IN ('ended', 'complete')
            THEN 'ended' ELSE 'updated' END
        FROM now_rows n JOIN old_rows o ON o.id = n.id
        WHERE (n.status, n.start_date, n.renewal_date, n.end_date, n.units, n.minimum_units,
          n.discount_percent, n.price_override,
            n.cancel_at_period_end, n.end_after_cycles, n.label, n.invoice_reference)
          IS DISTINCT FROM (o.status, o.start_date, o.renewal_date, o.end_date, o.units,
            o.minimum_units, o.discount_percent,
            o.price_override, o.cancel_at_period_end, o.end_after_cycles, o.label,
              o.invoice_reference);
  END IF;
  RETURN NULL;
END $$;
