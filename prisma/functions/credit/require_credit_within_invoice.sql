-- The credit applied to an invoice never exceeds its total. The row is locked: two transactions
-- that each see only their own credit could exceed it together.
CREATE OR REPLACE FUNCTION require_credit_within_invoice(wanted uuid, rule text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM invoices WHERE id = wanted FOR NO KEY UPDATE;
  IF EXISTS (
    SELECT 1 FROM invoices i
    WHERE i.id = wanted AND i.total < (SELECT sum(a.amount) FROM allocations a
      WHERE a.invoice_id = i.id AND a.status = 'active')
  ) THEN
    PERFORM refuse(rule, format('more credit is applied to invoice %s than its total', wanted));
  END IF;
END $$;
