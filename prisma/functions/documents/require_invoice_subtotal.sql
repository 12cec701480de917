-- An invoice's subtotal is the sum of its lines.
CREATE OR REPLACE FUNCTION require_invoice_subtotal(wanted uuid, rule text)
  RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM invoices i
    WHERE i.id = wanted
      AND i.subtotal <> (SELECT coalesce(sum(l.amount), 0) FROM invoice_lines l
        WHERE l.organisation_id = i.organisation_id AND l.invoice_id = i.id)
  ) THEN
    PERFORM refuse(rule, format('the subtotal of invoice %s is not the sum of its lines', wanted));
  END IF;
END $$;
